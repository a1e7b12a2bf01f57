// The folder of a proxy's socket is private, short enough, and removed with its program.

import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, expect, test, vi } from "vitest";
import { ownerTag } from "../../process/index.ts";
import { createSocketFolder, removeStaleFolders } from "./socket-folder.ts";

afterEach(() => vi.unstubAllEnvs());

test("the socket folder is private to this user, and is removed on release", () => {
  const folder = createSocketFolder();
  expect(statSync(folder.path).mode & 0o777).toBe(0o700);
  expect(process.listenerCount("exit")).toBeGreaterThan(0);
  folder.remove();
  expect(existsSync(folder.path)).toBe(false);
});

test("the socket folder is in XDG_RUNTIME_DIR, unless this path is too long or missing", () => {
  const base = mkdtempSync(join(tmpdir(), "p-"));
  vi.stubEnv("XDG_RUNTIME_DIR", base);
  const short = createSocketFolder();
  expect(short.path.startsWith(base)).toBe(true);
  short.remove();
  const long = join(base, "a".repeat(100));
  mkdirSync(long);
  for (const unusable of [long, join(base, "missing")]) {
    vi.stubEnv("XDG_RUNTIME_DIR", unusable);
    vi.stubEnv("TMPDIR", long);
    const other = createSocketFolder();
    expect(Buffer.byteLength(other.socket)).toBeLessThan(108);
    other.remove();
  }
  rmSync(base, { recursive: true });
});

test.skipIf(process.platform !== "linux")(
  "the socket folder is in a fixed parent folder, unless this parent belongs to another user",
  () => {
    const base = mkdtempSync(join(tmpdir(), "p-"));
    vi.stubEnv("XDG_RUNTIME_DIR", base);
    const parent = join(base, `portolan-egress-${process.getuid?.()}`);
    const first = createSocketFolder();
    expect(dirname(first.path)).toBe(parent);
    first.remove();
    expect(readdirSync(parent)).toEqual([]);
    rmSync(parent, { recursive: true });
    const elsewhere = join(base, "elsewhere");
    mkdirSync(elsewhere, { mode: 0o700 });
    symlinkSync(elsewhere, parent);
    const second = createSocketFolder();
    expect(dirname(second.path).startsWith(`${parent}-`)).toBe(true);
    second.remove();
    rmSync(parent);
    mkdirSync(parent);
    chmodSync(parent, 0o777);
    const third = createSocketFolder();
    expect(dirname(third.path).startsWith(`${parent}-`)).toBe(true);
    third.remove();
    rmSync(base, { recursive: true });
  },
);

test.skipIf(process.platform !== "linux")(
  "removeStaleFolders removes the folders of ended programs, and no others",
  async () => {
    const base = mkdtempSync(join(tmpdir(), "p-"));
    const namespace = ownerTag().split(".")[2];
    const make = (owner: string): string => {
      const path = join(base, `${owner}-abcdef`);
      mkdirSync(path);
      return path;
    };
    const [gone, own] = [make(`4194303.1.${namespace}`), make(ownerTag())];
    const [elsewhere, odd] = [make("4194303.1.1"), make("x")];
    await removeStaleFolders(base);
    expect([gone, own, elsewhere, odd].map((path) => existsSync(path))).toEqual([false, true, true, true]);
    rmSync(base, { recursive: true });
  },
);
