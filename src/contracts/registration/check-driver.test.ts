// Registration refuses a driver that does not match its contracts, and reports all diagnostics at once.

import { describe, expect, test } from "vitest";
import { binding, contract, driver, object, TEXT, tool } from "../../../test/helpers/contracts.ts";
import { parseDriver } from "../../formats/driver/index.ts";
import type { Binding, Contract, ToolDefinition } from "../../model/index.ts";
import { checkDriver, type CheckOptions } from "./check-driver.ts";

function check(
  more: Partial<Binding>,
  tools: ToolDefinition[] | undefined = [tool()],
  one: Partial<Contract> = {},
  options: CheckOptions = {},
): { bound: number; said: string } {
  const { bound, diagnostics } = checkDriver(
    driver({ implements: [binding(more)] }),
    [contract(one)],
    tools,
    options,
  );
  const said = diagnostics.map(({ severity, message, hint }) => `${severity}: ${message} | ${hint ?? ""}`);
  return { bound: bound.length, said: said.join("\n") };
}

test("a matching binding is bound, with the shortest timeout and the costs and retries of the binding", () => {
  const retry = { maxAttempts: 2, backoff: "fixed", initialMs: 1 } as const;
  const { bound, diagnostics } = checkDriver(
    driver({ timeoutMs: 4_000, retry, implements: [binding({ timeoutMs: 900, cost: { unitsPerCall: 3 } })] }),
    [contract()],
    [tool()],
  );
  expect(diagnostics).toEqual([]);
  expect(bound[0]).toMatchObject({ timeoutMs: 900, retry, cost: { unitsPerCall: 3, costClass: "trivial" } });
});

describe("the contract of a binding (D11)", () => {
  test.each([
    ["its id", "fs-read"],
    ["a path from the workspace", "./tools/fs-read/TOOL.md"],
    ["a folder", "tools/fs-read"],
    ["a path from the driver", "../../tools/fs-read/TOOL.md"],
  ])("is found by %s", (_, written) => {
    expect(check({ tool: written })).toEqual({ bound: 1, said: "" });
  });

  test("is found by the id in the file, not by the name of its folder", () => {
    const other = contract({
      id: "file.read",
      origin: { ...contract().origin, file: "tools/fs-read/TOOL.md" },
    });
    const { bound } = checkDriver(
      driver({ implements: [binding({ tool: "./tools/fs-read/TOOL.md" })] }),
      [other],
      [tool()],
    );
    expect(bound[0]?.contract.id).toBe("file.read");
  });

  test("is missing, or has a version outside of the range", () => {
    expect(check({ tool: "fs-raed" }).said).toContain(
      'the contract fs-raed does not exist or has errors | Did you mean "fs-read"?',
    );
    expect(check({ range: "^2.0.0" }).said).toContain(
      "in the versions ^2.0.0, but the contract fs-read has the version 1.2.0",
    );
  });

  test("is missing, and the hint says how many other contracts it leaves out", () => {
    const all = Array.from("abcdefghijk", (id) => contract({ id: `only-${id}` }));
    const { diagnostics } = checkDriver(driver(), all, undefined);
    expect(diagnostics[0]?.hint).toMatch(/^The contracts are only-a, .* only-h and 3 more\.$/);
  });

  test("is the newest version in the range", () => {
    const all = ["1.0.0", "1.5.0", "2.0.0"].map((version) => contract({ version }));
    expect(checkDriver(driver(), all, [tool()]).bound[0]?.contract.version).toBe("1.5.0");
  });
});

describe("dropped and mapped fields", () => {
  const inputs = object({ path: TEXT, tail: { type: "integer" } }, ["path"]);
  const server = [tool({ inputSchema: object({ path: TEXT, tail: { type: "integer" } }, ["path"]) })];
  test.each<[string, Partial<Binding>, string]>([
    [
      "only optional inputs are dropped",
      { dropInputs: ["path"] },
      'drop_inputs names "path", which the contract requires',
    ],
    [
      "only what is there is dropped",
      { dropInputs: ["tial"] },
      '"tial", which the contract does not have (did you mean "tail"?)',
    ],
    ["dropped and mapped", { dropInputs: ["tail"], mapping: { tail: "n" } }, "both dropped and mapped"],
    ["no such input", { mapping: { pth: "path" } }, 'names the input "pth"'],
    ["no such key", { argumentMapping: { pth: "path" } }, 'argument_mapping names "pth"'],
    [
      "mapped twice (D12)",
      { mapping: { tail: "n" }, argumentMapping: { tail: "lines" } },
      'mapping already maps this input to "n"',
    ],
    ["two to one (D13)", { argumentMapping: { tail: "path" } }, 'both become the argument "path"'],
    [
      "an unknown transform",
      { mapping: { path: { from: "path", transform: "lowercas" } } },
      'did you mean "lowercase"?',
    ],
    ["a path that is none", { mapping: { path: { from: "$..path" } } }, "all levels"],
    ["a result path that is none", { resultExtract: "contents" }, "does not begin with $"],
    [
      "more time than the contract has",
      { timeoutMs: 6_000 },
      "timeout_override_ms is 6000, but the contract allows at most 5000",
    ],
  ])("are checked: %s", (_, more, message) => {
    const { bound, said } = check(more, server, { inputs });
    expect(bound).toBe(0);
    expect(said).toContain(message);
  });

  test("cannot be a required output", () => {
    const outputs = object({ id: TEXT });
    expect(check({ dropOutputs: ["id"] }, server, { inputs, outputs }).said).toContain(
      'drop_outputs names "id"',
    );
  });

  test("warn if the contract does not have the dropped output", () => {
    const outputs = object({ id: TEXT, note: TEXT }, ["id"]);
    const { bound, said } = check({ dropOutputs: ["nota"] }, server, { inputs, outputs });
    expect(bound).toBe(1);
    expect(said).toMatch(/^warning: .*drop_outputs names "nota".*did you mean "note"/);
    expect(check({ dropOutputs: ["note"] }, server, { inputs, outputs }).said).toBe("");
    expect(check({ dropOutputs: ["x"] }, server, { inputs, outputs: TEXT }).said).toContain("warning");
    expect(check({ dropOutputs: ["x"] }, server, { inputs, outputs: { type: "object" } }).said).toBe("");
  });

  test("warn about parts of an input that no argument gets", () => {
    const at = object({ line: TEXT, column: TEXT, in: object({ file: TEXT, host: TEXT }) });
    const one = { inputs: object({ at }) };
    const lost = (mapping: Binding["mapping"], options: CheckOptions = {}) =>
      check({ mapping }, [tool({ inputSchema: { type: "object" } })], one, options);
    const { bound, said } = lost({ line: { from: "at.line" }, file: { from: "$.at.in.file" } });
    expect(bound).toBe(1);
    expect(said).toMatch(/^warning: .*"at.column", "at.in.host" never reach the tool/);
    const rest = { line: { from: "at.line" }, column: { from: "at.column" } };
    expect(lost({ ...rest, in: { from: "at.in" } }).said).toBe("");
    expect(lost({ line: { from: "at.line" }, all: { from: "at" } }).said).toBe("");
    const hooks = { buildArguments: () => ({}) };
    expect(lost({ line: { from: "at.line" } }, { hooks }).said).toBe("");
  });

  test("apply mapping before argument_mapping", () => {
    const mapped = [tool({ inputSchema: { ...object({ file: TEXT }), additionalProperties: false } })];
    const { bound, said } = check({ mapping: { path: "p" }, argumentMapping: { p: "file" } }, mapped);
    expect({ bound, said }).toEqual({ bound: 1, said: "" });
  });
});

describe("the tool of the server (D4)", () => {
  const closed = (properties: object, required: string[]): object => ({
    ...object({ ...properties }, required),
    additionalProperties: false,
  });
  test.each<[string, Partial<ToolDefinition>, Partial<Binding>, string]>([
    [
      "is missing",
      { name: "read_files" },
      {},
      'the server has no tool "read_file" | Did you mean "read_files"?',
    ],
    [
      "lacks an argument",
      { inputSchema: closed({ paths: TEXT }, []) as never },
      {},
      'the input "path" is not an argument of the tool "read_file" (did you mean "paths"?)',
    ],
    [
      "needs what nobody gives",
      { inputSchema: object({ path: TEXT, root: TEXT }) },
      {},
      'requires the argument "root", but no input is mapped to it',
    ],
    [
      "takes another type",
      { inputSchema: object({ path: { type: "integer" } }) },
      {},
      'the input "path" does not match the tool "read_file": string where integer is expected',
    ],
    [
      "takes another type under its own name",
      { inputSchema: object({ file: { type: "array" } }) },
      { argumentMapping: { path: "file" } },
      'the input "path" (as "file") does not match',
    ],
    [
      "returns no such thing",
      { outputSchema: closed({ content: TEXT }, []) as never },
      { resultExtract: "$.contents" },
      'matches nothing: $ has no field "contents" (did you mean "content"?) | Matching paths: result_extract $.content.',
    ],
    [
      "returns another type",
      { outputSchema: closed({ content: TEXT }, []) as never },
      {},
      "object where string is expected | Matching paths: result_extract $.content.",
    ],
  ])("is compared with the binding: %s", (_, served, more, message) => {
    const { bound, said } = check(more, [tool(served)]);
    expect(bound).toBe(0);
    expect(said).toContain(message);
  });

  test("must not require an input that the contract makes optional", () => {
    const inputs = object({ path: TEXT }, []);
    expect(check({}, [tool()], { inputs }).said).toContain(
      'In the contract, require "path" or give it a default.',
    );
    expect(check({}, [tool()], { inputs: object({ path: { ...TEXT, default: "." } }, []) }).bound).toBe(1);
  });

  test("gives a warning for an unlikely mismatch, and the driver is bound", () => {
    const open = check({ argumentMapping: { path: "file" } }, [
      tool({ inputSchema: object({ path: TEXT }, []) }),
    ]);
    expect(open).toEqual({
      bound: 1,
      said: expect.stringMatching(/^warning: .*not among the arguments/) as string,
    });
  });

  test("gives a warning with the declared names if the outputSchema has other fields", () => {
    const note = object({ text: TEXT });
    const outputSchema = object({ note });
    const missing = check({}, [tool({ outputSchema })], { outputs: note });
    expect(missing.bound).toBe(1);
    expect(missing.said).toMatch(/^warning: .*"text" is required, but not declared \(there are "note"\)/);
    expect(missing.said).toContain("Matching paths: result_extract $.note.");
    const astray = check({ resultExtract: "$.contents" }, [tool({ outputSchema: object({ size: TEXT }) })]);
    expect(astray.bound).toBe(1);
    expect(astray.said).toMatch(/^warning: .*may match nothing: \$ declares no field "contents" .*"size"/);
    // A tool without an outputSchema gives no warning.
    expect(check({ resultExtract: "$.a" }, [tool({ outputSchema: { type: "object" } })]).said).toBe("");
  });

  test("gives a warning if result_extract starts in the MCP result, unless the outputSchema has such a field", () => {
    for (const resultExtract of ["$.content[0].text", "$.structuredContent.id"]) {
      const { bound, said } = check({ resultExtract });
      expect(bound).toBe(1);
      expect(said).toMatch(
        /^warning: .*result_extract \$\.\w+.* not in the output .*\| In result_extract, \$ is the structured content/,
      );
    }
    expect(check({ resultExtract: "$.contents[0]" }).said).toBe("");
    const outputSchema = object({ content: { type: "array", items: TEXT } });
    expect(check({ resultExtract: "$.content[0]" }, [tool({ outputSchema })]).said).toBe("");
  });

  test("gives a warning if its schema is too large to compare", () => {
    const huge = { type: "object", enum: Array.from({ length: 200_000 }, String) };
    expect(check({}, [tool({ inputSchema: huge })])).toMatchObject({
      bound: 1,
      said: expect.stringMatching(
        /^warning: .*: Portolan did not compare the inputSchema of the tool "read_file" with the contract, because this inputSchema is too large or too deeply nested \| This alone does not prevent the use of the driver\./,
      ) as string,
    });
  });

  test("is not compared with a mapping that a hook replaces", () => {
    const odd = [tool({ inputSchema: object({ other: TEXT }), outputSchema: object({ x: TEXT }) })];
    expect(check({}, odd).bound).toBe(0);
    const hooks = {
      buildArguments: () => ({}),
      parseToolResult: () => ({ ok: true, value: "", ms: 0 }) as const,
    };
    expect(check({}, odd, {}, { hooks }).bound).toBe(1);
  });
});

test("execute must have exactly the contracts in implements", () => {
  const hooks = { execute: { "fs-write": async () => "" } };
  const { bound, said } = check({}, [tool()], {}, { hooks });
  expect(bound).toBe(0);
  expect(said).toContain("execute_binding_mismatch");
  expect(said).toContain("fs-write, which implements does not have; execute lacks fs-read");
});

test("reports all errors at once with positions, and one invalid binding refuses the whole driver", () => {
  const two = driver({
    implements: [
      binding({ toolName: "no_such" }),
      binding({ tool: "fs-list", toolName: "list" }),
      binding({ tool: "nowhere" }),
    ],
  });
  const { bound, diagnostics } = checkDriver(
    two,
    [contract(), contract({ id: "fs-list" })],
    [tool({ name: "list" })],
  );
  expect(bound).toEqual([]);
  expect(diagnostics).toHaveLength(2);
  expect(diagnostics[0]).toMatchObject({
    code: "FILE_INVALID",
    server: "files-mcp",
    tool: "fs-read",
    file: "drivers/one/DRIVER.md",
    line: 20,
  });
});

test("a contract that two bindings of a driver implement is an error", () => {
  const twice = driver({ implements: [binding(), binding({ toolName: "other" })] });
  expect(checkDriver(twice, [contract()], undefined).diagnostics[0]?.message).toContain(
    "already served by the tool",
  );
});

test("a diagnostic has the position of its field, or else of its entry", () => {
  const text = `---
name: A
id: a-mcp
description: D.
version: 1.0.0
kind: mcp
server: { kind: binary, path: /bin/x }
transport: stdio
implements:
  - tool: fs-read
    version: "^1.0.0"
    schema_narrowing:
      drop_inputs: [nope]
    metadata:
      mcp:
        tool_name: read_file
        argument_mapping: { path: wrong }
        result_extract: $.nope
---
`;
  const has = tool({ inputSchema: object({ path: TEXT }), outputSchema: object({ content: TEXT }) });
  const placesOf = (written: string, tools: ToolDefinition[]): string[] => {
    const { driver: read } = parseDriver(written, "DRIVER.md");
    if (read === undefined) expect.fail("not read");
    return checkDriver(read, [contract()], tools).diagnostics.map(({ line, column }) => `${line}:${column}`);
  };
  expect(new Set(placesOf(text, [has]))).toEqual(new Set(["13:7", "17:9", "18:9"]));
  expect(placesOf(text, [])).toContain("16:9");
  const bare = text.replace(/ +(argument_mapping|result_extract).*\n/g, "");
  expect(placesOf(bare, [tool({ inputSchema: object({ path: TEXT, more: TEXT }) })])).toContain("10:5");
});
