// The parts of Portolan that `portolan disconnect` names, because it does not remove them.

import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { stdioCommand } from "../fixtures/processes.mjs";
import { portolan, type Ran, temporaryFolder } from "../helpers/cli.ts";

test("disconnect names what stays only if no other client uses the workspace", async () => {
  const servers = `{"mcpServers":{"echo":${JSON.stringify(stdioCommand())}}}`;
  const home = temporaryFolder();
  mkdirSync(join(home, ".cursor"));
  for (const file of [".cursor/mcp.json", ".claude.json"]) writeFileSync(join(home, file), servers);
  const env = { HOME: home, XDG_DATA_HOME: join(home, ".local/share") };
  const run = (...words: string[]): Promise<Ran> => portolan(words, { cwd: home, env });
  expect((await run("connect", "cursor", "claude-code", "--import", "--yes")).code).toBe(0);
  // As Portolan records an installed package.
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
