import { PassThrough } from "node:stream";
import { describe, expect, test } from "vitest";
import { createClackPrompter } from "./prompter.ts";

function terminal(columns: number): { output: PassThrough & { columns: number }; text: () => string } {
  const output = Object.assign(new PassThrough(), { columns });
  let text = "";
  output.setEncoding("utf8").on("data", (chunk: string) => (text += chunk));
  return { output, text: () => text };
}

test("say() prints without colour, and shortens a title to the width", async () => {
  const { output, text } = terminal(40);
  const prompter = createClackPrompter(new PassThrough(), output, false);
  prompter.say("A message", `A question from ${"x".repeat(100)}`);
  await new Promise((resolve) => setImmediate(resolve));
  expect(text()).toContain("A message");
  expect(text()).not.toContain("\u001b");
  for (const line of text().split("\n")) expect(line.length).toBeLessThanOrEqual(40);
});

test("text() returns the typed answer, and wraps a long question beside its guide line", async () => {
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

test("pasted lines answer one password prompt each, and no other question", async () => {
  const input = new PassThrough();
  const prompter = createClackPrompter(input, terminal(80).output, false);
  const { signal } = new AbortController();
  const hidden = (): Promise<string | undefined> =>
    prompter.password({ message: "Passphrase", check: () => undefined, signal });
  const first = hidden();
  input.write("one\rtwo\ry\r");
  expect(await first).toBe("one");
  expect(await hidden()).toBe("two");
  const options = ["no", "yes"].map((value) => ({ value, label: value }));
  const answer = prompter.select({ message: "Approve?", options, initial: "no", signal });
  await new Promise((resolve) => setImmediate(resolve));
  input.write("\r");
  expect(await answer).toBe("no");
});

describe("select() with yes and no", () => {
  test("wraps long questions and answers between words, beside the guide line", async () => {
    const input = new PassThrough();
    const { output, text } = terminal(40);
    const answer = createClackPrompter(input, output, false).select({
      message: "A question that is much longer than the terminal is wide",
      options: [
        { value: "yes", label: "in a place with a name that is longer than the terminal" },
        { value: "no", label: "nowhere" },
      ],
      initial: "yes",
      signal: new AbortController().signal,
    });
    input.write("\r");
    expect(await answer).toBe("yes");
    expect(text()).toContain("A question that is much longer\n│  than the terminal is wide");
    expect(text()).toContain("in a place with a name that is\n│    longer than the terminal");
  });

  const ask = (keys: string, initial: "yes" | "no"): Promise<string | undefined> => {
    const input = new PassThrough();
    const prompter = createClackPrompter(input, terminal(80).output, false);
    const options = [
      { value: "no", label: "No" },
      { value: "yes", label: "Yes" },
    ];
    const answer = prompter.select({
      message: "Approve?",
      options,
      initial,
      signal: new AbortController().signal,
    });
    input.write(keys);
    return answer;
  };

  test.each([
    ["y\r", "no", "yes"],
    ["y", "no", "yes"],
    ["Y", "no", "yes"],
    ["n", "yes", "no"],
    ["\r", "no", "no"],
    ["\r", "yes", "yes"],
    ["\u001b[A\r", "no", "yes"],
    ["hellojkl\r", "no", "no"],
    ["l\r", "yes", "yes"],
    ["\u0003", "yes", undefined],
  ] as const)("keys %j with the default %s: %s", async (keys, initial, expected) => {
    expect(await ask(keys, initial)).toBe(expected);
  });
});

test("letters do not move the selection of a list", async () => {
  const input = new PassThrough();
  const prompter = createClackPrompter(input, terminal(80).output, false);
  const options = ["one", "two", "three"].map((value) => ({ value, label: value }));
  const { signal } = new AbortController();
  const answer = prompter.select({ message: "Which?", options, initial: "one", signal });
  input.write("jl\u001b[B\r");
  expect(await answer).toBe("two");
});

test("the signal of an answered question has no effect on the next question", async () => {
  let isRaw = false;
  const setRawMode = (raw: boolean): void => void (isRaw = raw);
  const input = Object.assign(new PassThrough(), { isTTY: true, setRawMode });
  const prompter = createClackPrompter(input, terminal(80).output, false);
  const options = ["one", "two", "three"].map((value) => ({ value, label: value }));
  const [first, second] = [new AbortController(), new AbortController()];
  const answered = prompter.select({ message: "First?", options, initial: "one", signal: first.signal });
  input.write("\r");
  expect(await answered).toBe("one");
  const open = prompter.select({ message: "Second?", options, initial: "one", signal: second.signal });
  first.abort();
  expect(isRaw).toBe(true);
  input.write("\u001b[B\r");
  expect(await open).toBe("two");
  const ended = prompter.select({ message: "Third?", options, initial: "one", signal: second.signal });
  second.abort();
  expect(await ended).toBeUndefined();
});
