// The folders that a known server needs, and those that a grant should not contain.

import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { withNeededFolders } from "./needed-folders.ts";

test("for a data file among other files, a separate folder is suggested, also in a personal folder", () => {
  const home = realpathSync(mkdtempSync(join(tmpdir(), "portolan-needed-")));
  onTestFinished(() => rmSync(home, { recursive: true, force: true }));
  const endpoint = { command: "npx", args: ["-y", "@modelcontextprotocol/server-memory"] };
  const needed = (...words: string[]) => {
    const path = join(home, ...words);
    return withNeededFolders([{ path, where: "env.MEMORY_FILE_PATH" }], endpoint, home)[0];
  };
  for (const folder of ["Documents", "memory", "project"]) mkdirSync(join(home, folder));
  for (const file of ["memory/m.jsonl", "memory/m.jsonl.bak", "project/a.txt"])
    writeFileSync(join(home, file), "");
  const ownData = { variable: "MEMORY_FILE_PATH", file: join(home, "server-memory/memory.jsonl") };
  for (const folder of ["Documents", "project"])
    expect(needed(folder, "m.jsonl")).toMatchObject({ isShared: true, grant: join(home, folder), ownData });
  expect(needed("memory", "m.jsonl")).not.toHaveProperty("isShared");
  // The suggested folder contains no data of another server.
  mkdirSync(join(home, "server-memory"));
  writeFileSync(ownData.file, "");
  expect(needed("project", "m.jsonl")?.ownData?.file).toBe(join(home, "server-memory-2/memory.jsonl"));
  expect(needed("server-memory", "m.jsonl")).not.toHaveProperty("isShared");
});
