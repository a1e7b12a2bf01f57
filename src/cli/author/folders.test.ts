// Detection of servers that write files beside their own code.

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { ownWriteNote, ownWriteOf } from "./folders.ts";

const require = createRequire(import.meta.url);
const scriptOf = (name: string): string => {
  const manifest = require.resolve(`@modelcontextprotocol/${name}/package.json`);
  return join(dirname(manifest), "dist/index.js");
};

test("ownWriteOf finds the file of the public memory server, and the variable for another path", async () => {
  const found = await ownWriteOf(["node", scriptOf("server-memory")]);
  expect(found).toEqual({ file: "memory.jsonl", code: "index.js", variable: "MEMORY_FILE_PATH" });
  expect(found && ownWriteNote(found, [])[0]).toContain("--env MEMORY_FILE_PATH=<file>");
  expect(found && ownWriteNote(found, ["MEMORY_FILE_PATH"])).toEqual([]);
});

test("ownWriteOf finds no file for the public filesystem server", async () => {
  expect(await ownWriteOf(["node", scriptOf("server-filesystem"), "/notes"])).toBeUndefined();
});

test.each<[string, string, string, string | undefined]>([
  ["in another file", "index.js", 'import "./lib/store.js"', "notes.db"],
  ["only for reading", "index.js", 'readFileSync(join(__dirname, "words.txt"))', undefined],
  ["in Python", "main.py", 'p = os.path.join(os.path.dirname(__file__), "a.log"); open(p, "w")', "a.log"],
  ["from a URL", "index.mjs", 'writeFileSync(new URL("state.json", import.meta.url), "")', "state.json"],
])("ownWriteOf with a path that the code builds %s", async (what, name, code, file) => {
  const folder = mkdtempSync(join(tmpdir(), "portolan-own-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  writeFileSync(join(folder, name), code);
  mkdirSync(join(folder, "lib"));
  const store = 'const at = path.join(__dirname, "notes.db");\nconst db = new Database(at);';
  if (what === "in another file") writeFileSync(join(folder, "lib/store.js"), store);
  expect((await ownWriteOf(["x", join(folder, name)]))?.file).toBe(file);
});
