// The built command on a workspace: real folders and real servers, and no leftovers.

import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { envelope, portolan, quoted, resultText, start, temporaryFolder, terminal } from "../helpers/cli.ts";
import { stdioCommand } from "../fixtures/processes.mjs";
import { until } from "../helpers/connect.ts";
import { needs } from "../helpers/needs.ts";

interface Status {
  healthy: boolean;
  source: { kind: string; path: string; files: { file: string; format: string; servers: string[] }[] };
  servers: (Record<string, unknown> & { alias: string; state: string; error?: { code: string } })[];
  diagnostics: { code: string; severity: string; message: string }[];
}

/** Creates a folder with these files, and its own home and cache, so that nothing of this computer matters. */
function setUp(files: Record<string, string> = {}) {
  const top = temporaryFolder();
  const cwd = join(top, "project");
  const home = join(top, "home");
  for (const folder of [cwd, home]) mkdirSync(folder);
  for (const [name, text] of Object.entries(files)) {
    const file = join(name.startsWith("~/") ? home : cwd, name.replace(/^~\//, ""));
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
  }
  const env = { HOME: home, XDG_CACHE_HOME: join(top, "cache"), XDG_CONFIG_HOME: join(home, ".config") };
  return {
    top,
    cwd,
    home,
    env,
    file: (name: string) => join(cwd, name),
    run: (...words: string[]) => portolan(words, { cwd, env }),
    /** Runs the command on a terminal of this width. */
    screen: (columns: number, ...words: string[]) =>
      terminal(`cd ${quoted([cwd])}; portolan ${quoted(words)}`, columns, env).done,
  };
}

function entry(...flags: string[]): { command: string; args: string[] } {
  const { command, args } = stdioCommand(...flags);
  return { command, args: [...args] };
}

const yaml = (servers: Record<string, unknown>): string =>
  `version: 1\nservers:\n${Object.entries(servers)
    .map(([alias, fields]) => `  ${alias}: ${JSON.stringify(fields)}\n`)
    .join("")}`;

/** One server that works, one that does not start, one whose secret is missing. */
const MIXED = yaml({
  good: entry("--era=modern"),
  dead: entry("--fault=exit-at-start"),
  needy: { ...entry("--era=modern"), env: { API_TOKEN: "${NO_SUCH_TOKEN}" } },
});

/** Every file below a folder, with its size and time. */
function listing(folder: string): string[] {
  if (!existsSync(folder)) return [];
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .map((name) => {
      const { mtimeMs, size } = statSync(join(folder, name));
      return `${name} ${size} ${mtimeMs}`;
    })
    .sort();
}

describe("status", () => {
  it("JSON has every server with state, reason and place; exit code 3 if one is down", async () => {
    const { run, file, cwd } = setUp({ "portolan.yaml": MIXED });
    const { code, out, err } = await run("status");
    expect({ code, err }).toEqual({ code: 3, err: "" });
    const status = JSON.parse(out) as Status;
    expect(Object.keys(status)).toEqual(["healthy", "gateway", "source", "servers", "diagnostics"]);
    expect(status).toMatchObject({
      healthy: false,
      gateway: null,
      source: { kind: "workspace", path: cwd, files: [{ file: file("portolan.yaml"), format: "workspace" }] },
      servers: [
        { alias: "dead", state: "failed", error: { code: "SERVER_START_FAILED" }, origin: { line: 4 } },
        {
          alias: "good",
          state: "ready",
          era: "modern",
          revision: "2026-07-28",
          tools: 19,
          latencyMs: expect.any(Number),
          origin: { file: file("portolan.yaml"), line: 3, column: 3 },
        },
        { alias: "needy", state: "blocked", error: { code: "SECRET_MISSING" }, tools: 0 },
      ],
    });
    expect(JSON.stringify(status.servers[2]?.error)).toContain("NO_SUCH_TOKEN");
  });

  it("with names checks only these servers, and exits with 0 if they are up; an unknown name is an error", async () => {
    const { run } = setUp({ "portolan.yaml": MIXED });
    const { code, out } = await run("status", "good");
    expect(code).toBe(0);
    expect((JSON.parse(out) as Status).servers.map(({ alias }) => alias)).toEqual(["good"]);
    const unknown = await run("status", "goood");
    expect(unknown.code).toBe(2);
    expect(envelope(unknown)).toMatchObject({ code: "SERVER_UNKNOWN", hint: 'Did you mean "good"?' });
  });

  it("does not wait longer than --wait", async () => {
    const { run } = setUp({ "portolan.yaml": yaml({ slow: entry("--fault=slow-start:30000") }) });
    const started = performance.now();
    const { code, out } = await run("status", "--wait", "500ms");
    expect(performance.now() - started).toBeLessThan(15_000);
    expect(code).toBe(3);
    expect((JSON.parse(out) as Status).servers[0]).toMatchObject({ alias: "slow", state: "starting" });
  });

  it("refuses config files with errors, and reports every error", async () => {
    const { run } = setUp({
      "portolan.yaml": "servers:\n  a: {comand: node}\n  b: {url: https://x.example, era: old}\n",
    });
    const ran = await run("status");
    expect(ran.code).toBe(2);
    const { message } = envelope(ran);
    expect(message).toContain("portolan.yaml:2:7 ");
    expect(message).toContain("portolan.yaml:3:36 ");
  });

  it.each([80, 140])("prints a table on a terminal of %i columns", needs("a terminal"), async (columns) => {
    const { screen } = setUp({ "portolan.yaml": MIXED });
    const { code, screen: shown } = await screen(columns, "status");
    expect(code).toBe(3);
    const lines = shown.split(/[\r\n]+/).map((line) => line.trimEnd());
    expect(lines.filter((line) => line.length > columns)).toEqual([]);
    const table = lines.slice(lines.findIndex((line) => line.includes("server ")));
    expect(table[0]).toMatch(/server +state +protocol +tools +latency +since +config file$/);
    expect(table[1]).toMatch(/^dead +failed +- +- +- +\ds ago +portolan\.yaml:4$/);
    expect(shown).toMatch(/^good +ready +2026-07-28 modern +19 +[\d.]+ ms +\ds ago +portolan\.yaml:3/m);
    expect(shown).toMatch(/^needy +blocked/m);
    expect(shown).toContain("A secret is missing: NO_SUCH_TOKEN");
    expect(shown).toContain("portolan secrets set NO_SUCH_TOKEN");
    expect(shown).toContain("1 of 3 servers are up.");
  });
});

describe("status without config files", () => {
  const clients = (...flags: string[]): Record<string, string> => ({
    "~/.claude.json": JSON.stringify({ mcpServers: { claude: entry("--era=modern", ...flags) } }),
    "~/.cursor/mcp.json": JSON.stringify({
      mcpServers: { cursor: entry("--era=modern", "--name=b", ...flags) },
    }),
    "~/.config/Code/User/mcp.json": JSON.stringify({
      servers: { code: { type: "stdio", ...entry("--era=modern", "--name=c", ...flags) } },
    }),
  });

  it("uses the servers of Claude, Cursor and VS Code, and writes no file", async () => {
    const { run, top, home } = setUp(clients());
    const before = listing(top);
    const { code, out, err } = await run("status");
    expect({ code, err }).toEqual({ code: 0, err: "" });
    const status = JSON.parse(out) as Status;
    expect(status.servers.map(({ alias, state, tools }) => [alias, state, tools])).toEqual([
      ["claude", "ready", 19],
      ["code", "ready", 19],
      ["cursor", "ready", 19],
    ]);
    expect(status.source).toMatchObject({ kind: "clients" });
    expect(status.source.files.map(({ file }) => file.slice(home.length + 1)).sort()).toEqual([
      ".claude.json",
      ".config/Code/User/mcp.json",
      ".cursor/mcp.json",
    ]);
    expect(resultText({ ...(await run("call", "cursor.echo", "text=hi", "--quiet")) })).toBe("hi");
    expect((await run("list")).code).toBe(0);
    expect((await run("why", "code")).code).toBe(0);
    expect(listing(top)).toEqual(before);
  });

  it("says which clients the servers come from", needs("a terminal"), async () => {
    const { screen } = setUp(clients());
    const { code, screen: shown } = await screen(140, "status");
    expect(code).toBe(0);
    expect(shown.replace(/\s+/g, " ")).toContain(
      "There is no config file here. These servers come from Claude Code (~/.claude.json), Cursor (~/.cursor/mcp.json), VS Code (~/.config/Code/User/mcp.json); this command only reads these files.",
    );
    expect(shown).toContain("All 3 servers are up.");
  });

  // openHub() still remembers on disk that a server is of the legacy era, also with `snapshots: false`.
  it("writes no file for a legacy server either", async () => {
    const { run, top } = setUp({
      "~/.claude.json": JSON.stringify({ mcpServers: { old: entry("--era=legacy") } }),
    });
    const before = listing(top);
    expect((await run("status")).code).toBe(0);
    expect(listing(top)).toEqual(before);
  });

  it("shows the other clients if the file of one client is broken", async () => {
    const { run } = setUp({ ...clients(), "~/.cursor/mcp.json": "{ no json" });
    const { code, out } = await run("status");
    expect(code).toBe(0);
    const { servers, diagnostics } = JSON.parse(out) as Status;
    expect(servers.map(({ alias }) => alias)).toEqual(["claude", "code"]);
    expect(diagnostics.filter(({ severity }) => severity === "error")).not.toEqual([]);
  });

  it("reports that there are no servers, with the next command", async () => {
    const { run } = setUp();
    const { code, out } = await run("status", "--text");
    expect(code).toBe(0);
    expect(out).toContain("There are no servers here. Add one: portolan add");
  });
});

describe("list, call, read and prompt", () => {
  it("list shows all tools with full names and servers, or one server with its own names", async () => {
    const { run } = setUp({ "portolan.yaml": MIXED });
    const { code, out } = await run("list");
    expect(code).toBe(0);
    const { tools, servers } = JSON.parse(out) as {
      tools: { name: string; server: string }[];
      servers: unknown[];
    };
    expect(tools).toHaveLength(19);
    expect(tools.find(({ name }) => name === "mcp_good_echo")).toMatchObject({ server: "good" });
    expect(servers).toHaveLength(3);
    const one = JSON.parse((await run("list", "good")).out) as { tools: { name: string }[]; server: object };
    expect(one.tools.map(({ name }) => name)).toContain("echo");
    expect(one.server).toMatchObject({ name: "good", era: "modern" });
    expect((await run("list", "--long", "--text")).out).toMatch(/^good · 19 tools$[^]*mcp_good_echo\(/m);
    expect((await run("list", "--text")).out).toMatch(/^good · 19 tools\n {2}(?:\S+, )*echo, .*\n\n/m);
  });

  it("call accepts alias.tool, the full name, alias and tool, and a printed call", async () => {
    const { run } = setUp({ "portolan.yaml": MIXED });
    expect(resultText(await run("call", "good.echo", "text=one"))).toBe("one");
    expect(resultText(await run("call", "mcp_good_echo", "text=two"))).toBe("two");
    expect(resultText(await run("call", "good", "echo", "text=three"))).toBe("three");
    expect(resultText(await run("call", 'mcp_good_echo(text: "four words here")'))).toBe("four words here");
    expect((await run("call", "good.fail")).code).toBe(1);
  });

  it("call starts only the server that it needs", async () => {
    const { run, file } = setUp();
    const mark = file("started");
    const touch = {
      command: process.execPath,
      args: ["-e", `fs.writeFileSync(${JSON.stringify(mark)}, "")`],
    };
    writeFileSync(file("portolan.yaml"), yaml({ good: entry("--era=modern"), other: touch }));
    expect(resultText(await run("call", "good.echo", "text=hi"))).toBe("hi");
    expect(existsSync(mark)).toBe(false);
  });

  it("an unknown name is reported, with a suggestion", async () => {
    const { run } = setUp({ "portolan.yaml": MIXED });
    const hints: [string[], string, string][] = [
      [["call", "good.ech", "text=x"], "TOOL_NOT_FOUND", '"echo"'],
      [["call", "goood.echo", "text=x"], "TARGET_INVALID", '"good.echo"'],
      [["call", "mcp_goood_echo", "text=x"], "TOOL_NOT_FOUND", '"mcp_good_echo"'],
      [["list", "goood"], "TARGET_INVALID", '"good"'],
      [["prompt", "good.simpl"], "PROMPT_NOT_FOUND", '"simple"'],
    ];
    for (const [words, code, hint] of hints) {
      const error = envelope(await run(...words));
      expect(error).toMatchObject({ code });
      expect(error.hint).toContain(hint);
    }
    expect((await run("call", "dead.echo", "text=x")).code).toBe(3);
    expect(envelope(await run("call", "needy.echo", "text=x"))).toMatchObject({ code: "SECRET_MISSING" });
    expect(envelope(await run("call", "good.echo", "text=x", "--env", "A=1")).message).toContain("--env");
  });

  it("read finds the server of a URI, and prompt accepts alias.name", async () => {
    const { run, cwd } = setUp({ "portolan.yaml": MIXED });
    for (const words of [["test://static-text"], ["good", "test://static-text"]]) {
      const { code, out } = await run("read", ...words);
      expect(code).toBe(0);
      expect(JSON.parse(out)).toMatchObject({ contents: [{ uri: "test://static-text" }] });
    }
    const elsewhere = await portolan(["prompt", "good.simple", "-w", cwd]);
    expect(elsewhere.code).toBe(0);
    expect(JSON.parse(elsewhere.out)).toMatchObject({ messages: [{ role: "user" }] });
  });
});

describe("why", () => {
  it("shows the program, its config file, its last stderr lines and the next step; never a secret", async () => {
    const server = { ...entry("--fault=exit-at-start"), env: { API_TOKEN: "${MY_TOKEN}", MODE: "x" } };
    const { cwd, env, file } = setUp({ "portolan.yaml": yaml({ dead: server }) });
    const canary = "canary-8c1f3b52e7";
    const ran = await portolan(["why", "dead"], { cwd, env: { ...env, MY_TOKEN: canary } });
    expect(ran.code).toBe(3);
    const found = JSON.parse(ran.out) as { runs: { command: string }; health: { stderr: string } };
    expect(found).toMatchObject({
      server: "dead",
      runs: { transport: "stdio", env: ["API_TOKEN", "MODE"], headers: [] },
      health: { state: "failed", origin: { file: file("portolan.yaml"), line: 3 } },
    });
    expect(found.runs.command).toContain("--fault=exit-at-start");
    expect(found.health.stderr).toContain("cannot start");
    const text = await portolan(["why", "dead", "--text"], { cwd, env: { ...env, MY_TOKEN: canary } });
    expect(text.out).toMatch(
      /config +portolan\.yaml:3:3[^]*Last lines of stderr[^]*cannot start[^]*What to do/,
    );
    expect(ran.out + ran.err + text.out + text.err).not.toContain(canary);
  });

  it("reports that a server works", async () => {
    const { run } = setUp({ "portolan.yaml": MIXED });
    const { code, out } = await run("why", "good", "--text");
    expect(code).toBe(0);
    expect(out).toContain("the server works");
    expect(envelope(await run("why", "nobody"))).toMatchObject({ code: "SERVER_UNKNOWN" });
  });
});

describe("add and remove", () => {
  const TEXT = `# The servers of this project.
version: 1

servers:
  # For notes.
  notes:
    command: node # any will do
    args: [notes.js]

# The end.
`;

  it("change one server in the file: add and then remove restore the same bytes", async () => {
    const { run, file } = setUp({ "portolan.yaml": TEXT });
    const added = await run(
      "add",
      "files",
      "--env",
      "TOKEN",
      "--start",
      "lazy",
      "--",
      "node",
      "files.js",
      "--flag",
    );
    expect({ code: added.code, err: added.err }).toEqual({ code: 0, err: "" });
    expect(JSON.parse(added.out)).toMatchObject({
      file: file("portolan.yaml"),
      server: "files",
      written: true,
    });
    const after = readFileSync(file("portolan.yaml"), "utf8");
    expect(after).toContain("    command: node # any will do\n");
    expect(after).toContain("TOKEN: ${TOKEN}\n");
    expect(after).toContain("start: lazy\n");
    expect((await run("remove", "files")).code).toBe(0);
    expect(readFileSync(file("portolan.yaml"), "utf8")).toBe(TEXT);
    expect(readdirSync(dirname(file("x")))).toEqual(["portolan.yaml"]);
  });

  it("add creates a new file, and its server works", async () => {
    const { run, file } = setUp();
    const { command, args } = entry("--era=modern");
    expect((await run("add", "mine", "--", command, ...args)).code).toBe(0);
    expect(resultText(await run("call", "mine.echo", "text=hi"))).toBe("hi");
    expect(
      (await run("add", "web", "https://x.example/mcp", "--header", "Authorization: Bearer ${T}")).err,
    ).toBe("");
    expect(readFileSync(file("portolan.yaml"), "utf8")).toContain("Authorization: Bearer ${T}");
  });

  it("add warns of a plain secret, and does not repeat its value", async () => {
    const { run } = setUp();
    const ran = await run("add", "x", "--env", "API_KEY=abcdef0123456789", "--", "node", "x.js");
    expect(ran.code).toBe(0);
    expect(ran.err).toContain("${API_KEY}");
    expect(ran.err + ran.out).not.toContain("abcdef0123456789");
  });

  it("--dry-run writes nothing", async () => {
    const { run, file, top } = setUp({ "portolan.yaml": TEXT });
    const before = listing(top);
    const { out } = await run("add", "x", "--dry-run", "--text", "--", "node", "x.js");
    expect(out).toContain("  x:\n    command: node\n    args: [x.js]\n");
    expect((await run("remove", "notes", "--dry-run", "--text")).out).not.toContain("notes.js");
    expect(listing(top)).toEqual(before);
    expect(readFileSync(file("portolan.yaml"), "utf8")).toBe(TEXT);
  });

  it("do not change an invalid file, and show its errors", async () => {
    const broken = "servers:\n  a:\n    comand: node\n";
    const { run, file } = setUp({ "portolan.yaml": broken });
    for (const words of [
      ["add", "x", "--", "node"],
      ["remove", "a"],
    ]) {
      const ran = await run(...words);
      expect(ran.code).toBe(2);
      expect(envelope(ran).message).toContain("portolan.yaml:3:5");
    }
    expect(readFileSync(file("portolan.yaml"), "utf8")).toBe(broken);
  });

  it("remove takes several names, and removes none if one of them is unknown", async () => {
    const { run, file } = setUp({ "portolan.yaml": TEXT });
    for (const name of ["one", "two"]) await run("add", name, "--", "node", `${name}.js`);
    const before = readFileSync(file("portolan.yaml"), "utf8");
    expect(envelope(await run("remove", "one", "tow")).message).toBe('There is no server "tow".');
    expect(readFileSync(file("portolan.yaml"), "utf8")).toBe(before);
    expect((await run("remove", "one", "two", "one", "--text")).out).toContain("Removed one, two from");
    expect(readFileSync(file("portolan.yaml"), "utf8")).toBe(TEXT);
  });

  it("explain names that are in use, unknown, or in another file", async () => {
    const mcp = JSON.stringify({ mcpServers: { other: { command: "node" } } });
    const { run } = setUp({ "portolan.yaml": TEXT, ".mcp.json": mcp });
    expect(envelope(await run("add", "notes", "--", "node")).message).toContain("already");
    expect(envelope(await run("remove", "nots")).hint).toContain('"notes"');
    expect(envelope(await run("remove", "other")).hint).toContain(".mcp.json:1");
    expect((await run("add", "a b", "https://x.example")).code).toBe(2);
    expect(envelope(await run("add", "https://x.example/mcp"))).toMatchObject({
      message: "The name of the server is missing before the URL.",
      hint: "portolan add <name> https://x.example/mcp",
    });
  });

  it("four add commands at once add all servers", async () => {
    const { run, file } = setUp();
    const names = ["a", "b", "c", "d"];
    const ran = await Promise.all(names.map((name) => run("add", name, "--", "node", `${name}.js`)));
    expect(ran.map(({ code }) => code)).toEqual([0, 0, 0, 0]);
    const text = readFileSync(file("portolan.yaml"), "utf8");
    for (const name of names) expect(text).toContain(`${name}.js`);
  });
});

describe("validate", () => {
  it("prints exact places with hints, and the line as text; exit code 1", async () => {
    const text =
      'servers:\n  one:\n    comand: node\n  two:\n    url: https://x.example\n    transport: "sees"\n';
    const { run, file } = setUp({ "portolan.yaml": text });
    const { code, out } = await run("validate");
    expect(code).toBe(1);
    const found = JSON.parse(out) as {
      valid: boolean;
      files: unknown[];
      diagnostics: Record<string, unknown>[];
    };
    expect(Object.keys(found)).toEqual(["valid", "files", "diagnostics"]);
    expect(found.valid).toBe(false);
    expect(found.diagnostics.map(({ file: at, line, column }) => [at, line, column])).toEqual([
      [file("portolan.yaml"), 3, 5],
      [file("portolan.yaml"), 6, 16],
    ]);
    const shown = (await run("validate", "portolan.yaml", "--text")).out;
    expect(shown).toContain(
      'portolan.yaml:3:5 error unknown key "comand" in servers.one\n  3 │     comand: node\n    │     ^\n  hint Did you mean "command"?',
    );
    expect(shown).toContain('6 │     transport: "sees"\n    │                ^\n');
  });

  it("accepts any format, and reports only errors", async () => {
    const { run } = setUp({
      "portolan.yaml": yaml({ a: { command: "node" } }),
      "other/mcp.json": JSON.stringify({ mcpServers: { b: { command: "node" } } }),
    });
    const { code, out } = await run("validate", "portolan.yaml", "other/mcp.json");
    expect(code).toBe(0);
    expect(JSON.parse(out)).toMatchObject({ valid: true, files: [{ aliases: ["a"] }, { aliases: ["b"] }] });
    expect((await run("validate", "missing.yaml")).code).toBe(1);
  });
});

describe("events", () => {
  it("prints lines of JSON until all servers are settled", async () => {
    const { run } = setUp({ "portolan.yaml": MIXED });
    const { code, out } = await run("events");
    expect(code).toBe(0);
    const lines = out.trimEnd().split("\n");
    const events = lines.map((line) => JSON.parse(line) as { type: string; server: string });
    const seen = events.map(({ type, server }) => `${server} ${type}`);
    const expected = ["good mcp.server_ready", "dead mcp.server_failed", "needy mcp.server_failed"];
    expect(seen).toEqual(expect.arrayContaining(expected));
  });

  it("--follow continues, applies changed config files, and ends with Ctrl-C", async () => {
    const { cwd, env, file } = setUp({ "portolan.yaml": yaml({ good: entry("--era=modern") }) });
    const { child, done } = start(["events", "--follow"], { cwd, env });
    let out = "";
    child.stdout?.on("data", (text: string) => (out += text));
    await until(() => out.includes("mcp.server_ready"));
    const late = entry("--era=modern", "--name=z");
    writeFileSync(file("portolan.yaml"), yaml({ good: entry("--era=modern"), late }));
    await until(() => /server_ready","server":"late"/.test(out));
    child.kill("SIGINT");
    expect(await done).toMatchObject({ code: 130, err: expect.not.stringContaining("Cancelling") as string });
  });
});
