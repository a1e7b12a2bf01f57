// Real sandboxes that are asked to end: when there is nobody in them yet or no more, and when the server has gone its own way.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { needs } from "../helpers/needs.ts";
import { BACKENDS, type TestedBackend } from "../helpers/sandbox.ts";
import { ChildGroup, runAttached, type Spawnable, stateOf } from "../../src/process/index.ts";
import { terminateServer } from "../../src/sandbox/linux/terminate.ts";
import { prepare } from "../../src/launch/prepare.ts";

/** The backend that the tests are about. */
let backend: TestedBackend = "bubblewrap";

function scratch(): string {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "portolan-ask-")));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** Takes no notice of its input, and writes what it has saved into the folder when it is asked. */
const SAVING = `
  const { writeFileSync } = require("node:fs");
  const [folder] = process.argv.slice(-1);
  process.on("SIGTERM", () => { writeFileSync(folder + "/saved", "all of it"); process.exit(7); });
  setTimeout(() => {}, 60_000);
  writeFileSync(folder + "/up", "");`;

async function sandboxed(command: string, args: readonly string[], folder: string): Promise<Spawnable> {
  // The runtime of these tests may stand anywhere, also behind the program that is started.
  const sandbox = { mode: "enforce", backend, fs: { read: [process.execPath], write: [folder] } } as const;
  const endpoint = { command, args: [...args, folder] };
  return (await prepare({ server: "s", endpoint, settings: { sandbox } })).spawnable;
}

const isUp = (folder: string): Promise<void> =>
  expect.poll(() => existsSync(join(folder, "up")), { timeout: 10_000 }).toBe(true);
const saved = (folder: string): string => readFileSync(join(folder, "saved"), "utf8");

for (const name of BACKENDS)
  describe(`a sandbox of ${name}`, needs(name), () => {
    beforeAll(() => {
      backend = name;
    });

    test("ends as its server does that was asked", async () => {
      const folder = scratch();
      const child = await ChildGroup.start(await sandboxed(process.execPath, ["-e", SAVING], folder), "s");
      await isUp(folder);
      await child.stop();
      expect(await child.exited).toEqual({ code: 7, signal: null });
      expect(saved(folder)).toBe("all of it");
    });

    test("is asked also when its server has left the group that it was started in", async () => {
      const folder = scratch();
      const spawnable = await sandboxed("setsid", [process.execPath, "-e", SAVING], folder);
      const child = await ChildGroup.start(spawnable, "s");
      await isUp(folder);
      await child.stop();
      expect(await child.exited).toEqual({ code: 7, signal: null });
      expect(saved(folder)).toBe("all of it");
    });

    test("around a command on the terminal is asked as well", async () => {
      const folder = scratch();
      const spawnable = await sandboxed(process.execPath, ["-e", SAVING], folder);
      const stop = new AbortController();
      const code = runAttached(spawnable, { timeoutMs: 60_000, signal: stop.signal });
      await isUp(folder);
      stop.abort();
      expect(await code).toBe(7);
      expect(saved(folder)).toBe("all of it");
    });

    test("that ends before its server has begun, or has ended, is not asked, and nobody else is", async () => {
      const folder = scratch();
      // Nothing is inside of it yet, and never will be.
      const early = spawn("/bin/sleep", ["100"], { stdio: "ignore", detached: true });
      onTestFinished(() => void early.kill("SIGKILL"));
      await once(early, "spawn");
      for (const inside of ["server", "relay", "relay and sandbox"] as const)
        expect(terminateServer(early, inside)).toBe(false);
      expect(stateOf(early.pid ?? Number.NaN)?.isDead).toBe(false);
      early.kill("SIGKILL");
      await once(early, "exit");
      expect(terminateServer(early, "server")).toBe(false);
      // The number of one that has ended may be another's by now, such as this one's.
      const running = await ChildGroup.start(await sandboxed(process.execPath, ["-e", SAVING], folder), "s");
      await isUp(folder);
      expect(terminateServer({ pid: process.pid, exitCode: 0, signalCode: null }, "server")).toBe(false);
      expect(existsSync(join(folder, "saved"))).toBe(false);
      running.signal("SIGKILL");
      await running.exited;
    });

    test("that is asked while it is made ends, whatever has begun in it", async () => {
      const folder = scratch();
      const spawnable = await sandboxed(process.execPath, ["-e", "process.exit(0)"], folder);
      const { file, args, env, fds } = spawnable;
      const child = spawn(file, args, { env, cwd: "/", stdio: ["ignore", "ignore", "ignore", ...fds] });
      spawnable.spawned();
      const ended = once(child, "exit");
      while (child.exitCode === null && child.signalCode === null) {
        spawnable.terminate?.(child);
        await new Promise((resolve) => setImmediate(resolve));
      }
      await ended;
      spawnable.ended();
      expect(spawnable.terminate?.(child)).toBe(false);
    });
  });
