// Programs that run to their end: bounded output, time limit, abort, whole groups, and children that outlive them.

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { buildModule } from "../../test/helpers/build-module.ts";
import { stateOf } from "./proc.ts";
import { runProgram, startDetached, startProgram } from "./run.ts";
import type { Program } from "./types.ts";

const env = { PATH: process.env.PATH ?? "" };
const node = (code: string): Program => ({
  ...{ file: process.execPath, args: ["-e", code], cwd: undefined, env },
});
const shell = (script: string): Program => ({ file: "/bin/sh", args: ["-c", script], cwd: undefined, env });
const LIMIT = { timeoutMs: 60_000 };

const isGone = (pid: number): boolean => stateOf(pid)?.isDead ?? true;

test("output is captured as text, and cut off at a limit", async () => {
  expect(
    await runProgram(node("process.stdout.write('é'); console.error('b'); process.exit(3)"), LIMIT),
  ).toEqual({
    stdout: "é",
    stderr: "b\n",
    code: 3,
  });
  const { stdout, code } = await runProgram(node("process.stdout.write('x'.repeat(1e7))"), LIMIT);
  expect(code).toBe(0);
  expect(stdout.length).toBeGreaterThanOrEqual(64 * 1024);
  expect(stdout.length).toBeLessThan(256 * 1024);
});

test("stdin is empty unless it is kept open", async () => {
  const readAll = node(
    "process.stdin.resume().on('end', () => process.exit(5)); setTimeout(() => {}, 60_000)",
  );
  expect((await runProgram(readAll, LIMIT)).code).toBe(5);
  const running = await startProgram(readAll, { stdin: "open" });
  expect(await running.stop()).toMatchObject({ signal: "SIGTERM" });
});

test.skipIf(process.platform !== "linux")("the time limit and the signal kill the whole group", async () => {
  const helper = shell("sleep 60 & echo $!; wait");
  const late = await runProgram(helper, { timeoutMs: 500 });
  expect(late.code).toBeNull();
  await expect.poll(() => isGone(Number(late.stdout))).toBe(true);
  const reason = new Error("stopped by the user");
  const stop = new AbortController();
  let pid = 0;
  const running = await startProgram(helper, {
    stdout: (chunk) => {
      pid = Number(chunk.toString());
      stop.abort(reason);
    },
  });
  await expect(running.wait({ signal: stop.signal })).rejects.toBe(reason);
  await expect.poll(() => isGone(pid)).toBe(true);
  await expect(runProgram(helper, { ...LIMIT, signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
});

test.skipIf(process.platform !== "linux")("background processes are killed, and reported", async () => {
  let said = "";
  const running = await startProgram(shell("sleep 60 & echo $!; exit 4"), {
    stdout: (chunk) => (said += chunk.toString()),
    background: "kill",
  });
  expect(await running.ended).toEqual({ code: 4, signal: null, killedOthers: true });
  await expect.poll(() => isGone(Number(said))).toBe(true);
  const alone = await startProgram(shell("exit 0"), { background: "kill" });
  expect(await alone.ended).toEqual({ code: 0, signal: null, killedOthers: false });
});

test("the resources of a sandbox are released once, whether it starts or not", async () => {
  const seen: string[] = [];
  const hooks = {
    spawned: (isStarted = true) => void seen.push(`spawned ${isStarted}`),
    ended: () => void seen.push("ended"),
  };
  await runProgram({ ...node(""), ...hooks }, LIMIT);
  expect(seen.splice(0)).toEqual(["spawned true", "ended"]);
  await expect(runProgram({ ...node(""), ...hooks, file: "/no/such" }, LIMIT)).rejects.toMatchObject({
    code: "SERVER_START_FAILED",
    message: 'cannot start "/no/such": no such program',
  });
  expect(seen).toEqual(["spawned false", "ended"]);
});

test.skipIf(process.platform !== "linux")(
  "a program ends with the process that runs it, a detached one does not",
  async () => {
    const folder = mkdtempSync(join(tmpdir(), "portolan-run-"));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    const mark = join(folder, "written");
    const run = await buildModule(new URL("run.ts", import.meta.url), join(folder, "built"));
    const owner = `
    const { startDetached, startProgram } = await import(${JSON.stringify(run)});
    const program = (script) => ({ file: "/bin/sh", args: ["-c", script], env: process.env });
    process.on("exit", () => void startDetached(program(${JSON.stringify(`sleep 0.2; echo late > ${mark}`)})));
    const { pid } = await startProgram(program("sleep 60"));
    console.log(pid);
    process.exit(0);`;
    const script = join(folder, "built", "owner.mjs");
    writeFileSync(script, owner);
    const { stdout, stderr } = await runProgram({ ...node(""), args: [script] }, LIMIT);
    expect(stderr).toBe("");
    await expect.poll(() => isGone(Number(stdout))).toBe(true);
    await expect.poll(() => readFileSync(mark, "utf8")).toBe("late\n");
  },
);

test("a detached program that does not exist is reported", async () => {
  expect(await startDetached({ file: "/no/such", args: [] })).toBe(false);
  expect(await startDetached({ file: process.execPath, args: ["--version"] })).toBe(true);
});
