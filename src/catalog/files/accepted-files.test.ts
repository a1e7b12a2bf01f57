// Changes that a server may have made from its sandbox are reported, and ignored while this program runs.

import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, expect, onTestFinished, test } from "vitest";
import { locatedMessage } from "../../errors/index.ts";
import { loadCatalog } from "../load.ts";
import type { Catalog } from "../types.ts";
import { toFileChange } from "./accepted-files.ts";
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
const told = ({ diagnostics }: Catalog): string[] => diagnostics.map(locatedMessage);

test("files that a server may have added, changed or deleted after the start are reported and ignored", async () => {
  lay("portolan.yaml", server("own"));
  lay(".mcp.json", '{"mcpServers":{"before":{"command":"node"}}}');
  const watched = await watch(".mcp.json", ".vscode");
  expect(aliases(watched.catalog)).toEqual(["before", "own"]);
  lay(".mcp.json", '{"mcpServers":{"after":{"command":"node"}}}');
  lay(".vscode/mcp.json", '{"servers":{"added":{"command":"node"}}}');
  const changed = await watched.reload();
  expect(aliases(changed)).toEqual(["before", "own"]);
  expect(told(changed)).toEqual([
    `${at(".mcp.json")}: the file was changed or replaced. Portolan ignores this change, because the server evil can write to the file, and so may have made the change`,
    `${at(".vscode/mcp.json")}: the file is new. Portolan ignores this change, because the server evil can write to the file, and so may have made the change`,
  ]);
  rmSync(at(".mcp.json"));
  rmSync(at(".vscode/mcp.json"));
  const gone = await watched.reload();
  expect(aliases(gone)).toEqual(["before", "own"]);
  expect(told(gone)).toEqual([expect.stringContaining(`${at(".mcp.json")}: the file was deleted`)]);
  // A new start of the program reads the files as they are.
  expect(aliases(await loadCatalog(folder))).toEqual(["own"]);
});

test("a change that no sandboxed server can have made is accepted", async () => {
  lay("portolan.yaml", server("own"));
  const watched = await watch(".mcp.json");
  lay("portolan.yaml", server("other"));
  const changed = await watched.reload();
  expect(aliases(changed)).toEqual(["other"]);
  expect(told(changed)).toEqual([]);
});

test("a change by a portolan command is accepted once, and only if it starts from the text in use", async () => {
  const before = server("own");
  const after = server("other");
  const evil = server("evil");
  lay("portolan.yaml", before);
  const watched = await watch("portolan.yaml", ".mcp.json");
  const own = toFileChange(at("portolan.yaml"), before, after);
  // The server wrote first, and the command kept its change.
  lay("portolan.yaml", after);
  expect(aliases(await watched.reload([toFileChange(own.file, evil, after)]))).toEqual(["own"]);
  // The server wrote after the command.
  lay("portolan.yaml", evil);
  expect(aliases(await watched.reload([own]))).toEqual(["own"]);
  // The server copied the text to another file.
  lay("portolan.yaml", before);
  lay(".mcp.json", after);
  expect(aliases(await watched.reload([own]))).toEqual(["own"]);
  rmSync(at(".mcp.json"));
  lay("portolan.yaml", after);
  const changed = await watched.reload([own]);
  expect(aliases(changed)).toEqual(["other"]);
  expect(told(changed)).toEqual([]);
  // The same text is not trusted later, when the user has changed the file again.
  lay("portolan.yaml", before);
  expect(aliases(await watched.reload([toFileChange(own.file, after, before)]))).toEqual(["own"]);
  lay("portolan.yaml", after);
  expect(aliases(await watched.reload())).toEqual(["own"]);
});

test("a new file of a portolan command is accepted, also by a path with a symbolic link", async () => {
  mkdirSync(at("real"));
  symlinkSync(at("real"), at("link"));
  const watched = await watchCatalog(at("real"), () => {}, undefined, { writerOf: async () => "evil" });
  onTestFinished(() => watched.close());
  lay("real/portolan.yaml", `\uFEFF${server("own")}`);
  const change = toFileChange(at("link/portolan.yaml"), "", `\uFEFF${server("own")}`);
  expect(aliases(await watched.reload([change]))).toEqual(["own"]);
});

test("a new driver and new driver code that a server may have written are ignored", async () => {
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
  expect(told(changed)).toContainEqual(
    expect.stringContaining(`${at(".drivers/b/DRIVER.md")}: the file is new`),
  );
});
