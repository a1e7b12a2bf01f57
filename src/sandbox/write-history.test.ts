// Whether a server may have written a file: by the writable paths of its sandbox, except read-only parts that
// still protect their file.

import {
  mkdirSync,
  mkdtempSync,
  realpathSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { SandboxPolicy, Mount } from "./types.ts";
import { createWriteHistory } from "./write-history.ts";

let folder = "";
let history = createWriteHistory();
const at = (name: string): string => join(folder, name);

function createFile(name: string, content = "one"): string {
  mkdirSync(dirname(at(name)), { recursive: true });
  writeFileSync(at(name), content);
  return at(name);
}

beforeEach(() => {
  history = createWriteHistory();
  folder = realpathSync(mkdtempSync(join(tmpdir(), "portolan-writers-")));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const policy = (...mounts: [string, Mount["access"]][]): SandboxPolicy => ({
  mounts: mounts.map(([path, access]) => ({ path: at(path), access, reason: "declared" })),
  home: "/home/user",
  network: [],
  exec: { allow: undefined, spawn: true },
  limits: {},
  configuredLimits: new Set(),
});

test("a server may have written its writable paths, except read-only parts; the innermost rule decides", async () => {
  createFile("w/rules/file");
  createFile("w/rules/open/file");
  createFile("r/file");
  await history.record(
    "a",
    policy(["w", "write"], ["w/rules", "read"], ["w/rules/open", "write"], ["r", "read"]),
  );
  expect(await history.writerOf(at("w/new/deep.yaml"))).toBe("a");
  expect(await history.writerOf(at("w/rules/file"))).toBeUndefined();
  expect(await history.writerOf(at("w/rules/new"))).toBeUndefined();
  expect(await history.writerOf(at("w/rules/open/file"))).toBe("a");
  expect(await history.writerOf(at("r/file"))).toBeUndefined();
  expect(await history.writerOf(at("w-other"))).toBeUndefined();
});

test("a read-only file stays protected after new content, but not after it was replaced", async () => {
  const file = createFile("w/file");
  await history.record("a", policy(["w", "write"], ["w/file", "read"]));
  createFile("w/file", "two");
  expect(await history.writerOf(file)).toBeUndefined();
  renameSync(file, at("kept"));
  renameSync(createFile("w/other"), file);
  expect(await history.writerOf(file)).toBe("a");
  renameSync(at("kept"), file);
  expect(await history.writerOf(file)).toBe("a");
});

test("a link in a writable folder leads to a path that the server may have written", async () => {
  const file = createFile("r/file");
  mkdirSync(at("w"));
  symlinkSync(at("r"), at("w/link"));
  symlinkSync(at("w"), at("outer"));
  await history.record("a", policy(["w", "write"]));
  expect(await history.writerOf(file)).toBeUndefined();
  expect(await history.writerOf(at("w/link/file"))).toBe("a");
  expect(await history.writerOf(at("w/link/missing"))).toBe("a");
  expect(await history.writerOf(at("outer/new"))).toBe("a");
});
