import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { JsonSchema } from "../../model/index.ts";
import { splitCommandLine } from "../../base/text/command-line.ts";
import { toArguments } from "./arguments.ts";
import { parseCallWords, parseWholeArguments } from "./call-words.ts";
import { exampleCall } from "./example-call.ts";

const SCHEMA: JsonSchema = {
  type: "object",
  properties: {
    path: { type: "string" },
    count: { type: "integer", minimum: 3 },
    dryRun: { type: "boolean" },
    mode: { enum: ["fast", "safe"] },
    tags: { type: "array", items: { type: "string" } },
    where: { type: "object", properties: { x: { type: "number" } } },
  },
  required: ["path", "count"],
};

const files: Readonly<Record<string, string>> = { "a.txt": "from a file" };

async function read(...words: string[]): Promise<object> {
  const { pairs, problems } = await parseCallWords(words, SCHEMA, (path) =>
    path in files ? Promise.resolve(files[path] ?? "") : Promise.reject(new Error("no such file")),
  );
  const { value, problems: more } = toArguments(pairs, SCHEMA);
  const all = [...problems, ...more].map(({ key, message }) => `${key} ${message}`);
  return all.length === 0 ? value : { problems: all };
}

describe("all arguments as one word of JSON", () => {
  const whole = (word: string, schema = SCHEMA): object | undefined => parseWholeArguments([word], schema);

  it("are accepted if each key is an argument of the tool", () => {
    expect(whole('{"path":"a","count":1}')).toEqual({ path: "a", count: 1 });
    expect(whole('{"x":1}', { type: "object" })).toEqual({ x: 1 });
    expect(parseWholeArguments(['{"path":"a"}', "count=1"], SCHEMA)).toBeUndefined();
  });

  it.each(['{"other":1}', "{}", "{", "[1]", "text"])(
    "are not accepted from %s, which is the value of the first argument",
    (word) => {
      expect(whole(word)).toBeUndefined();
    },
  );

  it("are not accepted if the first required argument is an object", () => {
    const properties = { where: { type: "object" }, path: { type: "string" } };
    const schema: JsonSchema = { type: "object", properties, required: ["where"] };
    expect(whole('{"path":"a"}', schema)).toBeUndefined();
  });
});

describe("words of a call", () => {
  it.each([
    [["path=a", "count=1"], { path: "a", count: 1 }],
    [["--path", "a", "--count", "1"], { path: "a", count: 1 }],
    [["--path=a", "--count=1"], { path: "a", count: 1 }],
    [["a", "1"], { path: "a", count: 1 }],
    [["count=1", "a"], { path: "a", count: 1 }],
    [["1", "--path", "a"], { path: "a", count: 1 }],
    [["a", "-5"], { path: "a", count: -5 }],
    [["a", "1", "--dry-run"], { path: "a", count: 1, dryRun: true }],
    [["a", "1", "--dryRun", "false"], { path: "a", count: 1, dryRun: false }],
    [["--dry-run", "a", "1"], { path: "a", count: 1, dryRun: true }],
    [["a", "1", "--no-dry-run"], { path: "a", count: 1, dryRun: false }],
    [["a", "1", "--tags", "x", "--tags", "y"], { path: "a", count: 1, tags: ["x", "y"] }],
    [["a", "1", "--where.x", "2"], { path: "a", count: 1, where: { x: 2 } }],
    [["a", "1", "--where:={}"], { path: "a", count: 1, where: {} }],
    [["@a.txt", "1"], { path: "from a file", count: 1 }],
    [["http://h/?q=1", "1"], { path: "http://h/?q=1", count: 1 }],
  ])("are parsed: %j", async (words, value) => {
    expect(await read(...words)).toEqual(value);
  });

  it("each mistake is a problem with its own message", async () => {
    expect(await read("a", "1", "b", "--paht", "x", "--verbose", "y", "--mode")).toEqual({
      problems: [
        '--paht is neither an argument of the tool nor an option of this command. Did you mean "--path"?',
        "--verbose is neither an argument of the tool nor an option of this command. Arguments of the tool: --path, --count, --dryRun, --mode, --tags, --where.",
        "mode needs a value: --mode <value>",
        "b has no name, and every required argument already has a value. For an optional argument, write key=value",
      ],
    });
  });

  it("parsing never throws, and --key value means the same as key=value", async () => {
    const text = fc
      .string({ minLength: 1 })
      .filter((value) => !value.startsWith("--") && !value.startsWith("@"));
    await fc.assert(
      fc.asyncProperty(text, fc.integer(), async (path, count) => {
        expect(await read("--path", path, "--count", String(count))).toEqual(
          await read(`path=${path}`, `count=${count}`),
        );
      }),
    );
    await fc.assert(fc.asyncProperty(fc.array(fc.string()), async (words) => void (await read(...words))));
  });

  it("the example call of a tool is parsed without problems", async () => {
    const tool = {
      name: "t",
      inputSchema: { ...SCHEMA, required: Object.keys(SCHEMA["properties"] as object) },
    };
    const line = exampleCall(tool, ["files.t"]);
    expect(line).toBe(
      `portolan call files.t path=path count=3 dryRun=true mode=fast 'tags:=["item"]' 'where:={}'`,
    );
    const words = splitCommandLine(line);
    if (!Array.isArray(words)) throw new Error("the example cannot be split");
    expect(await read(...(words as string[]).slice(3))).toEqual({
      ...{ path: "path", count: 3, dryRun: true, mode: "fast", tags: ["item"], where: {} },
    });
  });
});
