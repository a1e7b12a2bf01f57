// The parts of Portolan that `portolan disconnect` names, because it does not remove them.

import { existsSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { stdioCommand } from "../fixtures/processes.mjs";
import { portolan, type Ran, temporaryFolder } from "../helpers/cli.ts";

test("disconnect names the remaining data only if no other client uses the workspace", async () => {
  const servers = `{"mcpServers":{"echo":${JSON.stringify(stdioCommand())}}}`;
  const home = temporaryFolder();
  mkdirSync(join(home, ".cursor"));
  for (const file of [".cursor/mcp.json", ".claude.json"]) writeFileSync(join(home, file), servers);
  const env = { HOME: home, XDG_DATA_HOME: join(home, ".local/share") };
  const run = (...words: string[]): Promise<Ran> => portolan(words, { cwd: home, env });
  expect((await run("connect", "cursor", "claude-code", "--import", "--yes")).code).toBe(0);
  // This is how Portolan records an installed package.
  const store = join(home, ".local/share/portolan/store/npm");
  mkdirSync(join(store, "entries"), { recursive: true });
  mkdirSync(join(store, "specs"), { recursive: true });
  const record = {
    spec: "some-server@latest",
    name: "some-server",
    version: "1.0.0",
    integrity: "sha512-x",
    key: "k".repeat(16),
  };
  writeFileSync(join(store, "specs/a.json"), JSON.stringify(record));
  const first = (await run("disconnect", "cursor", "--text")).out;
  expect(first).toContain("Claude Code. To disconnect: portolan disconnect claude-code");
  expect(first).not.toContain("did not remove");
  const { left } = JSON.parse((await run("disconnect", "claude-code", "--json")).out) as {
    left: { what: string; command: string }[];
  };
  expect(left).toEqual([
    { what: "1 server in ~/portolan.yaml", command: "portolan remove echo" },
    { what: "the file portolan.yaml itself", command: "rm ~/portolan.yaml" },
    {
      what: "installed packages (some-server)",
      command: expect.stringMatching(/^rm -rf .*portolan\/store$/),
    },
  ]);
});

test("disconnect does not propose to remove a data file that a client's file names", async () => {
  const home = temporaryFolder();
  const env = { HOME: home, XDG_DATA_HOME: join(home, ".local/share") };
  const run = (...words: string[]): Promise<Ran> => portolan([...words, "--text"], { cwd: home, env });
  for (const folder of [".cursor", "mcpdata", "server-memory"]) mkdirSync(join(home, folder));
  const put = (name: string, servers: object): void =>
    writeFileSync(join(home, name), JSON.stringify({ mcpServers: servers }));
  // The first path is in the config of the user; Portolan would choose the second one.
  for (const file of [join(home, "mcpdata/memory.jsonl"), join(home, "server-memory/memory.jsonl")]) {
    writeFileSync(file, "{}\n");
    const args = ["-y", "@modelcontextprotocol/server-memory"];
    put(".claude.json", { memory: { command: "npx", args, env: { MEMORY_FILE_PATH: file } } });
    put(".cursor/mcp.json", { echo: stdioCommand() });
    expect((await run("connect", "cursor", "claude-code", "--import", "--yes")).code).toBe(0);
    expect((await run("disconnect", "claude-code")).out).not.toContain("the data of memory");
    const { out } = await run("disconnect", "cursor");
    expect(out).toContain("Portolan did not remove the following");
    expect(out).not.toContain("the data of memory");
    rmSync(join(home, "portolan.yaml"));
  }
});

test("disconnect removes folders that connect created, and names the backup of portolan.yaml", async () => {
  const home = temporaryFolder();
  const env = { HOME: home, XDG_DATA_HOME: join(home, ".local/share") };
  const run = (...words: string[]): Promise<Ran> => portolan([...words, "--text"], { cwd: home, env });
  const server = JSON.stringify(stdioCommand());
  writeFileSync(join(home, "portolan.yaml"), `servers: { one: ${server} }\n`);
  writeFileSync(
    join(home, ".claude.json"),
    `{"mcpServers":{"two":${JSON.stringify(stdioCommand("--era=legacy"))}}}`,
  );
  const connected = await run("connect", "windsurf", "claude-code", "--import", "--yes");
  expect(connected.out).toContain("Windsurf was not found on this computer");
  expect(connected.out).not.toContain("Claude Code was not found");
  expect(connected.out).toMatch(/Backup: portolan\.yaml\.portolan-\S+\.bak/);
  expect(existsSync(join(home, ".codeium/windsurf/mcp_config.json"))).toBe(true);
  const { out } = await run("disconnect", "--all");
  expect(out).toMatch(/the backup of portolan\.yaml: rm ~\/portolan\.yaml\.portolan-\S+\.bak/);
  expect(existsSync(join(home, ".codeium"))).toBe(false);
});

test("disconnect notes only the data of this client's server, and clients that are not connected", async () => {
  const home = temporaryFolder();
  const env = { HOME: home, XDG_DATA_HOME: join(home, ".local/share") };
  const run = (...words: string[]): Promise<Ran> => portolan([...words, "--text"], { cwd: home, env });
  for (const folder of [".cursor", "server-memory", "cursor-memory"]) mkdirSync(join(home, folder));
  const args = ["-y", "@modelcontextprotocol/server-memory"];
  const [own, other] = [join(home, "cursor-memory/memory.jsonl"), join(home, "server-memory/memory.jsonl")];
  for (const file of [own, other]) writeFileSync(file, "{}\n");
  const put = (name: string, server: object): void =>
    writeFileSync(join(home, name), JSON.stringify({ mcpServers: { memory: server } }));
  put(".cursor/mcp.json", { command: "npx", args });
  put(".claude.json", { command: "npx", args, env: { MEMORY_FILE_PATH: other } });
  expect((await run("connect", "cursor", "claude-code", "--import", "--yes")).code).toBe(0);
  const yaml = (file: string): string =>
    `{ command: npx, args: [-y, "@modelcontextprotocol/server-memory"], env: { MEMORY_FILE_PATH: "${file}" } }`;
  writeFileSync(
    join(home, "portolan.yaml"),
    `servers:\n  memory: ${yaml(own)}\n  memory-claude-code: ${yaml(other)}\n`,
  );
  const { out } = await run("disconnect", "cursor");
  expect(out.replaceAll(/\s+/g, " ")).toContain(
    "note the restored server memory does not use cursor-memory/memory.jsonl; only the server memory of",
  );
  expect(out).not.toContain("server-memory/");

  const claude = await run("disconnect", "cursor", "claude-code");
  expect(claude.code).toBe(0);
  expect(claude.err).toContain("note Cursor is not connected.");
  expect(claude.out).toContain("1 server restored: memory");
  expect(claude.out).not.toContain("note");
  const none = await run("disconnect", "cursor", "claude-code");
  expect(none.code).toBe(2);
  expect(none.err).toContain("not connected.");
});
