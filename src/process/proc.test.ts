import { spawn } from "node:child_process";
import { once } from "node:events";
import { copyFileSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { childrenOf, processes, stateOf } from "./proc.ts";

/** A process with two children, whose exit status it never collects. It has its own group, which the test ends. */
async function parent(): Promise<number> {
  const child = spawn("/bin/sh", ["-c", "sleep 100 & sleep 100 & exec sleep 101"], {
    ...{ stdio: "ignore", detached: true },
  });
  const pid = child.pid ?? Number.NaN;
  onTestFinished(() => {
    process.kill(-pid, "SIGKILL");
  });
  // The shell itself would collect the exit status.
  await expect.poll(() => readFileSync(`/proc/${pid}/cmdline`, "latin1")).toBe("sleep\x00101\x00");
  return pid;
}

describe.skipIf(process.platform !== "linux")("processes", () => {
  test("have a parent, a group and a start time, also with an unusual name", async () => {
    const folder = mkdtempSync(join(tmpdir(), "portolan-family-"));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    const odd = join(folder, "a) Z 1 (b");
    copyFileSync("/bin/sleep", odd);
    const child = spawn(odd, ["100"], { stdio: "ignore", detached: true });
    onTestFinished(() => void child.kill("SIGKILL"));
    await once(child, "spawn");
    const pid = child.pid ?? Number.NaN;
    expect(stateOf(pid)).toEqual({
      ...{ parent: process.pid, group: pid, started: expect.stringMatching(/^\d+$/) as string },
      isDead: false,
      memoryBytes: expect.any(Number) as number,
      memory: "readable",
    });
    expect(Number(stateOf(pid)?.started)).toBeGreaterThanOrEqual(Number(stateOf(process.pid)?.started));
    expect(processes()).toContain(pid);
  });

  test("have children, and only running children are listed", async () => {
    const pid = await parent();
    const children = childrenOf(pid);
    expect(children).toHaveLength(2);
    const [first = Number.NaN, second] = children;
    expect(childrenOf(first)).toEqual([]);
    expect(childrenOf(process.pid)).toContain(pid);
    process.kill(first, "SIGKILL");
    await expect.poll(() => stateOf(first)?.isDead).toBe(true);
    expect(childrenOf(pid)).toEqual([second]);
  });

  test("that have ended have no state and no children", async () => {
    const child = spawn("/bin/true", { stdio: "ignore" });
    await once(child, "exit");
    expect(stateOf(child.pid ?? Number.NaN)).toBeUndefined();
    expect(childrenOf(child.pid ?? Number.NaN)).toEqual([]);
  });
});
