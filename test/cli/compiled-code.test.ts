// The compiled code that the command stores for its next start: used, stored again if it does not fit, and optional.

import { spawnSync } from "node:child_process";
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { crc32 } from "node:zlib";
import { beforeEach, describe, expect, test } from "vitest";
import { start } from "../helpers/cli.ts";

let home: string;
let folder: string;

beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "portolan-compiled-"));
  folder = join(home, "cache", "portolan", "compiled", `${process.version}-${process.arch}`);
});

async function run(env: Record<string, string> = {}, words = ["call", "--help"]): Promise<string> {
  const { code, out, err } = await start(words, {
    cwd: home,
    env: { HOME: home, XDG_CACHE_HOME: join(home, "cache"), ...env },
  }).done;
  expect({ code, err }).toEqual({ code: 0, err: "" });
  return out;
}

const file = (command = "call"): string => join(folder, command);

describe("compiled code", () => {
  test("is stored by the first start and used by the next", async () => {
    const first = await run();
    expect(readdirSync(folder)).toEqual(["call"]);
    expect(statSync(file()).mode & 0o077).toBe(0);
    const stored = statSync(file());
    expect(await run()).toBe(first);
    // Code that does not fit would have been stored again.
    expect(statSync(file()).ino).toBe(stored.ino);
  });

  test("is also used by serve, which changes settings of V8", async () => {
    writeFileSync(join(home, "portolan.yaml"), "servers: {}\n");
    // Without a client, the gateway ends.
    await run({}, ["serve", "--stdio", "--quiet"]);
    const stored = statSync(file("serve"));
    await run({}, ["serve", "--stdio", "--quiet"]);
    expect(statSync(file("serve")).ino).toBe(stored.ino);
  });

  test.each([
    ["truncated", (bytes: Buffer) => bytes.subarray(0, bytes.length / 2)],
    ["empty", () => Buffer.alloc(0)],
    ["not a cache file", () => Buffer.from("x".repeat(100_000))],
    ["damaged", (bytes: Buffer) => withChangedByte(bytes)],
    ["of another version of V8", (bytes: Buffer) => withOtherVersion(bytes)],
  ])("is stored anew if the file is %s", async (_name, damage) => {
    const out = await run();
    const good = readFileSync(file());
    writeFileSync(file(), damage(good));
    expect(await run()).toBe(out);
    expect(readFileSync(file()).length).toBeGreaterThan(good.length / 2);
    const { ino } = statSync(file());
    expect(await run()).toBe(out);
    expect(statSync(file()).ino).toBe(ino);
  });

  test.skipIf(process.platform === "win32")("is not used if others can write the file", async () => {
    const out = await run();
    chmodSync(file(), 0o666);
    const { ino } = statSync(file());
    expect(await run()).toBe(out);
    expect(statSync(file()).ino).not.toBe(ino);
    expect(statSync(file()).mode & 0o777).toBe(0o600);
  });

  test("is optional: the command works if its folder cannot be created, or if the cache is disabled", async () => {
    mkdirSync(dirname(dirname(folder)), { recursive: true });
    writeFileSync(dirname(folder), "a file in place of the folder");
    const out = await run();
    expect(await run({ NODE_DISABLE_COMPILE_CACHE: "1", XDG_CACHE_HOME: join(home, "other") })).toBe(out);
    expect(readdirSync(home)).not.toContain("other");
  });

  test("is in the cache folder of the user, as env-paths names it", async () => {
    const env = { HOME: home, PATH: process.env["PATH"] ?? "", XDG_CACHE_HOME: "" };
    await run({ XDG_CACHE_HOME: "" });
    const program =
      'import envPaths from "env-paths"; process.stdout.write(envPaths("portolan", { suffix: "" }).cache);';
    const { stdout } = spawnSync(process.execPath, ["--input-type=module", "--eval", program], {
      env,
      cwd: import.meta.dirname,
      encoding: "utf8",
    });
    expect(readdirSync(stdout)).toContain("compiled");
  });
});

function withChangedByte(bytes: Buffer): Buffer {
  const changed = Buffer.from(bytes);
  const at = Math.floor(bytes.length / 2);
  changed[at] = (changed[at] ?? 0) ^ 1;
  return changed;
}

/** V8 compares the first bytes of compiled code with its own version. */
function withOtherVersion(bytes: Buffer): Buffer {
  const changed = Buffer.from(bytes);
  const head = 4 + bytes.readUInt32LE(0);
  changed.fill(0xff, head, head + 12);
  changed.writeUInt32LE(crc32(changed.subarray(0, -4)), changed.length - 4);
  return changed;
}
