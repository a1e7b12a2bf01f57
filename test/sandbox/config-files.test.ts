// A server that may write its workspace tries to change its sandbox: Portolan ignores its files, not the user's.

import { mkdirSync, readFileSync, renameSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { loadCatalog } from "../../src/catalog/index.ts";
import { locatedMessage } from "../../src/errors/index.ts";
import { needs } from "../helpers/needs.ts";
import { open, type Opened, temporary } from "../helpers/workspace.ts";

const SERVER = fileURLToPath(new URL("../fixtures/shell-server.mjs", import.meta.url));
const WAIT = { interval: 50 };

/** JSON is valid YAML. */
const workspace = (...more: string[]): string =>
  JSON.stringify({
    servers: {
      evil: { command: process.execPath, args: [SERVER], sandbox: { mode: "enforce", fs: { write: ["."] } } },
      ...Object.fromEntries(
        more.map((alias) => [alias, { command: process.execPath, args: [SERVER, alias] }]),
      ),
    },
  });

const aliases = ({ workspace: { health } }: Opened): string[] => health().map(({ alias }) => alias);
const told = ({ diagnostics }: Opened): string[] => diagnostics.map(locatedMessage);

describe("a server that may write its workspace", needs("bubblewrap"), () => {
  it("cannot change or add config files while Portolan runs", { timeout: 60_000 }, async () => {
    const folder = temporary();
    const own = join(folder, "portolan.yaml");
    writeFileSync(own, workspace());
    const opened = await open(folder, { watchFiles: true });
    const run = async (script: string): Promise<string> =>
      (await opened.workspace.callTool("evil.run", { script: `cd ${folder}; ${script}` })).text;
    const free = JSON.stringify({ servers: { free: { command: "sh", sandbox: "off" } } });

    // The server tries to change, delete and move its own config file.
    for (const script of [`echo '${free}' > portolan.yaml`, "rm -f portolan.yaml", "mv portolan.yaml x"])
      expect(await run(script)).toMatch(/Read-only|busy/);
    expect(readFileSync(own, "utf8")).toBe(workspace());

    // The server adds a config file.
    await run(`echo '{"mcpServers":{"laid":{"command":"sh"}}}' > .mcp.json`);
    const laid = `${join(folder, ".mcp.json")}: the file is new. Portolan ignores this change, because the server evil can write to the file, and so may have made the change`;
    await expect.poll(() => told(opened), WAIT).toContain(laid);
    expect(aliases(opened)).toEqual(["evil"]);

    // A change of the user takes effect at once, and the file stays read-only for the server.
    writeFileSync(own, workspace("second"));
    await expect.poll(() => aliases(opened), WAIT).toEqual(["evil", "second"]);
    expect(await run("echo evil > portolan.yaml")).toMatch(/Read-only/);

    // A file that replaces it is not read-only any more.
    writeFileSync(join(folder, "saved"), workspace("second", "third"));
    renameSync(join(folder, "saved"), own);
    await expect
      .poll(() => told(opened), WAIT)
      .toContainEqual(expect.stringContaining(`${own}: the file was changed or`));
    await run(`echo '${free}' > portolan.yaml`);
    expect(readFileSync(own, "utf8")).toBe(`${free}\n`);
    await opened.workspace.settled();
    expect(aliases(opened)).toEqual(["evil", "second"]);

    // The user starts Portolan again, which accepts the files.
    expect((await loadCatalog(folder)).servers.map(({ alias }) => alias)).toEqual(["free", "laid"]);
  });
});

describe("a file that a server's config reads", () => {
  it("is not read through a link that another server could have created, even before that server starts", async () => {
    const folder = temporary();
    const canary = "canary-of-a-private-key";
    writeFileSync(join(folder, "private"), canary);
    mkdirSync(join(folder, "data"));
    symlinkSync(join(folder, "private"), join(folder, "data", "token"));
    const echo = { command: process.execPath, args: [SERVER], env: { TOKEN: "${file:./data/token}" } };
    const writer = { command: process.execPath, args: [SERVER], sandbox: { fs: { write: ["./data"] } } };
    writeFileSync(join(folder, "portolan.yaml"), JSON.stringify({ servers: { echo, writer } }));
    const opened = await open(folder, { only: ["echo"] });
    await opened.workspace.settled();
    const [health] = opened.workspace.health();
    expect(health).toMatchObject({ alias: "echo", error: { code: "SANDBOX_DENIED" } });
    expect(health?.error?.message).toContain("is a link that the server writer, which can write to");
    expect(health?.error?.hint).toContain("fs.deny");
    expect(JSON.stringify([health, opened.diagnostics])).not.toContain(canary);
  });
});

it("a grant does not follow a link that another server could have created", async () => {
  const folder = temporary();
  for (const name of ["private", "data"]) mkdirSync(join(folder, name));
  symlinkSync(join(folder, "private"), join(folder, "data", "shared"));
  const own = { command: process.execPath, args: [SERVER] };
  const reader = { ...own, sandbox: { mode: "enforce", fs: { read: ["./data/shared"] } } };
  const writer = { ...own, sandbox: { fs: { write: ["./data"] } } };
  writeFileSync(join(folder, "portolan.yaml"), JSON.stringify({ servers: { reader, writer } }));
  const opened = await open(folder, { only: ["reader"] });
  await expect(opened.workspace.callTool("reader.run", { script: "true" })).rejects.toThrow(
    "data/shared is a link in a folder that a server can write to",
  );
});
