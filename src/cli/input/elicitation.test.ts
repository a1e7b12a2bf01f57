import { describe, expect, test } from "vitest";
import type { ElicitRequest, ElicitResult, JsonSchema } from "../../model/index.ts";
import { browserCommand } from "../terminal/open-browser.ts";
import type { Prompter } from "../terminal/prompter.ts";
import { toFields } from "./elicitation-form.ts";
import { createElicit } from "./elicitation.ts";

type Answer = string | string[] | undefined;

/** A prompter that gives these answers in order; `undefined` is Escape, and OFFERED accepts the default. */
function harness(answers: (Answer | typeof OFFERED)[], terminal = true) {
  const asked: string[] = [];
  const said: string[] = [];
  const notes: string[] = [];
  const opened: string[] = [];
  const next = <T>(question: { message: string }, offered: T): T | undefined => {
    asked.push(question.message);
    const answer = answers.shift();
    return (answer === OFFERED ? offered : answer) as T | undefined;
  };
  const prompter: Prompter = {
    say: (message, title) => void said.push(`${title}: ${message}`),
    text: async (question) => {
      for (;;) {
        const text = next(question, question.initial);
        if (text === undefined) return undefined;
        const problem = question.check(text);
        if (problem === undefined) return text;
        notes.push(problem);
      }
    },
    password: async () => undefined,
    select: async (question) => {
      const wanted = next(question, question.initial);
      return question.options.find((option) => option.label === wanted || option.value === wanted)?.value;
    },
    multiselect: async (question) => {
      const wanted = next(question, question.initial);
      return (
        wanted &&
        question.options
          .filter((option) => wanted.includes(option.label) || wanted.includes(option.value))
          .map((option) => option.value)
      );
    },
  };
  const elicit = createElicit({
    server: "the server",
    prompter: terminal ? async () => prompter : undefined,
    note: (text) => void notes.push(text),
    openBrowser: async (url) => opened.push(url) > 0,
    withTerminal: (work) => work(),
  });
  return {
    asked,
    said,
    notes,
    opened,
    run: (request: ElicitRequest): Promise<ElicitResult> =>
      elicit(request, { signal: new AbortController().signal }),
  };
}

const OFFERED = Symbol("what is offered");
const form = (properties: Record<string, JsonSchema>, required: string[] = []): ElicitRequest => ({
  mode: "form",
  message: "Who?",
  requestedSchema: { type: "object", properties, required },
});
const empty = (message: string): ElicitRequest => ({ ...form({}), message });

describe("form elicitation", () => {
  const everything = form(
    {
      name: { type: "string", title: "Your name", minLength: 2 },
      age: { type: "integer", minimum: 0, maximum: 150, default: 30 },
      mail: { type: "string", format: "email" },
      loud: { type: "boolean", default: true },
      maybe: { type: "boolean" },
      size: { type: "string", enum: ["s", "m"], enumNames: ["Small", "Medium"], default: "m" },
      color: {
        type: "string",
        oneOf: [
          { const: "#f00", title: "Red" },
          { const: "#0f0", title: "Green" },
        ],
      },
      tags: {
        type: "array",
        items: { type: "string", enum: ["a", "b", "c"] },
        minItems: 1,
        maxItems: 2,
        default: ["b"],
      },
      days: {
        type: "array",
        items: {
          anyOf: [
            { const: "mo", title: "Monday" },
            { const: "tu", title: "Tuesday" },
          ],
        },
      },
    },
    ["name", "color"],
  );

  test("asks for every kind of property, offers defaults, and omits empty optional properties", async () => {
    const { run, said, asked } = harness([
      "Answer",
      "Ann",
      OFFERED,
      "",
      OFFERED,
      OFFERED,
      OFFERED,
      "Green",
      OFFERED,
      ["Tuesday"],
      "Send",
    ]);
    expect(await run(everything)).toEqual({
      action: "accept",
      content: { name: "Ann", age: 30, loud: true, size: "m", color: "#0f0", tags: ["b"], days: ["tu"] },
    });
    expect(said).toEqual(["A request from the server: Who?"]);
    expect(asked[1]).toBe("Your name");
    expect(asked[2]).toBe("age (whole number, 0 to 150) (optional)");
  });

  test("checks each answer, and asks again after an invalid one", async () => {
    const request = form(
      {
        n: { type: "integer", minimum: 1 },
        m: { type: "string", format: "email" },
        d: { type: "string", format: "date" },
        u: { type: "string", format: "uri" },
      },
      ["n"],
    );
    const { run, notes } = harness([
      "Answer",
      "",
      "x",
      "1.5",
      "0",
      "7",
      "no",
      "a@b.c",
      "2024-02-30",
      "2024-02-29",
      "example.com",
      "https://example.com",
      "Send",
    ]);
    expect(await run(request)).toEqual({
      action: "accept",
      content: { n: 7, m: "a@b.c", d: "2024-02-29", u: "https://example.com" },
    });
    expect(notes).toHaveLength(7);
  });

  test("enforces the number of choices", async () => {
    const request = form(
      { tags: { type: "array", items: { enum: ["a", "b", "c"] }, minItems: 2, maxItems: 2 } },
      ["tags"],
    );
    const { run, asked } = harness(["Answer", ["a"], ["a", "c"]]);
    expect(await run(request)).toEqual({ action: "accept", content: { tags: ["a", "c"] } });
    expect(asked[2]).toBe("tags - choose exactly 2");
  });

  test("the repeated question of an optional list says that no choice is possible, too", async () => {
    const request = form({
      tags: { type: "array", items: { enum: ["a", "b", "c"] }, minItems: 2, maxItems: 3 },
    });
    const { run, asked } = harness(["Answer", ["a"], []]);
    expect(await run(request)).toEqual({ action: "accept", content: {} });
    expect(asked[2]).toBe("tags (optional) - choose 2 to 3 of these, or none");
  });

  test('"Change" offers the earlier answers again', async () => {
    const { run } = harness(["Answer", "one", "two", "Change", OFFERED, "three", "Send"]);
    expect(await run(form({ a: { type: "string" }, b: { type: "string" } }))).toEqual({
      action: "accept",
      content: { a: "one", b: "three" },
    });
  });

  test("returns decline at the start and at the end, and cancel after Escape", async () => {
    const request = form({ a: { type: "string" }, b: { type: "string" } });
    expect(await harness(["Decline"]).run(request)).toEqual({ action: "decline" });
    expect(await harness(["Answer", "x", "y", "Decline"]).run(request)).toEqual({ action: "decline" });
    expect(await harness(["Answer", "x", undefined]).run(request)).toEqual({ action: "cancel" });
  });

  test("a form without fields is a question with accept and decline", async () => {
    expect(await harness(["Accept"]).run(empty("Sure?"))).toEqual({ action: "accept", content: {} });
    expect(await harness(["Decline"]).run(empty("Sure?"))).toEqual({ action: "decline" });
  });

  test("texts of the server are shown without control characters", async () => {
    const { run, said, asked } = harness(["Answer", "x\u202e"]);
    const result = await run({
      mode: "form",
      message: "hi\u001b[2J\u202e",
      requestedSchema: { properties: { ["__proto__"]: { type: "string", title: "a\nb\u001b]0;x\u0007" } } },
    });
    expect(said[0]).toBe("A request from the server: hi\ufffd");
    expect(asked[1]).toBe("a b␛]0;x␇ (optional)");
    expect(JSON.stringify(result)).not.toContain("polluted");
  });

  test("declines a form with too many fields, and accepts malformed schemas", async () => {
    const many = Object.fromEntries(Array.from({ length: 101 }, (_, index) => [`k${index}`, {}]));
    expect(await harness([]).run(form(many))).toEqual({ action: "decline" });
    expect(
      toFields({
        properties: { a: null, b: { enum: [1, 2] }, c: { type: "object", default: { x: 1 } } },
        required: "x",
      }),
    ).toHaveLength(3);
    expect(toFields(undefined)).toEqual([]);
  });
});

const page = (url: string): ElicitRequest => ({ message: "Sign in", mode: "url", url });

describe("URL elicitation", () => {
  test("opens the page only after a yes, and shows its host and URL", async () => {
    const { run, said, opened } = harness(["open"]);
    expect(await run(page("https://example.com/a?b=c"))).toEqual({ action: "accept" });
    expect(said[0]).toContain("host  example.com\nURL   https://example.com/a?b=c");
    expect(opened).toEqual(["https://example.com/a?b=c"]);
  });

  test("can be declined, cancelled, or opened by the user", async () => {
    const declined = harness([OFFERED]);
    expect(await declined.run(page("https://example.com/"))).toEqual({ action: "decline" });
    expect(declined.opened).toEqual([]);
    expect(await harness([undefined]).run(page("https://example.com/"))).toEqual({ action: "cancel" });
    const self = harness(["self"]);
    expect(await self.run(page("https://example.com/"))).toEqual({ action: "accept" });
    expect(self.opened).toEqual([]);
    expect(self.notes).toEqual(["Open this page: https://example.com/"]);
  });

  test.each(["file:///etc/passwd", "javascript:alert(1)", "not a url", "x-evil://y"])(
    "never opens %s",
    async (url) => {
      const { run, opened } = harness(["open"]);
      expect(await run(page(url))).toEqual({ action: "decline" });
      expect(opened).toEqual([]);
      expect(browserCommand(url, "linux")).toBeUndefined();
    },
  );

  test("shows look-alike hosts as punycode, and warns about plain http", async () => {
    const { run, said } = harness(["decline"]);
    await run(page("http://exаmple.com/"));
    expect(said[0]).toContain("xn--");
    expect(said[0]).toContain("not encrypted");
  });

  test("passes any URL to the browser as one argument", () => {
    expect(browserCommand('https://x/"&calc.exe', "win32")).toEqual([
      "rundll32",
      "url.dll,FileProtocolHandler",
      "https://x/%22&calc.exe",
    ]);
    expect(browserCommand("https://x/$(id)", "linux")).toEqual(["xdg-open", "https://x/$(id)"]);
    expect(browserCommand("https://x", "darwin")).toEqual(["open", "https://x/"]);
  });
});

test("without a terminal, an elicitation is declined with a note", async () => {
  const { run, notes } = harness([], false);
  expect(await run(form({ a: { type: "string" } }))).toEqual({ action: "decline" });
  expect(notes[0]).toBe("the server requests input: Who?");
  expect(notes[1]).toMatch(/terminal/);
  await run(empty("And now?"));
  expect(notes.slice(2)).toEqual(["the server requests input: And now?"]);
});

test("simultaneous elicitations are asked one after the other", async () => {
  const { run, asked } = harness(["Accept", "Decline"]);
  const both = await Promise.all([run(empty("1")), run(empty("2"))]);
  expect(both.map((result) => result.action)).toEqual(["accept", "decline"]);
  expect(asked).toHaveLength(2);
});
