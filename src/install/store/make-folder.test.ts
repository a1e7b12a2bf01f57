import { mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { makeFolder } from "./make-folder.ts";

const folder = mkdtempSync(join(tmpdir(), "portolan-folder-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test("is made with all that is above it, also when it is there, by several at once", async () => {
  const path = join(folder, "a/b/c");
  await Promise.all([makeFolder(path, 0o700), makeFolder(path, 0o700), makeFolder(join(path, "d"), 0o700)]);
  await makeFolder(path, 0o700);
  expect(statSync(path).isDirectory()).toBe(true);
  expect(statSync(path).mode & 0o777).toBe(0o700);
});

test("is refused where it cannot be", async () => {
  writeFileSync(join(folder, "file"), "");
  await expect(makeFolder(join(folder, "file"), 0o700)).rejects.toMatchObject({ code: "EEXIST" });
  await expect(makeFolder(join(folder, "file/below"), 0o700)).rejects.toMatchObject({ code: "ENOTDIR" });
});

test.skipIf(process.platform !== "linux")("nobody waits for a folder that can never be there", async () => {
  await expect(makeFolder("/proc/portolan/homes", 0o700)).rejects.toMatchObject({ code: "ENOENT" });
});
