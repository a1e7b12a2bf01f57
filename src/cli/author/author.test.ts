// What authoring proposes from names and schemas alone.

import { describe, expect, test } from "vitest";
import { contract, object, TEXT, tool } from "../../../test/contract-helpers.ts";
import { bindTool, matchTools } from "./bind.ts";
import { contractId, likeness, title } from "./names.ts";
import { newContract } from "./new-contract.ts";

const NUMBER = { type: "number" };

describe("names", () => {
  test("a tool is most like the contract that was meant", () => {
    expect(likeness("fs-read", "read_file")).toBeGreaterThan(likeness("fs-read", "get_file_info"));
    expect(likeness("fs-list", "list_directory")).toBeGreaterThan(
      likeness("fs-list", "list_allowed_directories"),
    );
    expect(likeness("issue.create", "createIssue")).toBe(1);
    expect(likeness("issue-create", "issues_list")).toBeLessThan(0.4);
    expect(likeness("weather", "send_mail")).toBe(0);
  });

  test.each([
    ["read_text_file", "read-text-file", "Read text file"],
    ["getHTTPPage", "get-httppage", "Get httppage"],
    ["x", "tool-x", "X"],
    ["Äh!", "tool-h", "H"],
    ["a.b", "a.b", "A b"],
  ])("%s becomes %s", (name, id, words) => {
    expect(contractId(name)).toBe(id);
    expect(title(name)).toBe(words);
  });
});

describe("a contract that is there", () => {
  test("is fed by arguments of other names, without what the tool has nothing for", () => {
    const own = contract({ inputs: object({ path: TEXT, lines: NUMBER }, ["path"]) });
    const found = bindTool(
      own,
      tool({ inputSchema: { ...object({ file: TEXT }), additionalProperties: false } }),
    );
    expect(found?.draft).toMatchObject({
      argumentMapping: { path: "file" },
      dropInputs: ["lines"],
      resultExtract: "$",
    });
  });

  test("gets the part of the result that is what it promises", () => {
    const outputSchema = { ...object({ content: TEXT, size: NUMBER }), additionalProperties: false };
    expect(bindTool(contract(), tool({ outputSchema }))?.draft.resultExtract).toBe("$.content");
    expect(bindTool(contract({ outputs: NUMBER }), tool({ outputSchema }))?.draft.resultExtract).toBe(
      "$.size",
    );
    expect(bindTool(contract({ outputs: { type: "array" } }), tool({ outputSchema }))).toBeUndefined();
  });

  test("is not served by a tool that needs what nobody gives", () => {
    const inputSchema = object({ path: TEXT, token: TEXT });
    expect(bindTool(contract(), tool({ inputSchema }))).toBeUndefined();
  });

  test("goes to one tool only, rather not to a deprecated one", () => {
    const tools = [
      tool({ description: "DEPRECATED: use read_text_file." }),
      tool({ name: "read_text_file" }),
      tool({ name: "get_file_info" }),
    ];
    const matched = matchTools([contract()], tools);
    expect([...matched].map(([name, bound]) => [name, bound.contract.id])).toEqual([
      ["read_text_file", "fs-read"],
    ]);
  });
});

describe("a new contract", () => {
  test("says what the server says, and counts as changing unless the server says that it is not", () => {
    const silent = newContract("read-file", tool(), "files", undefined);
    expect(silent.draft).toMatchObject({ mutates: ["external:files"], approval: "on-mutate", riskLevel: 2 });
    expect(silent.guesses).toEqual(["mutates", "text"]);
    const quiet = newContract("read-file", tool({ annotations: { readOnlyHint: true } }), "files", undefined);
    expect(quiet.draft).toMatchObject({ idempotent: true, outputs: TEXT });
    expect(quiet.draft.mutates).toBeUndefined();
    const adding = { readOnlyHint: false, destructiveHint: false };
    expect(newContract("x1", tool({ annotations: adding }), "files", undefined).draft.riskLevel).toBe(1);
  });

  test("has the only part of a result as its output, and all of it otherwise", () => {
    const made = (outputSchema: object): readonly unknown[] => {
      const { draft, resultExtract } = newContract(
        "x1",
        tool({ outputSchema: outputSchema as never }),
        "b",
        undefined,
      );
      return [draft.outputs, resultExtract];
    };
    expect(
      made({ $schema: "http://json-schema.org/draft-07/schema#", ...object({ content: TEXT }) }),
    ).toEqual([TEXT, "$.content"]);
    expect(made(object({ a: TEXT, b: TEXT }))).toEqual([object({ a: TEXT, b: TEXT }), "$"]);
    const referring = { ...object({ a: { $ref: "#/$defs/a" } }), $defs: { a: TEXT } };
    expect(made(referring)).toEqual([referring, "$"]);
  });
});
