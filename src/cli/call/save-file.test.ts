import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { createSaver, extensionOf } from "./save-file.ts";

let cwd: string;
const bytes = Buffer.from("data");

beforeEach(() => {
  cwd = mkdtempSync(join(tmpdir(), "portolan-save-"));
});
afterEach(() => rmSync(cwd, { recursive: true, force: true }));

test("without --out, results are private files with random names in the temporary folder", async () => {
  const saver = await createSaver({ cwd, temporary: cwd });
  const first = await saver.save(bytes, "image/png", "image");
  const second = await saver.save(bytes, "image/png", "image");
  expect(first).toMatch(/portolan-[0-9a-f]{12}\.png$/);
  expect(second).not.toBe(first);
  expect(statSync(first).mode & 0o777).toBe(0o600);
  expect(readFileSync(first, "utf8")).toBe("data");
  expect(saver.saved).toEqual([first, second]);
});

test("with --out <file>, further results get numbered names", async () => {
  const saver = await createSaver({ cwd, out: "pic.png" });
  await saver.save(bytes, "image/png", "image");
  await saver.save(bytes, "image/png", "image");
  expect(readdirSync(cwd).sort()).toEqual(["pic-2.png", "pic.png"]);
});

test("an existing file is an error without --force, and is replaced with --force", async () => {
  writeFileSync(join(cwd, "pic.png"), "old");
  await expect(createSaver({ cwd, out: "pic.png" })).rejects.toMatchObject({ code: "USAGE" });
  const saver = await createSaver({ cwd, out: "pic.png", force: true });
  await saver.save(bytes, "image/png", "image");
  expect(readFileSync(join(cwd, "pic.png"), "utf8")).toBe("data");
  expect(readdirSync(cwd)).toEqual(["pic.png"]);
});

test("with --out <folder>, files get unused names", async () => {
  writeFileSync(join(cwd, "image-1.png"), "mine");
  const saver = await createSaver({ cwd, out: "." });
  expect(await saver.save(bytes, "image/png", "image")).toBe(join(cwd, "image-2.png"));
  expect(readFileSync(join(cwd, "image-1.png"), "utf8")).toBe("mine");
  const made = await createSaver({ cwd, out: "new/deep/" });
  expect(await made.save(bytes, "audio/wav", "audio")).toBe(join(cwd, "new/deep/audio-1.wav"));
});

test("a missing folder is an error before the call", async () => {
  await expect(createSaver({ cwd, out: "nowhere/pic.png" })).rejects.toMatchObject({ code: "USAGE" });
  expect(existsSync(join(cwd, "nowhere"))).toBe(false);
});

test("a file extension comes only from known MIME types", () => {
  expect(extensionOf("image/png; charset=x")).toBe("png");
  expect(extensionOf("image/../../x")).toBe("bin");
  expect(extensionOf(undefined)).toBe("bin");
});
