// Changes that a server may have made from its sandbox are told, and not taken while this program runs.

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, expect, onTestFinished, test } from "vitest";
import { loadCatalog } from "../load.ts";
import type { Catalog } from "../types.ts";
import { type CatalogWatch, watchCatalog } from "../watch/watch.ts";

let folder = "";
const at = (name: string): string => join(folder, name);
const server = (alias: string): string => `servers: { ${alias}: { command: node } }\n`;

function lay(name: string, content: string): void {
  mkdirSync(dirname(at(name)), { recursive: true });
  writeFileSync(at(name), content);
}

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "portolan-taken-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

async function watch(...written: string[]): Promise<CatalogWatch> {
  const writerOf = async (file: string): Promise<string | undefined> =>
    written.some((name) => file.startsWith(at(name))) ? "evil" : undefined;
  const watched = await watchCatalog(folder, () => {}, undefined, { writerOf });
  onTestFinished(() => watched.close());
  return watched;
}

const aliases = ({ servers }: Catalog): string[] => servers.map(({ alias }) => alias);
const told = ({ diagnostics }: Catalog): string[] => diagnostics.map(({ message }) => message);

test("a new file, a changed one and one that is gone; the first reading takes all", async () => {
  lay("portolan.yaml", server("own"));
  lay(".mcp.json", '{"mcpServers":{"before":{"command":"node"}}}');
  const watched = await watch(".mcp.json", ".vscode");
  expect(aliases(watched.catalog)).toEqual(["before", "own"]);
  lay(".mcp.json", '{"mcpServers":{"after":{"command":"node"}}}');
  lay(".vscode/mcp.json", '{"servers":{"added":{"command":"node"}}}');
  const changed = await watched.reload();
  expect(aliases(changed)).toEqual(["before", "own"]);
  expect(told(changed)).toEqual([
    `${at(".mcp.json")} was changed or replaced. Portolan ignores this change, because the server evil can write to the file, and so may have made the change`,
    `${at(".vscode/mcp.json")} is new. Portolan ignores this change, because the server evil can write to the file, and so may have made the change`,
  ]);
  rmSync(at(".mcp.json"));
  rmSync(at(".vscode/mcp.json"));
  const gone = await watched.reload();
  expect(aliases(gone)).toEqual(["before", "own"]);
  expect(told(gone)).toEqual([expect.stringContaining(`${at(".mcp.json")} was deleted`)]);
  // A new start of the program reads the files as they are.
  expect(aliases(await loadCatalog(folder))).toEqual(["own"]);
});

test("what nobody in a sandbox can have written is taken", async () => {
  lay("portolan.yaml", server("own"));
  const watched = await watch(".mcp.json");
  lay("portolan.yaml", server("other"));
  const changed = await watched.reload();
  expect(aliases(changed)).toEqual(["other"]);
  expect(told(changed)).toEqual([]);
});

test("a new driver, and code beside a known one", async () => {
  const driver = (id: string): string =>
    `---\nname: ${id}\nid: ${id}\nversion: 1.0.0\ndescription: A driver.\nserver: { command: node }\n---\n`;
  lay("portolan.yaml", server("own"));
  lay(".drivers/a/DRIVER.md", driver("a"));
  const watched = await watch(".drivers/b", ".drivers/a/driver.mjs");
  const before = watched.catalog.files.map(({ file }) => file);
  lay(".drivers/b/DRIVER.md", driver("b"));
  lay(".drivers/a/driver.mjs", "export default {};\n");
  const changed = await watched.reload();
  expect(changed.files.map(({ file }) => file)).toEqual(before);
  expect(told(changed)).toContainEqual(expect.stringContaining(`${at(".drivers/b/DRIVER.md")} is new`));
});
