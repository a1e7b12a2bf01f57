import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { notGranted } from "./not-granted.ts";
import type { FoundProgram } from "./program.ts";
import type { Box } from "./types.ts";

const folder = mkdtempSync(join(tmpdir(), "portolan-granted-"));
const at = (name: string): string => join(folder, name);
mkdirSync(at("shown"));
mkdirSync(at("data"));
writeFileSync(at("notes.db"), "");
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const box = {
  mounts: [{ path: at("shown"), access: "read", reason: "declared" }],
  home: at("home"),
} as unknown as Box;
const missing = (cwd: string | undefined, ...args: string[]): string[] =>
  notGranted({ args, cwd, docker: undefined } as unknown as FoundProgram, box);

test("absolute and relative arguments, also those of options", () => {
  expect(missing(folder, at("data"), "./data", "data/../data", "notes.db", "--db=notes.db")).toEqual([
    at("data"),
    at("notes.db"),
  ]);
  expect(missing(at("shown"), "../data", "..")).toEqual([at("data"), folder]);
});

test("not what is granted, is no path, or begins nobody knows where", () => {
  expect(missing(folder, at("shown"), "shown/x", "./shown", "start", "--verbose", "-", "", "a=b")).toEqual(
    [],
  );
  expect(missing(undefined, "data")).toEqual([]);
});
