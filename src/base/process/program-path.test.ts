import { chmod, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { isProgram, searchFolders, windowsEndings } from "./program-path.ts";

let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "portolan-program-"));
  await writeFile(join(folder, "tool"), "");
  await chmod(join(folder, "tool"), 0o755);
  await writeFile(join(folder, "text"), "");
});
afterAll(() => rm(folder, { recursive: true }));

test("searchFolders omits the current folder and relative folders", () => {
  expect(searchFolders(["/a", "", ".", "b", "/c"].join(delimiter))).toEqual(["/a", "/c"]);
  expect(searchFolders(undefined)).toEqual([]);
});

test("on Windows, a command with an executable extension gets no other extension", () => {
  expect(windowsEndings("node")).toEqual([".com", ".exe", ".bat", ".cmd"]);
  expect(windowsEndings("node.EXE")).toEqual([""]);
  expect(windowsEndings("server.js")).toEqual([".com", ".exe", ".bat", ".cmd"]);
  expect(windowsEndings("x", ".EXE;.PY")).toEqual([".exe", ".py"]);
});

test("isProgram returns true only for executable files", async () => {
  expect(await isProgram(join(folder, "tool"))).toBe(true);
  if (process.platform !== "win32") expect(await isProgram(join(folder, "text"))).toBe(false);
  expect(await isProgram(folder)).toBe(false);
  expect(await isProgram(join(folder, "none"))).toBe(false);
});
