import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readdir, readFile, rm, stat, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { withFileLock } from "./file-lock.ts";
import { describeThisProcess, type ProcessIdentity, stateOf } from "./process-identity.ts";

let folder: string;
let file: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "portolan-lock-"));
  file = join(folder, "thing");
});
afterEach(() => rm(folder, { recursive: true }));

const lockFile = (): string => `${file}.lock`;

async function writeLock(owner: Partial<ProcessIdentity> & { token?: string }): Promise<void> {
  await writeFile(
    lockFile(),
    JSON.stringify({ ...(await describeThisProcess()), token: "someone", ...owner }),
  );
}

/** The pid of a process that has ended. */
async function deadPid(): Promise<number> {
  const child = spawn(process.execPath, ["-e", ""]);
  await once(child, "exit");
  return child.pid as number;
}

describe("the lock", () => {
  test("is held by one at a time, names its owner, and leaves nothing", async () => {
    let inside = 0;
    let most = 0;
    await Promise.all(
      Array.from({ length: 20 }, () =>
        withFileLock(file, async () => {
          inside += 1;
          most = Math.max(most, inside);
          expect(JSON.parse(await readFile(lockFile(), "utf8"))).toMatchObject({ pid: process.pid });
          inside -= 1;
        }),
      ),
    );
    expect(most).toBe(1);
    expect(await readdir(folder)).toEqual([]);
  });

  test("that is held for long is renewed, so that other machines do not take it over", async () => {
    vi.useFakeTimers({ toFake: ["setInterval"] });
    onTestFinished(() => void vi.useRealTimers());
    const age = async (): Promise<number> => Date.now() - (await stat(lockFile())).mtimeMs;
    const old = new Date(Date.now() - 59_000);
    await withFileLock(file, async () => {
      await utimes(lockFile(), old, old);
      vi.advanceTimersByTime(20_000);
      await expect.poll(age).toBeLessThan(30_000);
      // A lock that another owner has taken over is left alone.
      await writeLock({ token: "another" });
      await utimes(lockFile(), old, old);
      vi.advanceTimersByTime(20_000);
      await new Promise((resolve) => setTimeout(resolve, 50));
      expect(await age()).toBeGreaterThan(30_000);
    });
  });

  test("is given back when the work fails", async () => {
    await expect(withFileLock(file, async () => Promise.reject(new Error("work")))).rejects.toThrow("work");
    expect(await readdir(folder)).toEqual([]);
  });

  test("of a living process is waited for, then the waiting ends with its pid", async () => {
    await writeLock({});
    const started = performance.now();
    await expect(withFileLock(file, async () => "wrong", { waitMs: 150 })).rejects.toMatchObject({
      code: "LOCK_HELD",
      message: expect.stringContaining(`process ${process.pid} holds`) as string,
    });
    expect(performance.now() - started).toBeGreaterThanOrEqual(150);
    expect(await readdir(folder)).toEqual(["thing.lock"]);
  });

  test("is not waited for after an abort", async () => {
    await writeLock({});
    const abort = new AbortController();
    const waiting = withFileLock(file, async () => "wrong", { signal: abort.signal });
    abort.abort(new Error("enough"));
    await expect(waiting).rejects.toThrow();
    expect(await readdir(folder)).toEqual(["thing.lock"]);
  });
});

describe("a lock that was left behind", () => {
  test("by a dead process is taken over, by one of many", async () => {
    await writeLock({ pid: await deadPid() });
    let inside = 0;
    const done = await Promise.all(
      Array.from({ length: 10 }, (_, index) =>
        withFileLock(file, async () => {
          inside += 1;
          expect(inside).toBe(1);
          await new Promise((resolve) => setImmediate(resolve));
          inside -= 1;
          return index;
        }),
      ),
    );
    expect(done).toHaveLength(10);
    expect(await readdir(folder)).toEqual([]);
  });

  test.runIf(process.platform === "linux")(
    "by a process whose pid was given out again is taken over",
    async () => {
      await writeLock({ started: "1" });
      expect(await withFileLock(file, async () => "mine", { waitMs: 1_000 })).toBe("mine");
      await writeLock({ boot: "another boot" });
      expect(await withFileLock(file, async () => "mine", { waitMs: 1_000 })).toBe("mine");
    },
  );

  test("by one who crashed while taking over another's is taken over too", async () => {
    const pid = await deadPid();
    await writeLock({ pid, token: "first" });
    const claim = { ...(await describeThisProcess()), pid, token: "second" };
    await writeFile(`${lockFile()}.first.claim`, JSON.stringify(claim));
    expect(await withFileLock(file, async () => "mine")).toBe("mine");
    expect(await readdir(folder)).toEqual([]);
  });

  test.each([
    ["by another machine", { host: "elsewhere" }],
    ["by another container", { namespace: "pid:[1]" }],
    ["by nobody who can be read", undefined],
  ])("%s is respected for a minute", async (_, owner) => {
    if (owner === undefined) await writeFile(lockFile(), "{");
    else await writeLock(owner);
    await expect(withFileLock(file, async () => "wrong", { waitMs: 50 })).rejects.toMatchObject({
      code: "LOCK_HELD",
    });
    const before = new Date(Date.now() - 61_000);
    await utimes(lockFile(), before, before);
    expect(await withFileLock(file, async () => "mine")).toBe("mine");
    expect(await readdir(folder)).toEqual([]);
  });
});

test("a process is alive until it ends, also before anyone has asked how it ended", async () => {
  const me = await describeThisProcess();
  expect(await stateOf(me)).toBe("alive");
  expect(await stateOf({ ...me, pid: await deadPid() })).toBe("dead");
});
