// A log file that is rotated when it is full, and never throws.

import { chmodSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { RotatingFile } from "./rotating-file.ts";

function folder(): string {
  const path = mkdtempSync(join(tmpdir(), "ptl-rotating-"));
  onTestFinished(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

test("the file is renamed before it exceeds its limit, and replaces the previous renamed file", () => {
  const path = join(folder(), "new", "x.log");
  const file = new RotatingFile(path, 10);
  for (const line of ["1234", "5678", "90", "abcdefghijklmnop", "z"]) file.write(line);
  expect(readFileSync(path, "utf8")).toBe("z\n");
  expect(readFileSync(`${path}.1`, "utf8")).toBe("abcdefghijklmnop\n");
  expect(statSync(path).mode & 0o077).toBe(0);
});

test("appends to an existing file, and makes it private", () => {
  const path = join(folder(), "x.log");
  writeFileSync(path, "old\n");
  chmodSync(path, 0o644);
  new RotatingFile(path, 100).write("new");
  expect(readFileSync(path, "utf8")).toBe("old\nnew\n");
  expect(statSync(path).mode & 0o077).toBe(0);
});

test("a file that cannot be written causes no exception", () => {
  const parent = join(folder(), "file");
  writeFileSync(parent, "");
  expect(() => new RotatingFile(join(parent, "x.log"), 100).write("text")).not.toThrow();
});
