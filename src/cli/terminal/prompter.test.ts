import { PassThrough } from "node:stream";
import { expect, test } from "vitest";
import { createClackPrompter } from "./prompter.ts";

function terminal(columns: number): { output: PassThrough & { columns: number }; text: () => string } {
  const output = Object.assign(new PassThrough(), { columns });
  let text = "";
  output.setEncoding("utf8").on("data", (chunk: string) => (text += chunk));
  return { output, text: () => text };
}

test("without colour, and with a title that fits", async () => {
  const { output, text } = terminal(40);
  const prompter = createClackPrompter(new PassThrough(), output, false);
  prompter.say("A message", `A question from ${"x".repeat(100)}`);
  await new Promise((resolve) => setImmediate(resolve));
  expect(text()).toContain("A message");
  expect(text()).not.toContain("\u001b");
  for (const line of text().split("\n")) expect(line.length).toBeLessThanOrEqual(40);
});

test("keys are an answer, and a long question keeps its guide line", async () => {
  const input = new PassThrough();
  const { output, text } = terminal(40);
  const prompter = createClackPrompter(input, output, false);
  const answer = prompter.text({
    message: "A question that is much longer than the terminal is wide",
    initial: "",
    check: () => undefined,
    signal: new AbortController().signal,
  });
  input.write("Ada\r");
  expect(await answer).toBe("Ada");
  expect(text()).toContain("A question that is much longer than\n│  the terminal is wide");
});
