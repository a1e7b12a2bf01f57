import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { describe, expect, onTestFinished, test } from "vitest";
import { childrenOf, stateOf } from "./proc.ts";
import { isOwnerAnywhereGone, isOwnerGone, ownerTag, ownerTagAnywhere } from "./orphans.ts";

const [, , namespace = ""] = ownerTag().split(".");
const machine = ownerTagAnywhere().split(".")[3] ?? "";

describe.skipIf(process.platform !== "linux")("isOwnerGone()", () => {
  test("returns true if the process has ended, or if another process has its id", async () => {
    const child = spawn("/bin/sleep", ["100"], { stdio: "ignore" });
    onTestFinished(() => void child.kill("SIGKILL"));
    await once(child, "spawn");
    const started = stateOf(child.pid ?? Number.NaN)?.started ?? "";
    const tag = `${child.pid}.${started}.${namespace}`;
    expect(isOwnerGone(tag)).toBe(false);
    expect(isOwnerGone(`${child.pid}.${Number(started) + 1}.${namespace}`)).toBe(true);
    child.kill("SIGKILL");
    await once(child, "exit");
    expect(isOwnerGone(tag)).toBe(true);
    expect(isOwnerGone(ownerTag())).toBe(false);
  });

  test("returns true for a zombie process", async () => {
    const parent = spawn("/bin/sh", ["-c", "sleep 100 & exec sleep 101"], { stdio: "ignore" });
    onTestFinished(() => void parent.kill("SIGKILL"));
    // The shell itself would collect the exit status.
    await expect.poll(() => readFileSync(`/proc/${parent.pid}/cmdline`, "latin1")).toBe("sleep\x00101\x00");
    const [pid = Number.NaN] = childrenOf(parent.pid ?? Number.NaN);
    process.kill(pid, "SIGKILL");
    await expect.poll(() => stateOf(pid)?.isDead).toBe(true);
    expect(isOwnerGone(`${pid}.${stateOf(pid)?.started}.${namespace}`)).toBe(true);
  });

  test("returns false for a tag of another machine or namespace, or of an unknown form", () => {
    const gone = `4194303.1.${namespace}`;
    expect(isOwnerAnywhereGone(`${gone}.${machine}`)).toBe(true);
    expect(isOwnerAnywhereGone(ownerTagAnywhere())).toBe(false);
    for (const tag of [
      `${gone}.${"0".repeat(32)}`,
      `4194303.1.1.${machine}`,
      ...[gone, `${gone}.0`, `${gone}.`, "", "x", `x.${machine}`, `${gone}.${machine}.1`],
    ])
      expect([tag, isOwnerAnywhereGone(tag)]).toEqual([tag, false]);
  });
});
