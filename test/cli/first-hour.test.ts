// The first hour of a person with Cursor and Claude, in a real terminal: every command after the first is one that the tool
// suggested. With bubblewrap, and on a machine without it.

import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { describe, expect, onTestFinished, test } from "vitest";
import { pidsWithEnv } from "../fixtures/processes.mjs";
import { publicServer, temporaryFolder } from "../helpers/cli.ts";
import { needs } from "../helpers/needs.ts";
import { openTmux, programFolder } from "../helpers/tmux.ts";

const server = (name: string, ...args: string[]): { command: string; args: string[] } => {
  const [command = "", ...words] = publicServer(`@modelcontextprotocol/server-${name}`, ...args).split(" ");
  return { command, args: words };
};

/** A home folder with the files of three clients, and a folder of notes. */
function newHome(): { home: string; files: Map<string, string>; notes: string } {
  const home = temporaryFolder();
  const notes = join(home, "notes");
  mkdirSync(notes);
  const [filesystem, memory] = [server("filesystem", notes), server("memory")];
  const texts = {
    ".cursor/mcp.json": `{\n  // mine\n  "mcpServers": {\n    "filesystem": ${JSON.stringify(filesystem)},\n    "memory": ${JSON.stringify(memory)},\n  },\n}\n`,
    ".claude.json": JSON.stringify({ numStartups: 3, mcpServers: { memory: { type: "stdio", ...memory } } }),
    ".config/Claude/claude_desktop_config.json": JSON.stringify({ mcpServers: { filesystem } }, null, 4),
  };
  // The server stores its data in the cache of npx.
  const cache = ".npm/_npx/a1/node_modules/@modelcontextprotocol/server-memory/dist/memory.jsonl";
  const old = { type: "entity", name: "tea", entityType: "thing", observations: ["green"] };
  mkdirSync(dirname(join(home, cache)), { recursive: true });
  writeFileSync(join(home, cache), `${JSON.stringify(old)}\n`);
  const files = new Map(Object.entries(texts).map(([name, text]) => [join(home, name), text]));
  for (const [file, text] of files) {
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
  }
  return { home, files, notes };
}

interface Entry {
  readonly command: string;
  readonly args: string[];
}

/** Starts the server of a client's file with the official SDK, as the client does. */
async function openClient(file: string, env: Record<string, string>): Promise<Client> {
  const text = readFileSync(file, "utf8")
    .replace(/^\s*\/\/.*$/gm, "")
    .replace(/,(\s*[}\]])/g, "$1");
  const { mcpServers } = JSON.parse(text) as { mcpServers: Record<string, Entry> };
  expect(Object.keys(mcpServers)).toEqual(["portolan"]);
  const { command, args } = mcpServers["portolan"] as Entry;
  const client = new Client({ name: "test", version: "1" });
  onTestFinished(() => client.close());
  await client.connect(new StdioClientTransport({ command, args, cwd: "/", env, stderr: "ignore" }));
  return client;
}

const textOf = (result: Awaited<ReturnType<Client["callTool"]>>): string => {
  const [first] = result.content as { text?: string }[];
  return `${result.isError === true ? "error: " : ""}${first?.text ?? ""}`;
};

const isNode = (pid: number): boolean =>
  readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0")[0]?.endsWith("node") === true;

describe.each([
  ["bubblewrap", needs("tmux", "bubblewrap"), "/usr/bin:/bin"],
  ["unshare", needs("tmux", "unshare"), ""],
] as const)("the first hour with %s", (backend, options, system) => {
  test("connect, use and disconnect work with the commands that Portolan suggests", options, async () => {
    const { home, files, notes } = newHome();
    const cwd = join(home, "tools");
    mkdirSync(cwd);
    // Any free port: other tests run beside this one.
    writeFileSync(join(cwd, "portolan.yaml"), "version: 1\ngateway: { port: 0 }\n");
    const path = [programFolder(), ...(system === "" ? [] : [system])].join(":");
    const env = { HOME: home, PATH: path };
    const terminal = await openTmux({ cwd, env });

    const overview = await terminal.run("portolan connect");
    expect(overview.code).toBe(0);
    const [, connect = ""] =
      /To connect \d+ clients to the gateway of this workspace:\s+(portolan connect .*)$/m.exec(
        overview.shown,
      ) ?? [];
    expect(connect).toContain("claude-code claude-desktop cursor");

    const connected = await terminal.run(connect, [
      ["(server-memory) writes its data into its own program folder", "Enter"],
      ["(server-filesystem) is started with ~/notes. Allow:", "Enter"],
      ["Write 4 files?", "Enter"],
    ]);
    expect(connected.code).toBe(0);
    expect(connected.shown).toContain("Connected Claude Code, Claude Desktop, and Cursor to this workspace.");
    const [, serve = ""] =
      /To run each server only once, for all clients together: (portolan .*)$/m.exec(connected.shown) ?? [];
    const [, check = ""] = /To start and check the servers: (portolan .*)$/m.exec(connected.shown) ?? [];
    const [, undo = ""] = /To undo the connection: (portolan .*)$/m.exec(connected.shown) ?? [];

    const served = await terminal.run(serve);
    expect(served.code).toBe(0);
    const [, stop = ""] = /To stop the gateway: (portolan stop)/.exec(served.shown) ?? [];
    const status = await terminal.run(check);
    expect(status.code).toBe(0);
    expect(status.shown).toMatch(/filesystem .*(ready|idle)/);
    expect(status.shown).toMatch(/memory .*(ready|idle)/);
    const plan = await terminal.run("portolan why --plan memory");
    expect(plan.shown).toContain(`enforced by ${backend}`);

    const [cursorFile = "", claudeFile = ""] = [...files.keys()];
    const cursor = await openClient(cursorFile, env);
    const claude = await openClient(claudeFile, env);
    const path1 = join(notes, "todo.md");
    const call = (client: Client, name: string, args: Record<string, unknown>) =>
      client.callTool({ name, arguments: args });
    expect(
      textOf(await call(cursor, "mcp_filesystem_write_file", { path: path1, content: "Buy milk." })),
    ).toContain("Successfully wrote");
    expect(readFileSync(path1, "utf8")).toBe("Buy milk.");
    const entities = [{ name: "milk", entityType: "thing", observations: ["white"] }];
    await call(cursor, "mcp_memory_create_entities", { entities });
    expect(readFileSync(join(home, "server-memory/memory.jsonl"), "utf8")).toContain("white");
    // The other client uses the same data.
    expect(textOf(await call(claude, "mcp_memory_read_graph", {}))).toMatch(/green[^]*white/);
    expect(textOf(await call(claude, "mcp_filesystem_read_text_file", { path: path1 }))).toBe("Buy milk.");

    // One gateway, and one copy of each server, for the terminal and both clients.
    const inside = pidsWithEnv("MEMORY_FILE_PATH", join(home, "server-memory/memory.jsonl"));
    expect(inside.filter((pid) => isNode(pid))).toHaveLength(1);

    expect((await terminal.run(stop)).code).toBe(0);
    const disconnected = await terminal.run(undo);
    expect(disconnected.code).toBe(0);
    for (const [file, text] of files) expect(readFileSync(file, "utf8")).toBe(text);
  });
});
