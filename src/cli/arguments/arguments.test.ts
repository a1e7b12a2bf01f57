import { homedir } from "node:os";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { JsonObject, JsonSchema } from "../../model/index.ts";
import { callArguments, checkNames, parsePairs, toArguments, withHomes } from "./arguments.ts";
import { parseCall } from "./signature-parse.ts";

const schema: JsonSchema = {
  type: "object",
  properties: {
    name: { type: "string" },
    count: { type: "integer" },
    ratio: { type: "number" },
    loud: { type: "boolean" },
    tags: { type: "array", items: { type: "string" } },
    ids: { type: "array", items: { type: "integer" } },
    color: { enum: ["red", "green", 3] },
    level: { oneOf: [{ const: "low", title: "Low" }, { const: "high" }] },
    maybe: { anyOf: [{ type: "integer" }, { type: "null" }] },
    id: { type: ["string", "integer"] },
    at: { $ref: "#/$defs/point" },
    any: {},
    "dotted.name": { type: "string" },
  },
  $defs: {
    point: {
      type: "object",
      properties: { x: { type: "number" }, y: { type: "number" }, in: { $ref: "#/$defs/point" } },
    },
  },
};

const files: Record<string, string> = { "a.txt": "five\n5", "b.json": '{"x": 1}' };
const readFile = async (path: string): Promise<string> => {
  const text = files[path];
  if (text === undefined) throw new Error("no such file");
  return text;
};

async function parse(
  words: string[],
  given: JsonSchema = schema,
  base?: JsonObject,
): Promise<{ value: JsonObject; problems: string[] }> {
  const { pairs, problems } = await parsePairs(words, readFile);
  const result = toArguments(pairs, given, base);
  return {
    value: result.value,
    problems: [...problems, ...result.problems].map((problem) => `${problem.key} ${problem.message}`),
  };
}

describe("parsePairs and toArguments", () => {
  test.each<[string[], JsonObject]>([
    [["name=5"], { name: "5" }],
    [["name=true"], { name: "true" }],
    [["name="], { name: "" }],
    [["name=a=b:=c"], { name: "a=b:=c" }],
    [["count=5", "ratio=-1.5e3", "loud=false"], { count: 5, ratio: -1500, loud: false }],
    [["tags=a"], { tags: ["a"] }],
    [["tags=a", "tags=b,c"], { tags: ["a", "b,c"] }],
    [['tags=["x","y"]'], { tags: ["x", "y"] }],
    [["ids=1", "ids=2"], { ids: [1, 2] }],
    [["ids:=1", "ids:=2"], { ids: [1, 2] }],
    [["color=3"], { color: 3 }],
    [["level=high"], { level: "high" }],
    [["maybe=null"], { maybe: null }],
    [["maybe=7"], { maybe: 7 }],
    [["id=5"], { id: "5" }],
    [["id:=5"], { id: 5 }],
    [["at.x=1", "at.y=2"], { at: { x: 1, y: 2 } }],
    [["at.in.in.x=4"], { at: { in: { in: { x: 4 } } } }],
    [['at={"x":1}'], { at: { x: 1 } }],
    [["any=12"], { any: 12 }],
    [["any=hello"], { any: "hello" }],
    [["any.deep=1"], { any: { deep: 1 } }],
    [["dotted.name=x"], { "dotted.name": "x" }],
    [["name=@a.txt"], { name: "five\n5" }],
    [["name=@@a.txt"], { name: "@a.txt" }],
    [["name=@"], { name: "@" }],
    [["at:=@b.json"], { at: { x: 1 } }],
    [["name:=5"], { name: 5 }],
  ])("read %j by the types of the schema", async (words, expected) => {
    expect(await parse(words)).toEqual({ value: expected, problems: [] });
  });

  test("override a base object, also single fields of it, and do not change the base object", async () => {
    const base = { name: "a", at: { x: 1, y: 1 } };
    expect((await parse(["name=b", "at.x=2"], schema, base)).value).toEqual({
      name: "b",
      at: { x: 2, y: 1 },
    });
    expect(base).toEqual({ name: "a", at: { x: 1, y: 1 } });
  });
});

describe("problems of arguments", () => {
  test.each<[string[], RegExp]>([
    [["nme=x"], /^nme is not known\. Did you mean "name"\?$/],
    [["zzzzzz=x"], /Known: name, count/],
    [["at.z=1"], /^at\.z is not known in at\. Known: x, y, in\.$/],
    [["name.x=1"], /name.x is not possible: name is a string, not an object/],
    [["count=five"], /^count must be an integer, got "five"$/],
    [["count=1.5"], /must be an integer/],
    [["count=90071992547409930"], /2\^53/],
    [["ratio="], /must be a number/],
    [["ratio=0x10"], /must be a number/],
    [["loud=yes"], /must be true or false, got "yes"/],
    [["ids=1", "ids=b"], /must be an integer, got "b"/],
    [["tags=[a"], /is not a JSON array/],
    [["color=gren"], /must be one of red, green, 3, got "gren"\. Did you mean "green"\?/],
    [["name=a", "name=b"], /^name is given more than once$/],
    [["at=5"], /must be a JSON object/],
    [["at:={"], /is not JSON/],
    [["at={}", "at.x=1"], /is part of at, and at has a value too/],
    [["at.in.x=1", 'at.in:={"y":2}'], /^at\.in\.x is part of at\.in, and at\.in has a value too/],
    [["justaword"], /^justaword is not key=value$/],
    [["=x"], /^=x is not key=value$/],
    [["at..x=1"], /empty name before or after a dot/],
    [
      ["name=@nowhere"],
      /file "nowhere", but Portolan cannot read this file \(no such file\)\. .*, write name=@@nowhere/,
    ],
  ])("reports one problem in %j", async (words, expected) => {
    const { problems } = await parse(words);
    expect(problems).toHaveLength(1);
    expect(problems[0]).toMatch(expected);
  });

  test("reports all problems at once, also missing arguments", async () => {
    const strict: JsonSchema = {
      ...schema,
      required: ["name", "count", "ratio"],
      additionalProperties: false,
    };
    const { problems } = await parse(["count=x", "loud=maybe", "nope=1"], strict);
    expect(problems.map((problem) => problem.split(" ")[0])).toEqual([
      "count",
      "loud",
      "nope",
      "name",
      "ratio",
    ]);
    expect(problems).toContain("name is required");
  });

  test("accepts any name if the schema is empty or open", async () => {
    expect(await parse(["a=1", "b.c=x"], { type: "object" })).toEqual({
      value: { a: 1, b: { c: "x" } },
      problems: [],
    });
    const open: JsonSchema = {
      type: "object",
      properties: { a: { type: "string" } },
      additionalProperties: true,
    };
    expect((await parse(["b=1"], open)).problems).toEqual([]);
    expect(
      (await parse(["b=1"], { type: "object", properties: {}, additionalProperties: false })).problems,
    ).toHaveLength(1);
  });

  test("JSON arguments are checked by name only where the schema is closed", () => {
    const open: JsonSchema = { type: "object", properties: { a: {} } };
    expect(checkNames({ b: 1 }, open)).toEqual([]);
    expect(checkNames({ b: 1 }, { ...open, additionalProperties: false })).toHaveLength(1);
  });
});

test("no key changes a prototype", async () => {
  const { value } = await parse(["__proto__.polluted=1", "constructor.prototype.x=1"], { type: "object" });
  expect(({} as JsonObject)["polluted"]).toBeUndefined();
  expect(JSON.stringify(value)).toBe('{"__proto__":{"polluted":1},"constructor":{"prototype":{"x":1}}}');
});

test("any word gives a value or a problem, never an exception", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.string({ maxLength: 20 }), { maxLength: 5 }), async (words) => {
      const result = await parse(words.map((word) => `${word.slice(0, 3)}=${word}`));
      expect(result.problems.every((problem) => problem.length > 0)).toBe(true);
    }),
  );
});

test("key:=json keeps any JSON value unchanged", async () => {
  await fc.assert(
    fc.asyncProperty(fc.jsonValue(), async (json) => {
      const text = JSON.stringify(json);
      expect((await parse([`any:=${text}`])).value["any"]).toEqual(JSON.parse(text));
    }),
  );
});

describe("hostile schemas", () => {
  const wide: JsonSchema = {
    $defs: {
      a: { anyOf: Array.from({ length: 60 }, () => ({ $ref: "#/$defs/a" })), allOf: [{ $ref: "#/$defs/a" }] },
    },
    $ref: "#/$defs/a",
  };
  test.each([
    [wide],
    [{ $ref: "#" }],
    [{ properties: { a: { $ref: "#/properties/a" } } }],
    [{ properties: null, required: "x" }],
  ])("are read in bounded time: schema %#", async (hostile) => {
    const started = performance.now();
    await parse(["a=1", "a.b.c=2"], hostile);
    expect(performance.now() - started).toBeLessThan(15_000);
  });
});

const run = (text: string, given: JsonSchema = schema): { value: JsonObject; problems: string[] } => {
  const { value, problems } = callArguments(parseCall(text), given);
  return { value, problems: problems.map((problem) => `${problem.key} ${problem.message}`.trim()) };
};

describe("pasted calls", () => {
  test("positional values take the properties in order", () => {
    expect(run('t("a", 5, ratio: 2)')).toEqual({ value: { name: "a", count: 5, ratio: 2 }, problems: [] });
  });

  test("a single object contains all arguments, unless the first property is an object", () => {
    expect(run('t({ name: "a", count: 5 })').value).toEqual({ name: "a", count: 5 });
    expect(run("t({ x: 1 })", { properties: { point: { type: "object" } } }).value).toEqual({
      point: { x: 1 },
    });
  });

  test("reports double values, unknown names and too many values", () => {
    expect(run('t("a", name: "b")').problems).toEqual([
      "name has two values: one by position and one by name",
    ]);
    expect(run('t(nam: "b")').problems).toEqual(['nam is not known. Did you mean "name" or "dotted.name"?']);
    expect(run("t(1, 2)", { properties: { a: {} } }).problems).toEqual([
      "#2 is one value too many: the tool has 1 argument",
    ]);
  });
});

test("~/ at the start of a text is the home folder, in JSON as in key=value", async () => {
  const home = homedir();
  const { pairs } = await parsePairs(["name=~/a", "tags=~/b", "tags=~c"], readFile);
  const { value } = toArguments(pairs, schema);
  expect(value).toEqual({ name: `${home}/a`, tags: [`${home}/b`, "~c"] });
  expect(withHomes({ name: "~/a", tags: ["~/b", "~c"], at: { x: 1 }, any: "a ~/b" })).toEqual({
    ...value,
    at: { x: 1 },
    any: "a ~/b",
  });
});
