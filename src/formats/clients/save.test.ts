import {
  chmod,
  link,
  lstat,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  realpath,
  rm,
  stat,
  symlink,
  writeFile,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { writeClientFile } from "./save.ts";

let root: string;
const now = (): Date => new Date("2026-08-22T10:15:30.123Z");

beforeEach(async () => {
  root = await realpath(await mkdtemp(join(tmpdir(), "portolan-save-")));
});

afterEach(async () => {
  await rm(root, { recursive: true, force: true });
});

test("replaces the file, keeps its mode, and makes a backup", async () => {
  const file = join(root, "mcp.json");
  await writeFile(file, '{ "a": 1 }');
  await chmod(file, 0o640);
  const written = await writeClientFile(file, '{ "a": 2 }', { now });
  const backup = `${file}.portolan-20260822T101530123Z.bak`;
  expect(written).toEqual({ file, changed: true, backup });
  expect(await readFile(file, "utf8")).toBe('{ "a": 2 }');
  expect(await readFile(backup, "utf8")).toBe('{ "a": 1 }');
  expect((await stat(file)).mode & 0o777).toBe(0o640);
  expect((await stat(backup)).mode & 0o777).toBe(0o640);
  expect((await readdir(root)).sort()).toEqual(["mcp.json", "mcp.json.portolan-20260822T101530123Z.bak"]);
});

test("two writes at the same time give two backups", async () => {
  const file = join(root, "mcp.json");
  await writeFile(file, "{}");
  await writeClientFile(file, '{"a":1}', { now });
  const { backup } = await writeClientFile(file, '{"a":2}', { now });
  expect(backup).toBe(`${file}.portolan-20260822T101530123Z-1.bak`);
  expect(await readFile(String(backup), "utf8")).toBe('{"a":1}');
});

test("creates a new file and its folder, readable only by the user, and makes no backup", async () => {
  const file = join(root, ".cursor", "mcp.json");
  expect(await writeClientFile(file, "{}", { now, basis: "" })).toEqual({ file, changed: true });
  expect((await stat(file)).mode & 0o777).toBe(0o600);
  expect(await readdir(join(root, ".cursor"))).toEqual(["mcp.json"]);
});

test("does not write the file if the text is the same", async () => {
  const file = join(root, "mcp.json");
  await writeFile(file, "{}");
  const before = await stat(file);
  expect(await writeClientFile(file, "{}", { now })).toEqual({ file, changed: false });
  expect((await stat(file)).mtimeMs).toBe(before.mtimeMs);
  expect(await readdir(root)).toEqual(["mcp.json"]);
});

test("writes the target of a symbolic link, and keeps the link", async () => {
  await mkdir(join(root, "dotfiles"));
  const target = join(root, "dotfiles", "mcp.json");
  const file = join(root, "mcp.json");
  await writeFile(target, "{}");
  await symlink(target, file);
  const written = await writeClientFile(file, '{"a":1}', { now });
  expect(written.file).toBe(target);
  expect(written.backup?.startsWith(target)).toBe(true);
  expect((await lstat(file)).isSymbolicLink()).toBe(true);
  expect(await readFile(file, "utf8")).toBe('{"a":1}');
});

test("another hard link to the file keeps the old text", async () => {
  const file = join(root, "mcp.json");
  await writeFile(file, "{}");
  await link(file, join(root, "other.json"));
  await writeClientFile(file, '{"a":1}', { now });
  expect(await readFile(join(root, "other.json"), "utf8")).toBe("{}");
});

test.each([
  ["mcp.json", '{ "a": ', "{}", "FILE_INVALID"],
  ["mcp.json", "{}", '{ "a": ', "FILE_INVALID"],
  ["config.toml", "a = ", "a = 1", "FILE_INVALID"],
  ["config.toml", "a = 1", "{}", "FILE_INVALID"],
  ["job.yaml", "a: [", "a: 1", "FILE_INVALID"],
])("does not replace %s that contains %j with %j", async (name, before, after, code) => {
  const file = join(root, name);
  await writeFile(file, before);
  await expect(writeClientFile(file, after, { now })).rejects.toMatchObject({ code });
  expect(await readFile(file, "utf8")).toBe(before);
  expect(await readdir(root)).toEqual([name]);
});

test("accepts comments and trailing commas", async () => {
  const file = join(root, "mcp.json");
  await writeFile(file, "{ // a\n}\n");
  await expect(writeClientFile(file, '{ "a": 1, // b\n}\n', { now })).resolves.toMatchObject({
    changed: true,
  });
});

test("refuses a file that changed in the meantime, a binary file and a folder", async () => {
  const file = join(root, "mcp.json");
  await writeFile(file, '{"newer":true}');
  await expect(writeClientFile(file, "{}", { now, basis: "{}" })).rejects.toMatchObject({
    code: "FILE_FAILED",
    message: `${file} was changed by another program in the meantime, so Portolan wrote nothing`,
  });
  await writeFile(file, Buffer.from([0x7b, 0xff, 0x7d]));
  await expect(writeClientFile(file, "{}", { now })).rejects.toMatchObject({ code: "FILE_FAILED" });
  await mkdir(join(root, "folder.json"));
  await expect(writeClientFile(join(root, "folder.json"), "{}", { now })).rejects.toMatchObject({
    code: "FILE_FAILED",
  });
  await symlink(join(root, "nowhere.json"), join(root, "dangling.json"));
  await expect(writeClientFile(join(root, "dangling.json"), "{}", { now })).rejects.toMatchObject({
    code: "FILE_FAILED",
    message: `${join(root, "dangling.json")} is a symbolic link to a file that does not exist (ENOENT)`,
  });
  expect((await readdir(root)).sort()).toEqual(["dangling.json", "folder.json", "mcp.json"]);
});

test("leaves the file unchanged if its folder is read-only", async () => {
  const file = join(root, "mcp.json");
  await writeFile(file, "{}");
  await chmod(file, 0o644);
  await chmod(root, 0o555);
  // Root can write to any folder, so the test runs as another user here.
  const isRoot = process.getuid?.() === 0;
  if (isRoot) process.seteuid?.(65_534);
  try {
    await expect(writeClientFile(file, '{"a":1}', { now })).rejects.toMatchObject({ code: "FILE_FAILED" });
  } finally {
    if (isRoot) process.seteuid?.(0);
    await chmod(root, 0o700);
  }
  expect(await readFile(file, "utf8")).toBe("{}");
});
