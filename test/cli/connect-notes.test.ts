// Notes of `portolan connect` about tools, permission rules and servers that are not in the workspace.

import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { stdioCommand } from "../fixtures/processes.mjs";
import { portolan, type Ran, temporaryFolder } from "../helpers/cli.ts";

const { command, args } = stdioCommand();
const echo = JSON.stringify({ command, args });

function setUp(claude: object) {
  const [home, folder] = [temporaryFolder(), temporaryFolder()];
  const env = { HOME: home, XDG_DATA_HOME: join(home, ".local/share") };
  const file = join(home, ".claude.json");
  writeFileSync(file, JSON.stringify({ mcpServers: { echo: { command, args } }, ...claude }));
  const run = (...words: string[]): Promise<Ran> => portolan(words, { cwd: folder, env });
  return { home, folder, file, run };
}

test("connect ends with notes on the server's new tool names and on permission rules with old names", async () => {
  const { home, folder, run } = setUp({});
  const permissions = { allow: ["Bash", "mcp__echo__echo", "mcp__echoes__x"], deny: ["mcp__echo"] };
  mkdirSync(join(home, ".claude"));
  writeFileSync(join(home, ".claude/settings.json"), JSON.stringify({ permissions }));
  writeFileSync(join(folder, "portolan.yaml"), `servers:\n  echo: ${echo}\n  more: ${echo}\n`);
  const { out } = await run("connect", "claude-code", "--yes", "--text");
  expect(out).toContain("The client sees the tools of all 2 servers of this workspace.");
  expect(out).toContain(
    "The names of these tools have the form mcp_<server>_<tool>; permission rules of a client that name the earlier tools no longer apply.\n",
  );
  expect(out).toContain(
    "~/.claude/settings.json has rules for earlier tools: mcp__echo__echo, mcp__echo. Write mcp__portolan__mcp_<server>_<tool> in these rules.\n",
  );
});

test("connect names the servers of Claude Code in other projects, which stay unchanged", async () => {
  const projects = {
    "/code/webapp": { mcpServers: { memory: { command, args } } },
    "/x": { mcpServers: {} },
  };
  const { folder, file, run } = setUp({ projects });
  writeFileSync(join(folder, "portolan.yaml"), `servers:\n  echo: ${echo}\n`);
  const { out } = await run("connect", "claude-code", "--yes", "--text");
  expect(out).toContain(
    "note 1 more server of Claude Code only for the project /code/webapp stays in its file: memory. To see its config: portolan import claude-code, in the folder of that project\n",
  );
  expect(JSON.parse(readFileSync(file, "utf8"))).toMatchObject({ projects });
});
