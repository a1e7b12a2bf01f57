import { mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { makeFolder } from "./make-folder.ts";

const folder = mkdtempSync(join(tmpdir(), "portolan-folder-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test("makeFolder() creates all parents, also if the folder exists or several calls run at once", async () => {
  const path = join(folder, "a/b/c");
  await Promise.all([makeFolder(path, 0o700), makeFolder(path, 0o700), makeFolder(join(path, "d"), 0o700)]);
  await makeFolder(path, 0o700);
  expect(statSync(path).isDirectory()).toBe(true);
  expect(statSync(path).mode & 0o777).toBe(0o700);
});

test("makeFolder() fails if a file has the path of the folder or of a parent", async () => {
  writeFileSync(join(folder, "file"), "");
  await expect(makeFolder(join(folder, "file"), 0o700)).rejects.toMatchObject({ code: "EEXIST" });
  await expect(makeFolder(join(folder, "file/below"), 0o700)).rejects.toMatchObject({ code: "ENOTDIR" });
});

test.skipIf(process.platform !== "linux")(
  "makeFolder() fails at once where no folder can be created",
  async () => {
    await expect(makeFolder("/proc/portolan/homes", 0o700)).rejects.toMatchObject({ code: "ENOENT" });
  },
);
