// Launch plans match the real start: limits that are really set, and the sandboxes of commands that Portolan runs itself.

import { copyFileSync, existsSync, mkdirSync, realpathSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import type { ServerHealth } from "../../src/hub/index.ts";
import { portolan, temporaryFolder } from "../helpers/cli.ts";
import { needs } from "../helpers/needs.ts";

const DOCS_SERVER = fileURLToPath(new URL("../fixtures/docs-server.mjs", import.meta.url));

interface Plan {
  readonly sandbox: {
    readonly policy: { readonly limits: Readonly<Record<string, number>> };
    readonly missing: readonly { readonly rule: string }[];
    readonly unenforcedDefaults: readonly { readonly rule: string }[];
  };
}

function setUp(files: Record<string, string>, env: Record<string, string> = {}) {
  const cwd = temporaryFolder();
  for (const [name, text] of Object.entries(files)) writeFileSync(join(cwd, name), text);
  const run = (words: string[]) => portolan(words, { cwd, env: { PORTOLAN_SANDBOX: "", ...env } });
  return { cwd, run };
}

/** A PATH with few programs. */
function pathWith(...programs: string[]): string {
  const folder = join(temporaryFolder(), "bin");
  mkdirSync(folder);
  for (const program of programs) {
    const places = (process.env.PATH ?? "").split(":").map((place) => join(place, program));
    symlinkSync(places.find((place) => existsSync(place)) ?? program, join(folder, program));
  }
  return folder;
}

it("validate reports the paths that a sandbox would hide, without starting a server", async () => {
  const { cwd, run } = setUp({ "notes.db": "", "server.mjs": "" });
  const servers = { notes: { command: "sh", args: ["-c", "exit 9", "./notes.db"] } };
  writeFileSync(join(cwd, "portolan.yaml"), JSON.stringify({ servers }));
  const { code, out } = await run(["validate"]);
  expect(code).toBe(0);
  expect((JSON.parse(out) as { diagnostics: object[] }).diagnostics).toMatchObject([
    {
      severity: "warning",
      server: "notes",
      message: expect.stringContaining("notes.db, named in args[2]") as string,
    },
  ]);
});

it(
  "add and validate note that a script shows the whole folder of the workspace, and why says so",
  needs("bubblewrap"),
  async () => {
    const { cwd, run } = setUp({ ".env": "A=1\n" });
    const place = realpathSync(cwd);
    mkdirSync(join(cwd, "own"));
    for (const name of ["ops.mjs", "own/ops.mjs"]) copyFileSync(DOCS_SERVER, join(cwd, name));
    const fact = "can read the folder of the workspace, because its program is in";
    const added = await run(["add", "ops", "--text", "--", "node", "ops.mjs"]);
    expect(added).toMatchObject({
      ...{ code: 0, err: expect.stringContaining(`note The server ops ${fact} ${place}.`) as string },
    });
    expect((await run(["add", "own", "--text", "--", "node", "own/ops.mjs"])).err).toBe("");
    expect(JSON.parse((await run(["validate"])).out)).toMatchObject({
      ...{ valid: true, diagnostics: [{ severity: "info", server: "ops" }] },
    });
    // Commands of every day do not repeat the note.
    expect((await run(["list", "--text"])).err).not.toContain(fact);
    const { health } = JSON.parse((await run(["why", "ops"])).out) as { health: ServerHealth };
    expect(health.sandbox).toMatchObject({ ownPaths: [place], hiddenFiles: [join(place, ".env")] });
    expect((await run(["why", "ops", "--text"])).out).toContain(
      `may read its own program (${place}, except .env); may write nothing; network: none`,
    );
    expect((await run(["why", "own", "--text"])).out).toContain("may read its own program (own); may write");
  },
);

describe("limits in why --plan", needs("bubblewrap"), () => {
  const server = (limits: object) => ({ command: process.execPath, args: ["x.js"], sandbox: { limits } });
  const files = {
    "portolan.yaml": JSON.stringify({ servers: { plain: server({}), bounded: server({ memory: "1GiB" }) } }),
  };

  it("include only the limits that are enforced; unenforced defaults are listed", async () => {
    const { run } = setUp(files, { PATH: pathWith("bwrap") });
    const plain = await run(["why", "--plan", "plain"]);
    const { sandbox } = JSON.parse(plain.out) as Plan;
    expect(plain.code).toBe(0);
    expect(sandbox).toMatchObject({ policy: { limits: {} }, missing: [] });
    expect(sandbox.unenforcedDefaults.map(({ rule }) => rule)).toEqual([
      ...["limits.memory: 4GiB", "limits.processes: 256", "limits.open_files: 1024"],
    ]);
    const text = (await run(["why", "--plan", "plain", "--text"])).out;
    expect(text).toMatch(/limits +none/);
    expect(text).toContain(
      "limits.open_files: 1024 (a default rule, which the start does not require) the program prlimit is not installed",
    );

    const bounded = await run(["why", "--plan", "bounded"]);
    expect(bounded.code).toBe(3);
    expect((JSON.parse(bounded.out) as Plan).sandbox).toMatchObject({
      ...{ policy: { limits: {} }, missing: [{ rule: "limits.memory: 1GiB" }] },
      unenforcedDefaults: [{ rule: "limits.processes: 256" }, { rule: "limits.open_files: 1024" }],
    });
  });

  it("do not include a number of processes for root", needs("root"), async () => {
    const text = (await setUp(files).run(["why", "--plan", "plain", "--text"])).out;
    expect(text).toMatch(/limits +4 GiB of memory, 1024 open files\n/);
    expect(text).toContain(
      "limits.processes: 256 (a default rule, which the start does not require) the kernel does not count",
    );
  });
});

describe("why --plan of an mcpfile", () => {
  const tool = (name: string, invocation: object): object => ({
    ...{ name, description: "Does something.", invocation },
    inputSchema: { type: "object", properties: { text: { type: "string" } } },
  });
  const file = (sandbox: object | undefined, ...tools: object[]): string =>
    JSON.stringify({
      ...{ kind: "MCPToolDefinitions", schemaVersion: "0.2.0", name: "my-tools", version: "1.0.0" },
      ...(sandbox === undefined ? {} : { sandbox }),
      tools,
    });
  const say = tool("say", { cli: { command: "node say.js --token ${TOKEN} {text}" } });
  const web = tool("web", { http: { url: "https://api.example.com/", method: "GET" } });

  it("shows the sandbox of each command", needs("bubblewrap"), async () => {
    const narrow = tool("narrow", { cli: { command: "node {text}", sandbox: { network: [] } } });
    const lost = tool("lost", { cli: { command: "no-such-program-anywhere {text}" } });
    const { run } = setUp({ "mcpfile.yaml": file({ network: ["api.example.com"] }, say, narrow, web) });
    const words = ["why", "--plan", "my-tools", "-w", "mcpfile.yaml"];
    const text = await run([...words, "--text"]);
    expect({ code: text.code, err: text.err }).toEqual({ code: 0, err: "" });
    expect(text.out).toMatch(/^my-tools: tool say\nruns +\S+node say\.js --token \$\{TOKEN\} \{text\}\n/);
    const [first, second] = text.out.split("my-tools: tool narrow");
    expect(first).toMatch(
      /sandbox +enforce \(by default\), enforced by bubblewrap\nnetwork +api\.example\.com/,
    );
    expect(second).toMatch(/network +none/);
    const json = JSON.parse((await run(words)).out) as { commands: { of: string; plan: Plan }[] };
    expect(json).toMatchObject({ server: "my-tools", kind: "commands" });
    expect(json.commands.map(({ of, plan }) => [of, plan.sandbox.missing])).toEqual([
      ["tool say", []],
      ["tool narrow", []],
    ]);
    const other = setUp({ "mcpfile.yaml": file({}, lost) });
    const missing = await other.run([...words, "--text"]);
    expect(missing.code).toBe(3);
    expect(missing.out).toContain('cannot start "no-such-program-anywhere"');
  });

  it("shows which commands run without a sandbox, and that HTTP requests start no program", async () => {
    const { run } = setUp({ "mcpfile.yaml": file(undefined, say, web), "web.yaml": file(undefined, web) });
    const open = await run(["why", "--plan", "my-tools", "-w", "mcpfile.yaml", "--text"]);
    expect(open).toMatchObject({ code: 0, err: "" });
    expect(open.out).toBe(
      "my-tools: tool say\nruns     node say.js --token ${TOKEN} {text}\nsandbox  none in its config: the command runs with all your rights\n",
    );
    const none = await run(["why", "--plan", "my-tools", "-w", "web.yaml", "--text"]);
    expect(none.out).toContain("there is no program to start");
  });
});
