// Proposals of `portolan author` from names and schemas alone.

import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { contract, object, TEXT, text, tool } from "../../../test/helpers/contracts.ts";
import type { Contract, JsonObject } from "../../model/index.ts";
import { type Bound, bindTool, matchTools } from "./bind.ts";
import { type Choice, chooseByAsking, chooseByFlags } from "./choose.ts";
import { draftDriver, type Draft } from "./draft.ts";
import { propose, withdraw } from "./files.ts";
import { contractId, freeId, likeness, sameness, title } from "./names.ts";
import { newContract } from "./new-contract.ts";
import { type Sample, sampleAll } from "./sample.ts";

const NUMBER = { type: "number" };
const GUESS = { guess: true };
const READS = { annotations: { readOnlyHint: true } };

function namesOf(matched: ReadonlyMap<string, Bound>): readonly (readonly string[])[] {
  return [...matched].map(([name, bound]) => [name, bound.contract.id]);
}

function temporary(): string {
  const folder = mkdtempSync(join(tmpdir(), "portolan-author-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

function drafted(
  choices: readonly Choice[],
  folder = "/nowhere",
  contracts: readonly Contract[] = [],
): Draft {
  const server = { kind: "binary", path: "files", args: [], env: {} } as const;
  return draftDriver({
    id: "files-mcp",
    identified: { server, transport: "stdio", target: {} as never, name: "files" },
    credentials: () => ({ server, secrets: [], values: [] }),
    launch: {},
    surfaces: { prompts: [], resources: [], notes: [] },
    folder,
    contracts,
    tools: choices.map((choice) => choice.tool),
    choices,
    samples: new Map(),
    title: "Files",
  });
}

describe("names of tools and contracts", () => {
  test.each([
    ["read-file", "readFile", "equal"],
    ["issue.create", "createIssue", "same"],
    ["get-note", "read_note", "same"],
    ["list-notes", "list_note", undefined],
    ["add-user-group", "add_group_user", undefined],
    ["search", "find", undefined],
    ["read", "read_file", undefined],
    ["", "", undefined],
  ])("sameness of %j and %j is %s", (a, b, found) => {
    expect(sameness(a, b)).toBe(found);
  });

  test("freeId adds a number to a used id, within the maximum length", () => {
    const long = "a".repeat(80);
    expect(freeId("a", () => true)).toBe("a");
    expect(freeId(long, (id) => id !== long)).toBe(`${"a".repeat(78)}-2`);
  });

  test("likeness is higher for the tool that matches the contract", () => {
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
  ])("the tool %s gets the contract id %s and the title %s", (name, id, words) => {
    expect(contractId(name)).toBe(id);
    expect(title(name)).toBe(words);
  });
});

describe("an existing contract", () => {
  test("maps an input to an argument of another name, and drops inputs without an argument", () => {
    const own = contract({ inputs: object({ path: TEXT, lines: NUMBER }, ["path"]) });
    const found = bindTool(
      own,
      tool({ inputSchema: { ...object({ file: TEXT }), additionalProperties: false } }),
      GUESS,
    );
    expect(found?.draft).toMatchObject({
      argumentMapping: { path: "file" },
      dropInputs: ["lines"],
      resultExtract: "$",
    });
  });

  test.each([
    ["the only argument, which is optional", object({ location: TEXT }, [])],
    ["the only required argument", object({ encoding: TEXT, location: TEXT }, ["location"])],
    ["an argument that accepts more types", object({ location: { type: ["string", "null"] } })],
  ])("maps its only required input to %s, whatever its name", (_, inputSchema) => {
    const own = contract({ inputs: object({ path: TEXT, lines: NUMBER }, ["path"]) });
    const closed = { ...inputSchema, additionalProperties: false };
    const [choice] = chooseByFlags([tool({ inputSchema: closed })], [own], ["read_file=fs-read"]);
    expect(choice?.bound?.draft.argumentMapping).toEqual({ path: "location" });
    expect(choice?.notes).toEqual([
      "The mapping of the inputs of fs-read to the arguments of read_file is a guess: path as location. Check argument_mapping in DRIVER.md.",
    ]);
  });

  test("gets the part of the result that matches its outputs", () => {
    const outputSchema = { ...object({ content: TEXT, size: NUMBER }), additionalProperties: false };
    expect(bindTool(contract(), tool({ outputSchema }), GUESS)?.draft.resultExtract).toBe("$.content");
    expect(bindTool(contract({ outputs: NUMBER }), tool({ outputSchema }), GUESS)?.draft.resultExtract).toBe(
      "$.size",
    );
    expect(bindTool(contract({ outputs: { type: "array" } }), tool({ outputSchema }), GUESS)).toBeUndefined();
  });

  test.each([
    ["$.note", object({ text: TEXT })],
    ["$.note.text", TEXT],
    ["$.items[*].id", { type: "array", items: TEXT }],
    ["$.items[*].by.id", { type: "array", items: NUMBER }],
    ["$", object({ note: { type: "object" } })],
  ])("gets %s, which an open output schema declares", (path, outputs) => {
    const item = object({ id: TEXT, by: object({ id: NUMBER }) });
    const outputSchema = object({ note: object({ text: TEXT }), items: { type: "array", items: item } });
    const found = bindTool(contract({ outputs }), tool({ outputSchema }), GUESS);
    expect(found).toMatchObject({ draft: { resultExtract: path }, warnings: [] });
  });

  test("prefers a required field of the result, and a note names other fields that match", () => {
    const outputSchema = object({ maybe: TEXT, a: TEXT, b: TEXT }, ["a", "b"]);
    const own = contract({ id: "read-file" });
    const [choice] = chooseByFlags([tool({ outputSchema })], [own], undefined);
    expect(choice?.bound?.draft.resultExtract).toBe("$.a");
    expect(choice?.notes).toEqual([
      expect.stringContaining("$.b would match as well. Check result_extract in DRIVER.md."),
    ]);
  });

  test("is not bound to a tool with a required argument that no input provides", () => {
    const inputSchema = object({ path: TEXT, token: TEXT });
    expect(bindTool(contract(), tool({ inputSchema }), GUESS)).toBeUndefined();
  });

  test("is bound to one tool only, and not to a deprecated one", () => {
    const tools = [
      tool({ name: "readFile", description: "DEPRECATED: use read_file." }),
      tool({ name: "read_file" }),
      tool({ name: "get_file_info" }),
    ];
    const { sure, near } = matchTools([contract({ id: "read-file" })], tools);
    expect(namesOf(sure)).toEqual([["read_file", "read-file"]]);
    expect(namesOf(near)).toEqual([]);
  });

  test.each([
    ["search-nodes", "search_repositories", { query: TEXT }, { query: TEXT }],
    ["create-directory", "create_repository", { path: TEXT }, { name: TEXT }],
    ["create-directory", "create_repository", { path: TEXT }, { path: TEXT }],
    ["fs-read", "read_text_file", { path: TEXT }, { path: TEXT }],
    ["get-user", "get_users", { id: TEXT }, { id: TEXT }],
    ["create-issue", "delete_issue", { id: TEXT }, { id: TEXT }],
    ["read-file", "read", { path: TEXT }, { path: TEXT }],
  ])("%s is not bound to the different tool %s", (id, name, inputs, args) => {
    const own = contract({ id, inputs: object(inputs), mutates: ["external:x"] });
    const { sure } = matchTools([own], [tool({ name, inputSchema: object(args) })]);
    expect(namesOf(sure)).toEqual([]);
    const [choice] = chooseByFlags([tool({ name, inputSchema: object(args) })], [own], undefined);
    expect(choice?.bound).toBeUndefined();
  });

  test("is bound to a tool with an equal or synonymous name if the effects match", () => {
    const taken = (id: string, more: Parameters<typeof tool>[0], mutates: string[] = []): boolean =>
      matchTools([contract({ id, mutates })], [tool(more)]).sure.size === 1;
    expect(taken("read-file", { name: "readFile" })).toBe(true);
    expect(taken("read-file", { name: "read_file", annotations: { readOnlyHint: false } })).toBe(false);
    expect(taken("file.get", { name: "read_file", ...READS })).toBe(true);
    // The tool has no readOnlyHint.
    expect(taken("file.get", { name: "read_file" })).toBe(false);
    expect(taken("file.delete", { name: "remove_file" }, ["workspace:files"])).toBe(true);
    expect(taken("file.delete", { name: "remove_file", ...READS }, ["workspace:files"])).toBe(false);
  });

  test("is bound to the tool with exactly its name, and to no tool if several are possible", () => {
    const tools = ["a.b", "A.B", "a_b", "a b"].map((name) => tool({ name }));
    const contracts = ["a.b", "a-b"].map((id) => contract({ id }));
    expect(namesOf(matchTools(contracts, tools).sure)).toEqual([["a.b", "a.b"]]);
    const versions = [contract({ id: "a.b" }), contract({ id: "a.b", version: "1.1.0" })];
    expect(namesOf(matchTools(versions, tools).sure)).toEqual([["a.b", "a.b"]]);
  });

  test("is bound to arguments with other names only if --tools requests it", () => {
    const own = contract({ id: "make-thing", inputs: object({ path: TEXT }) });
    const other = tool({ name: "make_thing", inputSchema: object({ name: TEXT }) });
    const [choice] = chooseByFlags([other], [own], undefined);
    expect(choice?.bound).toBeUndefined();
    const { left } = drafted([choice as Choice], undefined, [own]);
    expect(left.join("\n")).toContain("--tools make_thing=make-thing");
    const [told] = chooseByFlags([other], [own], ["make_thing=make-thing"]);
    expect(told?.bound?.draft.argumentMapping).toEqual({ path: "name" });
    expect(told?.notes).toEqual([expect.stringContaining("is a guess: path as name")]);
    const cased = tool({ name: "get_note", inputSchema: object({ noteId: TEXT }) });
    const snake = contract({ id: "get-note", inputs: object({ note_id: TEXT }) });
    expect(matchTools([snake], [cased]).sure.get("get_note")?.draft.argumentMapping).toEqual({
      note_id: "noteId",
    });
  });

  test("is offered for a similar tool, but is not the default choice", async () => {
    const asked: { initial: string | undefined; first: string | undefined }[] = [];
    const prompter = {
      multiselect: async ({ initial }: { initial: string[] }) => initial,
      select: async ({ initial, options }: { initial?: string; options: { value: string }[] }) => {
        asked.push({ initial, first: options[0]?.value });
        return initial;
      },
    };
    const tools = [tool({ name: "read_text_file" }), tool({ name: "list-notes" })];
    const contracts = [contract(), contract({ id: "list-notes" })];
    const choices = await chooseByAsking(tools, contracts, prompter as never, new AbortController().signal);
    expect(asked).toEqual([
      { initial: "new", first: "new" },
      { initial: "existing", first: "existing" },
    ]);
    expect(choices.map(({ bound }) => bound?.contract.id)).toEqual([undefined, "list-notes"]);
  });
});

describe("--tools tool=contract", () => {
  test("creates a new contract, and a note suggests a similar existing one", () => {
    const [choice] = chooseByFlags([tool()], [contract()], ["read_file=note-read"]);
    expect(choice).toMatchObject({ bound: undefined, newId: "note-read", notes: [] });
    const [near] = chooseByFlags([tool()], [contract()], ["read_file=fs-raed"]);
    expect(near).toMatchObject({ newId: "fs-raed", notes: [expect.stringContaining('"fs-read"')] });
    expect(drafted([choice as Choice]).tools).toMatchObject([{ contract: "note-read", isNew: true }]);
  });

  test.each(["No Good", "x", "", "../up"])("refuses %j, which is not a valid contract id", (id) => {
    expect(() => chooseByFlags([tool()], [], [`read_file=${id}`])).toThrow("is not a valid contract id");
  });

  test("refuses one contract for two tools", () => {
    const tools = [tool(), tool({ name: "read_more" })];
    expect(() => chooseByFlags(tools, [], ["read_file=a1", "read_more=a1"])).toThrow(
      '--tools gives the contract "a1" to two tools',
    );
  });
});

describe("a sample call (--sample)", () => {
  const sampled = (result: JsonObject, schema?: JsonObject): Sample => ({
    ...{ input: {}, portable: true, result, lost: [], schema },
  });

  test("selects the matching part of the result if the tool has no output schema", async () => {
    const own = contract({ outputs: object({ text: TEXT }) });
    const chosen = chooseByFlags([tool()], [own], ["read_file=fs-read"]);
    expect(chosen[0]?.bound?.draft.resultExtract).toBe("$");
    const result = text(JSON.stringify({ note: { text: "a" } }));
    const seen = object({ note: object({ text: TEXT }, []) }, []);
    const { choices } = await sampleAll(chosen, async () => sampled(result, seen));
    expect(choices[0]?.bound?.draft.resultExtract).toBe("$.note");
    expect(choices[0]?.notes?.at(-1)).toContain(
      "because Portolan called the tool once (--sample), and this part of the result matched. Check result_extract in DRIVER.md.",
    );
  });

  test("fails if it contradicts a binding of --tools, and removes a guessed binding", async () => {
    const own = contract({ id: "read-file", outputs: object({ text: TEXT }) });
    const sample = async (): Promise<Sample> => sampled(text("no JSON"));
    const demanded = chooseByFlags([tool()], [own], ["read_file=read-file"]);
    await expect(sampleAll(demanded, sample)).rejects.toThrow(
      "Portolan called read_file once (--sample), and the result does not match the outputs of read-file",
    );
    const { choices } = await sampleAll(chooseByFlags([tool()], [own], undefined), sample);
    expect(choices).toMatchObject([{ bound: undefined, near: "read-file" }]);
  });

  test("reports a result that does not match the output schema of the tool", async () => {
    const outputSchema = object({ a: TEXT, b: TEXT });
    const choice = { tool: tool({ outputSchema }), bound: undefined };
    const { samples } = await sampleAll([choice], async () => sampled({ structuredContent: { a: "x" } }));
    expect(samples.get("read_file")?.odd).toContain("b");
  });
});

describe("a draft", () => {
  test("has a different contract id for each tool, also for similar names", () => {
    const names = ["a.b", "A.B", "a-b", "a_b", "a b"];
    const { tools, files, diagnostics } = drafted(
      names.map((name) => ({ tool: tool({ name }), bound: undefined })),
    );
    expect(diagnostics.filter(({ severity }) => severity === "error")).toEqual([]);
    expect(tools.map(({ contract: id }) => id)).toEqual(["a.b", "a.b-2", "a-b", "a-b-2", "a-b-3"]);
    expect(new Set(files.map(({ path }) => path)).size).toBe(6);
  });

  test("omits a tool for which no contract can be written, and keeps the others", () => {
    const inputSchema = JSON.parse(
      '{"type":"object","properties":{"__proto__":{"type":"string"}},"required":["__proto__"]}',
    ) as never;
    const evil: Choice = { tool: tool({ name: "evil", inputSchema }), bound: undefined };
    const { tools, left, diagnostics } = drafted([evil, { tool: tool(), bound: undefined }]);
    expect(tools.map((one) => one.tool)).toEqual(["read_file"]);
    expect(diagnostics.filter(({ severity }) => severity === "error")).toEqual([]);
    expect(left[0]).toContain("The tool evil is left out");
    // If it is the only tool, the draft reports the error.
    expect(drafted([evil]).diagnostics.some(({ severity }) => severity === "error")).toBe(true);
  });

  test.each([
    [
      "a reference to a missing definition",
      { properties: { a: { $ref: "#/$defs/none" } } },
      "which does not exist",
    ],
    ["an invalid keyword", { required: "a" }, "is not valid in JSON Schema"],
  ])("omits a tool whose schema has %s", (_, schema, reason) => {
    const odd = tool({ name: "odd", inputSchema: { type: "object", ...schema } });
    const { tools, files, left } = drafted([
      { tool: odd, bound: undefined },
      { tool: tool(), bound: undefined },
    ]);
    expect(tools.map((one) => one.tool)).toEqual(["read_file"]);
    expect(files.map(({ path }) => path).join()).not.toContain("odd");
    expect(left[0]).toMatch(/^The tool odd is left out/);
    expect(left[0]).toContain(reason);
  });

  test("uses the contract ids of the previous run again", async () => {
    const folder = temporary();
    const choices = ["a b", "a_b"].map((name): Choice => ({ tool: tool({ name }), bound: undefined }));
    const first = drafted(choices, folder);
    await propose(first.files, folder, false);
    const contracts = first.tools.map(({ contract: id }) =>
      contract({
        id,
        origin: { file: join(folder, "tools", id, "TOOL.md"), line: 1, column: 1, format: "tool" },
      }),
    );
    const again = await propose(drafted(choices, folder, contracts).files, folder, false);
    expect(again.map(({ state }) => state)).toEqual(["unchanged", "unchanged", "unchanged"]);
    const found = chooseByFlags(
      choices.map((choice) => choice.tool),
      contracts,
      undefined,
    );
    const { tools, left } = drafted(found, folder, contracts);
    expect(tools.map(({ contract: id }) => id)).toEqual(["a-b", "a-b-2"]);
    expect(left.join("\n")).not.toContain("of its own");
  });
});

describe("files of a draft", () => {
  test("an edited proposal is kept, and the next proposal gets a number", async () => {
    const folder = temporary();
    const path = join(folder, "DRIVER.md");
    writeFileSync(path, "mine");
    const proposed = async (text: string): Promise<unknown> =>
      (await propose([{ path, text }], folder, false)).map(({ state, proposal }) => [state, proposal]);
    expect(await proposed("one")).toEqual([["kept", `${path}.new`]]);
    expect(await proposed("one")).toEqual([["kept", `${path}.new`]]);
    writeFileSync(`${path}.new`, "edited");
    expect(await proposed("one")).toEqual([["kept", `${path}.new.2`]]);
    expect(await proposed("two")).toEqual([["kept", `${path}.new.3`]]);
    const texts = ["", ".new", ".new.2", ".new.3"].map((end) => readFileSync(path + end, "utf8"));
    expect(texts).toEqual(["mine", "edited", "one", "two"]);
  });

  test("files that belong to a kept DRIVER.md are proposals too, and withdraw() removes them", async () => {
    const folder = temporary();
    const files = ["DRIVER.md", "tools/a/TOOL.md", "tools/b/TOOL.md"].map((name) => ({
      path: join(folder, name),
      text: name,
    }));
    writeFileSync(join(folder, "DRIVER.md"), "mine");
    mkdirSync(join(folder, "tools/b"), { recursive: true });
    writeFileSync(join(folder, "tools/b/TOOL.md"), "tools/b/TOOL.md");
    const proposed = await propose(files, folder, false, join(folder, "DRIVER.md"));
    expect(proposed.map(({ state }) => state)).toEqual(["kept", "proposed", "unchanged"]);
    expect(readdirSync(join(folder, "tools/a"))).toEqual(["TOOL.md.new"]);
    const again = await propose(files, folder, false, join(folder, "DRIVER.md"));
    expect(again.map(({ created }) => created)).toEqual([undefined, undefined, undefined]);
    await withdraw(proposed, folder);
    expect(readdirSync(folder)).toEqual(["DRIVER.md", "tools"]);
    expect(readdirSync(join(folder, "tools"))).toEqual(["b"]);
  });

  test.skipIf(process.platform === "win32")("no file is written through a symbolic link", async () => {
    const [folder, outside] = [temporary(), temporary()];
    symlinkSync(outside, join(folder, "tools"));
    const files = [
      { path: join(folder, "DRIVER.md"), text: "x" },
      { path: join(folder, "tools/a/TOOL.md"), text: "x" },
    ];
    await expect(propose(files, folder, false)).rejects.toThrow(
      "is outside of the workspace, because a link leads there",
    );
    expect(existsSync(join(folder, "DRIVER.md"))).toBe(false);
    expect(readdirSync(outside)).toEqual([]);

    // A link counts as an existing file: it stays, and its target is not created.
    const path = join(folder, "SECRETS.md");
    symlinkSync(join(outside, "nowhere"), path);
    symlinkSync(join(outside, "elsewhere"), `${path}.new`);
    const [kept] = await propose([{ path, text: "x" }], folder, false);
    expect(kept).toMatchObject({ state: "kept", proposal: `${path}.new.2` });
    expect(readdirSync(outside)).toEqual([]);

    // The path of the workspace itself may contain a link.
    const link = join(outside, "workspace");
    symlinkSync(folder, link);
    const [made] = await propose([{ path: join(link, "b/TOOL.md"), text: "x" }], link, false);
    expect(made?.state).toBe("written");
  });
});

describe("a new contract", () => {
  test("copies the annotations of the tool, and mutates unless the tool is read-only", () => {
    const silent = newContract("read-file", tool(), "files", undefined);
    expect(silent.draft).toMatchObject({ mutates: ["external:files"], approval: "on-mutate", riskLevel: 2 });
    expect(silent.guesses).toEqual(["mutates", "text"]);
    const quiet = newContract("read-file", tool({ annotations: { readOnlyHint: true } }), "files", undefined);
    expect(quiet.draft).toMatchObject({ idempotent: true, outputs: TEXT });
    expect(quiet.draft.mutates).toBeUndefined();
    const adding = { readOnlyHint: false, destructiveHint: false };
    expect(newContract("x1", tool({ annotations: adding }), "files", undefined).draft.riskLevel).toBe(1);
  });

  test("has the only field of a result as its output, or else the whole result", () => {
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
