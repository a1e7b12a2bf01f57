// Arguments and results of one call, as the binding maps them.

import { describe, expect, test } from "vitest";
import { binding, contract, object, TEXT, text } from "../../../test/helpers/contracts.ts";
import type { Binding, JsonObject, JsonSchema } from "../../model/index.ts";
import { closedSchema } from "../../schema/index.ts";
import { planArguments } from "./arguments.ts";
import { Failure } from "./failure.ts";
import { prepareContract, viewOrAnything } from "../contract/prepared-contract.ts";
import { planResult } from "./result.ts";

const inputs = object({ path: TEXT, tail: { type: "integer" }, at: object({ line: { type: "integer" } }) }, [
  "path",
]);
const plan = (more: Partial<Binding>, schema: JsonSchema = inputs) =>
  planArguments(binding(more), viewOrAnything(closedSchema(schema))).plan;
const error = (work: () => unknown): unknown => {
  try {
    return work();
  } catch (thrown) {
    return thrown instanceof Failure ? thrown.error : thrown;
  }
};

describe("arguments of the tool call", () => {
  test("are the same object if the binding changes nothing", () => {
    const given = { path: "a" };
    expect(plan({}).build(given)).toBe(given);
  });

  test.each<[string, Partial<Binding>, JsonObject]>([
    ["renamed", { argumentMapping: { path: "file" } }, { file: "a", tail: 3, at: { line: 7 } }],
    [
      "mapping before argument_mapping (D12)",
      { mapping: { path: "p" }, argumentMapping: { p: "file", tail: "n" } },
      { file: "a", n: 3, at: { line: 7 } },
    ],
    [
      "from an input",
      { mapping: { file: { from: "path", transform: "uppercase" } } },
      { file: "A", tail: 3, at: { line: 7 } },
    ],
    [
      "from a part of an input",
      { mapping: { line: { from: "$.at.line" } } },
      { path: "a", tail: 3, line: 7 },
    ],
    ["swapped", { argumentMapping: { path: "tail", tail: "path" } }, { tail: "a", path: 3, at: { line: 7 } }],
    [
      "as text",
      { mapping: { tail: { from: "tail", transform: "string" } } },
      { path: "a", tail: "3", at: { line: 7 } },
    ],
    [
      "as JSON",
      { mapping: { at: { from: "at", transform: "json" } } },
      { path: "a", tail: 3, at: '{"line":7}' },
    ],
  ])("are mapped: %s", (_, more, expected) => {
    expect(plan(more).build({ path: "a", tail: 3, at: { line: 7 } })).toEqual(expected);
  });

  test("contain no property for a missing input", () => {
    expect(plan({ argumentMapping: { path: "file", tail: "n" } }).build({ path: "a" })).toEqual({
      file: "a",
    });
    expect(plan({ mapping: { line: { from: "$.at.line" } } }).build({ path: "a" })).toEqual({ path: "a" });
  });

  test("list dropped inputs as unsupported", () => {
    expect(plan({ dropInputs: ["tail", "at"] }).unsupported({ path: "a", tail: 3 })).toEqual(["tail"]);
  });

  test("keep the names of additional inputs, unless such a name is already used", () => {
    const open = { ...inputs, additionalProperties: true };
    const renamed = plan({ argumentMapping: { path: "file" } }, open);
    expect(renamed.build({ path: "a", extra: 1 })).toEqual({ file: "a", extra: 1 });
    expect(error(() => renamed.build({ path: "a", file: "b" }))).toMatchObject({
      code: "input_invalid",
      field: "file",
    });
    expect(error(() => renamed.build(JSON.parse('{"path":"a","__proto__":1}') as JsonObject))).toMatchObject({
      code: "input_invalid",
    });
  });
});

describe("the input of a contract", () => {
  test("gets its defaults, and an error names the invalid field", async () => {
    const one = await prepareContract(
      contract({ inputs: object({ path: TEXT, depth: { type: "integer", default: 1 } }, ["path"]) }),
    );
    expect(one.checkInput({ path: "a" })).toEqual({ path: "a", depth: 1 });
    expect(error(() => one.checkInput({}))).toMatchObject({ code: "input_invalid", field: "path" });
    expect(error(() => one.checkInput({ path: 1 }))).toMatchObject({ code: "input_invalid", field: "path" });
    expect(error(() => one.checkInput({ path: "a", pth: 1 }))).toMatchObject({
      code: "input_invalid",
      field: "pth",
    });
    expect(error(() => one.checkInput("x"))).toMatchObject({ code: "input_invalid" });
  });

  test("includes the context, which is checked too", async () => {
    const one = await prepareContract(contract({ contextSchema: object({ tenant: TEXT }) }));
    expect(error(() => one.checkContext({}))).toMatchObject({
      code: "input_invalid",
      field: "context.tenant",
    });
    expect(() => one.checkContext({ tenant: "t" })).not.toThrow();
  });
});

describe("the result of a tool call (D14)", () => {
  const extract = (path: string, outputs: JsonSchema, result: JsonObject): unknown =>
    error(() => planResult(binding({ resultExtract: path }), viewOrAnything(outputs)).plan.extract(result));
  const failed = (message: string): unknown => ({
    code: "output_parse_failed",
    message: expect.stringContaining(message) as string,
  });

  test.each<[string, string, JsonSchema, JsonObject, unknown]>([
    ["structured content comes first", "$.a", TEXT, text("{}", { structuredContent: { a: "x" } }), "x"],
    ["$ is all of it", "$", object({}), text("no", { structuredContent: { a: 1 } }), { a: 1 }],
    ["a text as it is", "$", TEXT, text('{"a":1}'), '{"a":1}'],
    ["a text as JSON for an object", "$", object({}), text('{"a":1}'), { a: 1 }],
    ["a text as JSON for a list", "$", { type: "array" }, text("[1]"), [1]],
    ["a text as JSON for a number", "$", { type: "number" }, text("5"), 5],
    ["a text as JSON for a path", "$.a[0].b", TEXT, text('{"a":[{"b":"x"}]}'), "x"],
    ["a text or an object", "$", {}, text("plain"), "plain"],
    ["a text or an object, given one", "$", {}, text('{"a":1}'), { a: 1 }],
    [
      "the first text",
      "$",
      TEXT,
      { content: [{ type: "image" }, { type: "text", text: "x" }, { type: "text", text: "y" }] },
      "x",
    ],
    ["null is something", "$.a", {}, text("", { structuredContent: { a: null } }), null],
    ["no JSON for a path", "$.a", TEXT, text("plain"), failed("not JSON, and result_extract $.a needs JSON")],
    ["no JSON for an object", "$", object({}), text("plain"), failed("not JSON")],
    [
      "nothing at the path",
      "$.contents",
      TEXT,
      text("", { structuredContent: { content: "x" } }),
      failed(
        'no value at $.contents: the result is an object with "content": {"content":"x"}. In result_extract, $ is',
      ),
    ],
    [
      "nothing at a path of the envelope",
      "$.content[0].text",
      { type: "number" },
      text("42"),
      failed(
        "no value at $.content[0].text: the result is a number: 42. In result_extract, $ is the structured content of the tool's result. If the result has no structured content, $ is its first text. Portolan parses this text as JSON if the path or the contract's outputs need JSON. Without result_extract, Portolan uses $ itself.",
      ),
    ],
    [
      "a long value is shortened",
      "$.a",
      TEXT,
      text("", { structuredContent: ["x".repeat(500)] }),
      failed(`a list of 1: ["${"x".repeat(118)}…. In result_extract, $`),
    ],
    ["nothing at all", "$", TEXT, { content: [] }, failed("neither structured content nor a text")],
    [
      "isError",
      "$",
      TEXT,
      text("disk full", { isError: true }),
      { code: "upstream_error", message: "disk full", retryable: false },
    ],
    [
      "another kind of result",
      "$",
      TEXT,
      { resultType: "task" },
      { code: "upstream_error", message: expect.stringContaining('"task"') as string },
    ],
  ])("%s", (_, path, outputs, result, expected) => {
    expect(extract(path, outputs, result)).toEqual(expected);
  });

  test("loses the outputs in drop_outputs, and nothing else", () => {
    const { plan: narrowing } = planResult(binding({ dropOutputs: ["b"] }), viewOrAnything({}));
    expect(narrowing.narrow({ a: 1, b: 2 })).toEqual({ a: 1 });
    const value = { a: 1 };
    expect(narrowing.narrow(value)).toBe(value);
    expect(narrowing.narrow("b")).toBe("b");
  });

  test("is an error if it does not match the outputs of the contract", async () => {
    const one = await prepareContract(contract({ outputs: object({ n: { type: "integer" } }) }));
    expect(error(() => one.checkOutput({ n: "1" }))).toMatchObject({
      code: "output_parse_failed",
      message: expect.stringContaining("/n: must be an integer") as string,
    });
    expect(one.checkOutput({ n: 1 })).toBeUndefined();
  });
});
