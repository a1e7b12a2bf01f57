// A change of a config file that was planned from an earlier text.

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import type { Cli } from "../context.ts";
import { changeFile } from "./change-file.ts";

it("changeFile refuses a change if another program changed the file, and keeps that content", async () => {
  const folder = mkdtempSync(join(tmpdir(), "portolan-grants-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const file = join(folder, "portolan.yaml");
  writeFileSync(file, "servers: {}\n");
  const cli = {
    io: { cwd: folder, env: {}, platform: process.platform },
    changes: [],
    interrupt: { signal: new AbortController().signal },
  } as unknown as Cli;
  const text = "servers:\n  a:\n    command: node\n";
  const change = (basis: string) =>
    changeFile(cli, { file, syntax: "yaml", text, basis }, false, (document) => document);
  await expect(change("")).rejects.toThrow("Another program changed portolan.yaml");
  expect(readFileSync(file, "utf8")).toBe("servers: {}\n");
  await change("servers: {}\n");
  expect(readFileSync(file, "utf8")).toBe(text);
});
