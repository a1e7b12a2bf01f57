import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { findProgram, type Program, runProgram, type RunProgram } from "../process/index.ts";
import { splitCommand } from "./command-words.ts";
import { checkRequires } from "./requires.ts";
import { checkVersion } from "./version-check.ts";

const program: Program = { file: process.execPath, args: [], env: {}, cwd: undefined };
const says =
  (stdout: string, stderr = ""): RunProgram =>
  async () => ({ stdout, stderr, code: 0 });

describe("the version check", () => {
  test.each([
    ["v(\\S+)", "tool v1.4.2\n", ">=1.2", true],
    ["(\\d+\\.\\d+\\.\\d+)", "2.0.0", "^1", false],
    ["(\\S+)$", "tool 0.5", ">=0.5", true],
    ["(\\d[\\d.]*)", "2026.08.31", ">=0.5", true],
    ["(.*)+x(\\d+)", "xxxxx", "*", false],
    ["version (.+)", "nothing here", "*", false],
  ])("with the pattern %j, the output %j and the range %s returns %s", async (parse, said, range, ok) => {
    expect((await checkVersion({ command: "tool", parse, range }, program, says(said))).ok).toBe(ok);
  });

  test("names the config key of an invalid range in its error", async () => {
    const check = { command: "tool", parse: "v(\\S+)", range: "banana" };
    await expect(checkVersion(check, program, says("v1.0.0"))).rejects.toThrow(
      'version_check.range "banana"',
    );
  });

  test("looks for the version in stdout, then in stderr", async () => {
    const check = { command: "tool", parse: "v(\\S+)", range: "*" };
    expect((await checkVersion(check, program, says("v1.0.0", "v2.0.0"))).version).toBe("1.0.0");
    expect((await checkVersion(check, program, says("hello", "v2.0.0"))).version).toBe("2.0.0");
    expect((await checkVersion(check, program, says("hello"))).problem).toContain('tool printed "hello"');
  });

  test("reads no version from the stderr of a command that failed", async () => {
    const check = { command: "tool", parse: "v(\\S+)", range: "*" };
    const ends = (code: number | null) =>
      checkVersion(check, program, async () => ({ stdout: "", stderr: "no file /v7/x", code }));
    expect(await ends(1)).toMatchObject({ ok: false, problem: expect.stringContaining("exit code 1") });
    expect((await ends(null)).version).toBe("7/x");
  });

  test("refuses an invalid pattern or range", async () => {
    for (const [parse, range] of [
      ["(", "*"],
      ["(?=x)((a+)+)b", "*"],
      ["(x)", "one"],
    ] as const)
      await expect(checkVersion({ command: "t", parse, range }, program, says("x"))).rejects.toMatchObject({
        code: "CONFIG_INVALID",
      });
  });

  test("ends soon with a pattern that backtracks exponentially", async () => {
    const check = { command: "t", parse: "^(a+)+$", range: "*" };
    expect((await checkVersion(check, program, says(`${"a".repeat(10_000)}!`))).ok).toBe(false);
  });

  test("distinguishes a command that does not end from one without output", async () => {
    const check = { command: "tool -v", parse: "v(.*)", range: "*", timeoutMs: 200 };
    const stuck = { ...program, args: ["-e", "setInterval(() => {}, 1000)"] };
    expect((await checkVersion(check, stuck, runProgram)).problem).toBe(
      "the version of the program is unknown: tool -v did not end within 0.2 s, and printed nothing",
    );
    expect((await checkVersion(check, program, says(""))).problem).toBe(
      "the version of the program is unknown: tool -v printed nothing",
    );
  });

  test("accepts a pattern that is valid only without the u flag", async () => {
    const check = { command: "t", parse: "a\\-(\\d+)", range: "*" };
    expect((await checkVersion(check, program, says("a-3"))).version).toBe("3");
  });

  test("runs a real program, and stops it if it takes too long", async () => {
    const node = (code: string): Program => ({ ...program, args: ["-e", code] });
    expect(await runProgram(node("console.log('v3.1.0')"), { timeoutMs: 20_000 })).toMatchObject({
      stdout: "v3.1.0\n",
      code: 0,
    });
    const stuck = await runProgram(node("setInterval(() => {}, 1000)"), { timeoutMs: 200 });
    expect(stuck.code).toBeNull();
    const abort = AbortSignal.timeout(100);
    await expect(
      runProgram(node("setInterval(() => {}, 1000)"), { timeoutMs: 20_000, signal: abort }),
    ).rejects.toMatchObject({ name: "TimeoutError" });
    await expect(runProgram({ ...program, file: "/no/such" }, { timeoutMs: 100 })).rejects.toMatchObject({
      code: "SERVER_START_FAILED",
      data: { reason: "ENOENT" },
    });
  });
});

test("splitCommand() splits a command into words, and refuses shell syntax", () => {
  expect(splitCommand(`tool "a b" 'c $d' e\\ f ""`)).toEqual(["tool", "a b", "c $d", "e f", ""]);
  expect(splitCommand(`tool "say \\"hi\\""`)).toEqual(["tool", 'say "hi"']);
  for (const line of [
    "a | b",
    "a; b",
    "a $(b)",
    'a "$b"',
    "a `b`",
    "a > b",
    "a\nb",
    "a 'b",
    'a "b',
    "",
    "a &",
  ])
    expect(() => splitCommand(line)).toThrow(/cannot be used/);
});

test("checkRequires() knows other names of a system and an architecture, such as macOS and aarch64", async () => {
  const here = { platform: "darwin", arch: "arm64" };
  await checkRequires({ os: ["linux", "macOS"], arch: ["aarch64"] }, here);
  await checkRequires({ os: [], arch: undefined }, here);
  await checkRequires(undefined);
  await expect(checkRequires({ os: ["windows"] }, here)).rejects.toThrow(
    "supports only the operating system windows",
  );
  await expect(checkRequires({ arch: ["amd64"] }, here)).rejects.toThrow("this machine has arm64");
});

test("checkRequires() refuses a machine with too little memory or disk space", async () => {
  const MB = 1024 * 1024;
  const here = { memory: 512 * MB, folder: "/nowhere/that/is/there/yet" };
  await checkRequires({ memoryBytes: 512 * MB, diskBytes: 1 }, here);
  await expect(checkRequires({ memoryBytes: 513 * MB }, here)).rejects.toMatchObject({
    code: "PLATFORM_UNSUPPORTED",
    message: "The server needs 513 MB of memory, but this machine has only 512 MB.",
  });
  await expect(checkRequires({ diskBytes: Number.MAX_SAFE_INTEGER }, here)).rejects.toMatchObject({
    message: expect.stringContaining("of free disk space, but this machine has only") as string,
    hint: `Free disk space on the disk of ${here.folder}, or run the server on a machine with more.`,
  });
});

test.skipIf(process.platform === "win32")(
  "findProgram() looks on the PATH, and not in the current folder",
  async () => {
    const folder = mkdtempSync(join(tmpdir(), "portolan-find-"));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    writeFileSync(join(folder, "tool"), "#!/bin/sh\n", { mode: 0o755 });
    writeFileSync(join(folder, "plain"), "", { mode: 0o644 });
    symlinkSync(process.execPath, join(folder, "linked"));
    const env = { PATH: `.:relative::${folder}` };
    expect(await findProgram("tool", { env })).toBe(join(folder, "tool"));
    expect(await findProgram("linked", { env })).toBe(join(folder, "linked"));
    expect(await findProgram("./tool", { env, cwd: folder })).toBe(join(folder, "tool"));
    expect(await findProgram(join(folder, "tool"), { env: {} })).toBe(join(folder, "tool"));
    for (const name of ["plain", "missing", "", "./missing"])
      await expect(findProgram(name, { env: { PATH: folder }, cwd: folder })).rejects.toMatchObject({
        code: "SERVER_START_FAILED",
        message: `cannot start "${name}": no such program`,
        data: { command: name, reason: "ENOENT" },
      });
    await expect(findProgram("tool", { env: { PATH: "." }, cwd: folder })).rejects.toThrow("no such program");
    await expect(findProgram("./plain", { cwd: folder })).rejects.toMatchObject({
      data: { reason: "EACCES" },
    });
  },
);
