// Difficult cases of `portolan author`: secrets of two drivers, parts of results, an existing driver, a whole workspace.

import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { envelope, portolan } from "../../helpers/cli.ts";
import { type Place, place } from "../../helpers/drivers.ts";
import { needs } from "../../helpers/needs.ts";

/** A server that lists tools and returns results from a file. */
const SERVER = `
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
const { tools, results } = JSON.parse(readFileSync(process.argv[2], "utf8"));
const answers = {
  initialize: () => ({ protocolVersion: "2025-11-25", capabilities: { tools: {} }, serverInfo: { name: "notes", version: "1" } }),
  "tools/list": () => ({ tools }),
  "tools/call": ({ name }) => results[name],
  ping: () => ({}),
};
createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, method, params } = JSON.parse(line);
  if (id === undefined) return;
  const answer = answers[method];
  const rest = answer === undefined ? { error: { code: -32601, message: method } } : { result: answer(params) };
  process.stdout.write(JSON.stringify({ jsonrpc: "2.0", id, ...rest }) + "\\n");
});
`;

const TEXT = { type: "string" };
const reads = (name: string, more: object = {}): object => ({
  name,
  annotations: { readOnlyHint: true },
  inputSchema: { type: "object", properties: {} },
  ...more,
});
const NOTE = reads("get_note", {
  outputSchema: {
    type: "object",
    properties: { note: { type: "object", properties: { text: TEXT }, required: ["text"] } },
    required: ["note"],
  },
});
const RESULTS = {
  get_note: {
    structuredContent: { note: { text: "hi" } },
    content: [
      { type: "text", text: "hi" },
      { type: "image", data: "aGk=", mimeType: "image/png" },
    ],
  },
};

const contractFile = (id: string, outputs: object): string =>
  `---\nname: N\nid: ${id}\ndescription: Reads.\nversion: 1.0.0\ninputs: { type: object, properties: {} }\noutputs: ${JSON.stringify(outputs)}\nidempotent: true\n---\n`;

function notes(
  tools: readonly object[],
  files: Record<string, string> = {},
  env: Record<string, string> = {},
): Place {
  const own = { "s/server.mjs": SERVER, "s/c.json": JSON.stringify({ tools, results: RESULTS }) };
  return place({ ...own, ...files }, env);
}

const AUTHOR = ["author", "node s/server.mjs s/c.json", "--yes", "--json"];

interface Made {
  readonly tools: readonly { readonly contract: string; readonly result_extract: string }[];
  readonly files: readonly { readonly file: string; readonly state: string }[];
  readonly left: readonly string[];
  readonly diagnostics: readonly { readonly severity: string; readonly message: string }[];
}

async function author(here: Place, ...words: string[]): Promise<Made & { readonly code: number | null }> {
  const ran = await here.run(...AUTHOR, ...words);
  return { ...(JSON.parse(ran.out) as Made), code: ran.code };
}

it("proposes prompts and resources, and warns of a server that writes beside its code", async () => {
  const here = notes([reads("get_note")]);
  here.change("s/server.mjs", (text) =>
    text
      .replace("capabilities: { tools: {} }", "capabilities: { tools: {}, prompts: {}, resources: {} }")
      .replace(
        "  ping:",
        `  "prompts/list": () => ({ prompts: [{ name: "sum", description: "Sums up." }] }),
  "resources/list": () => ({ resources: [] }),
  "resources/templates/list": () => ({ resourceTemplates: [{ name: "note", uriTemplate: "note:///{id}" }] }),
  "resources/read": ({ uri }) => ({ contents: [{ uri, text: "read " + uri }] }),
  ping:`,
      )
      .concat(
        'const keep = (text) => import("node:fs").then((fs) => fs.writeFileSync(new URL("kept.jsonl", import.meta.url), text));',
      ),
  );
  const made = await author(here, "--id", "notes-mcp");
  expect(made.code).toBe(0);
  const file = here.file(".drivers/notes-mcp/DRIVER.md");
  expect(file).toMatch(/prompts:\n\s+- .*name: sum/);
  expect(file).toMatch(/note:\/\/\/\{id\}/);
  expect(file).toContain("ref_kind_id: mcp_notes");
  const left = made.left.join("\n");
  expect(left).toContain("kept.jsonl into its own folder");
  expect(left).toContain("the server's prompts as well (sum)");
  const read = await here.run("read", "contracts", "mcp_notes:note:///a", "--text");
  expect(read).toMatchObject({ code: 0, out: expect.stringContaining("read note:///a") });
}, 60_000);

it("proposes portolan test only if the contracts can have examples", async () => {
  const next = async (...words: string[]): Promise<string> => {
    const { out } = await notes([NOTE]).run(
      "author",
      "node s/server.mjs s/c.json",
      "--yes",
      "--text",
      ...words,
    );
    return out.slice(out.indexOf("Next"));
  };
  const plain = await next("--id", "notes-mcp");
  expect(plain).toContain("portolan resolve get-note\n");
  expect(plain).not.toContain("portolan test");
  expect(await next("--id", "notes-mcp", "--sample")).toContain("portolan test notes-mcp\n");
}, 60_000);

describe("secrets of a new driver", () => {
  it("stay separate from those of another driver, though both servers use the same name", async () => {
    const here = notes([reads("get_note"), reads("list_notes")]);
    await author(here, "--id", "one-mcp", "--tools", "get_note", "--env", "API_KEY=a");
    const two = await author(here, "--id", "two-mcp", "--tools", "list_notes", "--env", "API_KEY=b");
    expect(two.code).toBe(0);
    expect(two.left.join("\n")).toContain("portolan secrets set TWO_MCP_API_KEY");
    expect(here.file(".drivers/two-mcp/DRIVER.md")).toMatch(/API_KEY: "\$\{secrets\.TWO_MCP_API_KEY\}"/);
    expect((await here.run("validate")).code).toBe(0);
    const env = { ...here.env, API_KEY: "a", TWO_MCP_API_KEY: "b" };
    expect((await portolan(["status"], { cwd: here.cwd, env })).code).toBe(0);
    const again = await author(here, "--id", "two-mcp", "--env", "API_KEY=b");
    expect(again.files.map(({ state }) => state)).toEqual(["unchanged", "unchanged"]);
  });

  it("in arguments become references, and still reach the server", async () => {
    const here = notes([reads("get_note", { description: "Reads the notes of hunter2-hunter2." })]);
    here.change("s/server.mjs", (text) =>
      text.replace(
        "results[name]",
        '({ content: [{ type: "text", text: process.argv.slice(3).join(" ") }] })',
      ),
    );
    const given = ["--password", "hunter2-hunter2", "--dsn=postgres://me:pw@db/app"];
    const made = await author(here, "--id", "notes-mcp", "--", ...given);
    expect(made.code).toBe(0);
    for (const { file } of made.files) expect(readFileSync(file, "utf8")).not.toMatch(/hunter2|me:pw/);
    expect(here.file(".drivers/notes-mcp/DRIVER.md")).toContain("--dsn=${secrets.NOTES_DSN}");
    expect(here.file(".drivers/notes-mcp/SECRETS.md")).toContain("slug: notes-password");
    expect(made.left.join("\n")).toContain("portolan secrets set NOTES_PASSWORD");
    const without = await here.run("call", "get-note");
    expect(without.code).toBe(5);
    const env = { ...here.env, NOTES_PASSWORD: "hunter2-hunter2", NOTES_DSN: "postgres://me:pw@db/app" };
    const called = await portolan(["call", "get-note", "--json"], { cwd: here.cwd, env });
    expect(called.code).toBe(0);
    // Secrets that a server repeats are redacted.
    expect(called.out).toContain("--password");
    expect(called.out).not.toContain("NOTES_PASSWORD");
  }, 60_000);

  it("that the workspace already grants are used", async () => {
    const entry = `---\nsecrets:\n  - { slug: api-key, name: K, description: K., access: { bind: [{ tool: get-note }] } }\n---\n`;
    const here = notes([reads("get_note")], { ".secrets/SECRETS.md": entry });
    const made = await author(here, "--id", "one-mcp", "--env", "API_KEY=a");
    expect(made.code).toBe(0);
    expect(existsSync(join(here.cwd, ".drivers/one-mcp/SECRETS.md"))).toBe(false);
    expect((await here.run("validate")).code).toBe(0);
  });
});

describe("result_extract of a new driver", () => {
  it.each([
    ["$.note", { type: "object", properties: { text: TEXT }, required: ["text"] }],
    ["$.note.text", TEXT],
  ])("is %s for the tool and the contract, and call works", async (path, outputs) => {
    const here = notes([NOTE], { "tools/note-read/TOOL.md": contractFile("note-read", outputs) });
    const made = await author(here, "--tools", "get_note=note-read", "--sample");
    expect(made).toMatchObject({ code: 0, tools: [{ contract: "note-read", result_extract: path }] });
    expect(made.left.join("\n")).toContain(
      "note-read: Portolan called the tool once (--sample). The result also contained an image",
    );
    expect((await here.run("call", "note-read")).code).toBe(0);
  });

  it("is refused if a sample does not match the contract; without a sample there is a warning", async () => {
    const outputs = { type: "object", properties: { body: TEXT }, required: ["body"] };
    const here = notes([NOTE], { "tools/note-read/TOOL.md": contractFile("note-read", outputs) });
    const words = ["--tools", "get_note=note-read"];
    const made = await author(here, ...words, "--dry-run");
    expect(made.diagnostics).toMatchObject([
      { severity: "warning", message: expect.stringContaining('"body" is required, but not declared') },
    ]);
    const refused = await here.run(...AUTHOR, ...words, "--sample");
    expect(refused.code).not.toBe(0);
    expect(envelope(refused).message).toContain(
      "Portolan called get_note once (--sample), and the result does not match the outputs of note-read",
    );
  });
});

describe("author for an existing driver", () => {
  it("keeps its bindings, and creates no contracts that no driver uses", async () => {
    const here = notes([NOTE, reads("list_notes"), reads("count_notes")]);
    await author(here, "--id", "n-mcp", "--tools", "get_note=note.read");
    here.change(".drivers/n-mcp/DRIVER.md", (text) =>
      text.replace('version: "1.0.0"', 'version: "1.4.0" # mine'),
    );
    const again = await author(here, "--id", "n-mcp");
    expect(again.tools).toMatchObject([{ contract: "note.read" }]);
    const proposal = ".drivers/n-mcp/DRIVER.md.new";
    const diff = await here.run("diff", ".drivers/n-mcp/DRIVER.md", proposal, "--text");
    expect(diff).toMatchObject({ code: 0, out: expect.stringContaining("There are no changes.") });
    expect(again.left.join("\n")).toContain(
      "does not use these tools of the server: list_notes, count_notes.",
    );

    const more = await author(here, "--id", "n-mcp", "--tools", "get_note,list_notes");
    expect(more.files.map(({ state }) => state)).toEqual(["kept", "proposed"]);
    expect(existsSync(join(here.cwd, "tools/list-notes/TOOL.md"))).toBe(false);
    expect(existsSync(join(here.cwd, "tools/list-notes/TOOL.md.new"))).toBe(true);
    expect((await here.run("validate")).code).toBe(0);
  });
});

describe("author and the workspace", () => {
  it("changes nothing if the new driver would cause an error", async () => {
    const here = notes([reads("get_note")]);
    await author(here, "--id", "n-mcp");
    here.write(
      ".drivers/other/DRIVER.md",
      here.file(".drivers/n-mcp/DRIVER.md").replace("id: n-mcp", "id: m-mcp"),
    );
    const made = await author(here, "--id", "m-mcp");
    expect(made).toMatchObject({ code: 1, written: false });
    expect(made.diagnostics.map(({ message }) => message).join()).toContain("m-mcp is declared twice");
    expect(existsSync(join(here.cwd, ".drivers/m-mcp"))).toBe(false);
    expect((await here.run("validate")).code).toBe(0);
  });

  it("creates no contract for a tool with an invalid schema", async () => {
    const here = notes([
      NOTE,
      reads("nowhere", { inputSchema: { type: "object", properties: { a: { $ref: "#/$defs/none" } } } }),
    ]);
    const made = await author(here);
    expect(made).toMatchObject({ code: 0, tools: [{ contract: "get-note" }] });
    expect(made.left[0]).toContain("The tool nowhere is left out");
    expect((await here.run("validate")).code).toBe(0);
  });

  it("says that --sandbox is not part of a DRIVER.md", async () => {
    const { left } = await author(notes([NOTE]), "--sandbox", "off");
    expect(left.join("\n")).toContain("add --sandbox contracts=off");
  });

  it(
    "why has hints about the sandbox only for errors that a sandbox may cause",
    needs("bubblewrap"),
    async () => {
      const here = notes([NOTE], {}, { PORTOLAN_SANDBOX: "" });
      await author(here, "--id", "n-mcp");
      here.write("s/c.json", "{");
      const wrong = await here.run("why", "n-mcp", "--text");
      expect(wrong.out).toContain("SyntaxError: ");
      expect(wrong.out).not.toContain("--sandbox");
      // Only an error that a sandbox may cause is explained with it.
      here.write("s/server.mjs", 'throw new Error("EPERM: operation not permitted, scandir");');
      const why = await here.run("why", "n-mcp", "--text");
      expect(why.out).toContain("--sandbox contracts=off.");
      expect(why.out).not.toContain("sandbox: off");
      expect(envelope(await here.run(...AUTHOR)).hint).toContain(
        "whether the sandbox is the reason, start the server with --sandbox off",
      );
    },
  );
});
