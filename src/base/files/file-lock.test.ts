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

describe("withFileLock", () => {
  test("gives the lock to one owner at a time, writes the pid, and leaves no lock file behind", async () => {
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

  test("renews a long-held lock, so that other machines do not take it over", async () => {
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

  test("releases the lock if the work fails", async () => {
    await expect(withFileLock(file, async () => Promise.reject(new Error("work")))).rejects.toThrow("work");
    expect(await readdir(folder)).toEqual([]);
  });

  test("waits for the lock of a running process, then fails with an error that names its pid", async () => {
    await writeLock({});
    const started = performance.now();
    await expect(withFileLock(file, async () => "wrong", { waitMs: 150 })).rejects.toMatchObject({
      code: "LOCK_HELD",
      message: expect.stringContaining(`process ${process.pid} holds`) as string,
    });
    expect(performance.now() - started).toBeGreaterThanOrEqual(150);
    expect(await readdir(folder)).toEqual(["thing.lock"]);
  });

  test("stops waiting after an abort", async () => {
    await writeLock({});
    const abort = new AbortController();
    const waiting = withFileLock(file, async () => "wrong", { signal: abort.signal });
    abort.abort(new Error("enough"));
    await expect(waiting).rejects.toThrow();
    expect(await readdir(folder)).toEqual(["thing.lock"]);
  });
});

describe("withFileLock with a stale lock", () => {
  test("takes over the lock of a dead process, one waiter at a time", async () => {
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
    "takes over a lock if another process now has the pid",
    async () => {
      await writeLock({ started: "1" });
      expect(await withFileLock(file, async () => "mine", { waitMs: 1_000 })).toBe("mine");
      await writeLock({ boot: "another boot" });
      expect(await withFileLock(file, async () => "mine", { waitMs: 1_000 })).toBe("mine");
    },
  );

  test("takes over a lock whose previous takeover crashed", async () => {
    const pid = await deadPid();
    await writeLock({ pid, token: "first" });
    const claim = { ...(await describeThisProcess()), pid, token: "second" };
    await writeFile(`${lockFile()}.first.claim`, JSON.stringify(claim));
    expect(await withFileLock(file, async () => "mine")).toBe("mine");
    expect(await readdir(folder)).toEqual([]);
  });

  test.each([
    ["another machine", { host: "elsewhere" }],
    ["another container", { namespace: "pid:[1]" }],
    ["an owner that cannot be parsed", undefined],
  ])("respects the lock of %s for one minute", async (_, owner) => {
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

test('stateOf returns "alive" for a running process and "dead" for an ended one', async () => {
  const me = await describeThisProcess();
  expect(await stateOf(me)).toBe("alive");
  expect(await stateOf({ ...me, pid: await deadPid() })).toBe("dead");
});
