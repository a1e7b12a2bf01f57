// Processes that a server left behind outside of its group end with it, and no others do.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { describe, expect, onTestFinished, test } from "vitest";
import { ChildGroup } from "./child-group.ts";
import { childEnvironment } from "./environment.ts";
import { environmentOf, processes, stateOf } from "./proc.ts";
import { CHILD_VARIABLE, endLeftovers, endLeftoversNow, newMark } from "./leftovers.ts";
import { needs } from "../../test/helpers/needs.ts";

/** A process that only SIGKILL ends, in its own session, whose parent has exited. */
const DAEMON = `trap "" TERM HUP INT; setsid sh -c 'trap "" TERM HUP INT; echo $$; exec sleep 100' </dev/null`;

/** A server that may have left processes of any id behind. */
const ANY = { pid: 0, livedMs: 0 };

function isThere(pid: number): boolean {
  return stateOf(pid)?.isDead === false;
}

async function sleeper(env: Record<string, string>): Promise<number> {
  const child = spawn("/bin/sleep", ["100"], { stdio: "ignore", detached: true, env });
  onTestFinished(() => void child.kill("SIGKILL"));
  await once(child, "spawn");
  return child.pid ?? Number.NaN;
}

async function start(script: string): Promise<{ group: ChildGroup; pid: number }> {
  const group = await ChildGroup.start(
    {
      ...{ file: "/bin/sh", args: ["-c", script], env: childEnvironment({ WHO: "test" }) },
      ...{ cwd: undefined, fds: [], spawned: () => {}, ended: () => {} },
    },
    "s",
  );
  onTestFinished(() => group.stop());
  const [line] = (await once(group.stdout, "data")) as [Buffer];
  return { group, pid: Number(line.toString()) };
}

describe.skipIf(process.platform !== "linux")("a process that a server leaves behind", () => {
  test("ends when the server is stopped", needs("setsid"), async () => {
    const { group, pid } = await start(`${DAEMON} & cat`);
    expect(isThere(pid)).toBe(true);
    await group.stop();
    expect(isThere(pid)).toBe(false);
  });

  test("ends after the server exits by itself", needs("setsid"), async () => {
    const { group, pid } = await start(`${DAEMON} & read line; exit 3`);
    expect(isThere(pid)).toBe(true);
    group.stdin.write("\n");
    expect(await group.exited).toEqual({ code: 3, signal: null });
    await group.stop();
    expect(isThere(pid)).toBe(false);
  });

  test("is searched for among newer processes, or among all after a long run of the server", async () => {
    const [mark, old] = [newMark(), newMark()];
    const before = await sleeper({ [CHILD_VARIABLE]: mark });
    const server = await sleeper({});
    const after = await sleeper({ [CHILD_VARIABLE]: mark });
    await endLeftovers(mark, { pid: server, livedMs: 1_000 });
    expect([before, after].map(isThere)).toEqual([true, false]);
    const other = await sleeper({ [CHILD_VARIABLE]: old });
    await endLeftovers(mark, { pid: server, livedMs: 3_600_000 });
    // A restart of the process ids is detected: the server has a larger id than the newest process.
    await endLeftovers(old, { pid: Number.MAX_SAFE_INTEGER, livedMs: 1_000 });
    expect([before, other].map(isThere)).toEqual([false, false]);
  });

  test("of another server keeps running, and so does a process with a similar environment", async () => {
    const [mine, other] = [newMark(), newMark()];
    const wanted = await sleeper({ A: "1", [CHILD_VARIABLE]: mine });
    const others = await Promise.all([
      sleeper({ [CHILD_VARIABLE]: other }),
      sleeper({ [`X${CHILD_VARIABLE}`]: mine }),
      sleeper({ [CHILD_VARIABLE]: `${mine}0` }),
      sleeper({ A: `${CHILD_VARIABLE}=${mine}` }),
    ]);
    await endLeftovers(mine, ANY);
    await expect.poll(() => isThere(wanted)).toBe(false);
    expect(others.map(isThere)).toEqual([true, true, true, true]);
    endLeftoversNow(new Set([other]));
    await expect.poll(() => isThere(others[0])).toBe(false);
    expect(others.slice(1).map(isThere)).toEqual([true, true, true]);
  });

  test("is searched for once if many servers end together", async () => {
    const marks = Array.from({ length: 50 }, newMark);
    const pids = await Promise.all(marks.map((mark) => sleeper({ [CHILD_VARIABLE]: mark })));
    const looks = marks.map((mark) => endLeftovers(mark, ANY));
    expect(new Set(looks).size).toBe(1);
    await Promise.all(looks);
    await expect.poll(() => pids.some(isThere)).toBe(false);
  });
});

test.skipIf(process.platform !== "linux")("environmentOf() reads an environment of any length", async () => {
  const pid = await sleeper({ LONG: "x".repeat(100_000), LAST: "y" });
  await expect.poll(() => environmentOf(pid).endsWith("\0LAST=y\0")).toBe(true);
  expect(environmentOf(pid)).toHaveLength("LONG=".length + 100_000 + "\0LAST=y\0".length);
  expect(environmentOf(4_194_303)).toBe("");
  expect(processes()).toContain(pid);
});
