// Wrong usage of `portolan connect` and of other commands that take names of clients.

import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { envelope, portolan, type Ran, temporaryFolder } from "../helpers/cli.ts";

function place() {
  const [home, folder] = [temporaryFolder(), temporaryFolder()];
  const env = { HOME: home, XDG_DATA_HOME: join(home, ".local/share") };
  return { folder, run: (...words: string[]): Promise<Ran> => portolan(words, { cwd: folder, env }) };
}

test("connect --all needs a client in the home folder, and cannot be used with --scope", async () => {
  const { folder, run } = place();
  mkdirSync(join(folder, ".cursor"));
  writeFileSync(join(folder, ".cursor/mcp.json"), `{"mcpServers":{"echo":{"command":"node"}}}`);
  const none = envelope(await run("connect", "--all"));
  expect(none.message).toContain("--all found no config file of an MCP client in your home folder");
  expect(none.hint).toContain("add --scope project");
  const wrong = await run("connect", "--all", "--scope", "project");
  expect(wrong.code).toBe(2);
  expect(envelope(wrong).message).toContain("Leave out the client names, --file and --scope.");
});

test("without any config file, import lists the searched places, also in parent folders", async () => {
  const { run } = place();
  const { out } = await run("import", "--text");
  expect(out.replace(/\s+/g, " ")).toContain(
    "and for the files of a project also in the folders above this one, up to the root of the repository:",
  );
});

test("connect refuses the path of a file as the name of a client", async () => {
  const { run } = place();
  const hint = async (...words: string[]): Promise<unknown> => {
    const ran = envelope(await run(...words));
    expect(ran.message).toMatch(/is not the name of a client\.$/);
    return ran.hint;
  };
  expect(await hint("connect", "./mcp.json")).toMatch(
    /^To change a certain file: portolan connect <client> --file \.\/mcp\.json\. Supported clients: /,
  );
  expect(await hint("import", "config.toml")).toMatch(
    /^Name the client: portolan import finds its config files itself\. Supported clients: /,
  );
  expect(await hint("disconnect", ".cursor/mcp.json")).toMatch(/^Supported clients: /);
});
