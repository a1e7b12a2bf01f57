// Real sandboxes that get SIGTERM: before their server starts, after it ends, and when it has left its process group.

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

/** Ignores its stdin, and writes a file into the folder when it gets SIGTERM. */
const SAVING = `
  const { writeFileSync } = require("node:fs");
  const [folder] = process.argv.slice(-1);
  process.on("SIGTERM", () => { writeFileSync(folder + "/saved", "all of it"); process.exit(7); });
  setTimeout(() => {}, 60_000);
  writeFileSync(folder + "/up", "");`;

async function sandboxed(command: string, args: readonly string[], folder: string): Promise<Spawnable> {
  // Node may be in any folder, so the sandbox gets read access to it.
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

    test("ends with the exit code of its server after SIGTERM", async () => {
      const folder = scratch();
      const child = await ChildGroup.start(await sandboxed(process.execPath, ["-e", SAVING], folder), "s");
      await isUp(folder);
      await child.stop();
      expect(await child.exited).toEqual({ code: 7, signal: null });
      expect(saved(folder)).toBe("all of it");
    });

    test("passes SIGTERM to a server that has left its process group", async () => {
      const folder = scratch();
      const spawnable = await sandboxed("setsid", [process.execPath, "-e", SAVING], folder);
      const child = await ChildGroup.start(spawnable, "s");
      await isUp(folder);
      await child.stop();
      expect(await child.exited).toEqual({ code: 7, signal: null });
      expect(saved(folder)).toBe("all of it");
    });

    test("passes SIGTERM to a command that is attached to the terminal", async () => {
      const folder = scratch();
      const spawnable = await sandboxed(process.execPath, ["-e", SAVING], folder);
      const stop = new AbortController();
      const code = runAttached(spawnable, { timeoutMs: 60_000, signal: stop.signal });
      await isUp(folder);
      stop.abort();
      expect(await code).toBe(7);
      expect(saved(folder)).toBe("all of it");
    });

    test("gets no signal before its server starts or after it ends, and no other process gets one", async () => {
      const folder = scratch();
      // This process never starts a server.
      const early = spawn("/bin/sleep", ["100"], { stdio: "ignore", detached: true });
      onTestFinished(() => void early.kill("SIGKILL"));
      await once(early, "spawn");
      for (const inside of ["server", "relay", "relay and sandbox"] as const)
        expect(terminateServer(early, inside)).toBe(false);
      expect(stateOf(early.pid ?? Number.NaN)?.isDead).toBe(false);
      early.kill("SIGKILL");
      await once(early, "exit");
      expect(terminateServer(early, "server")).toBe(false);
      // The process id of an ended process may belong to another process now, here to this test.
      const running = await ChildGroup.start(await sandboxed(process.execPath, ["-e", SAVING], folder), "s");
      await isUp(folder);
      expect(terminateServer({ pid: process.pid, exitCode: 0, signalCode: null }, "server")).toBe(false);
      expect(existsSync(join(folder, "saved"))).toBe(false);
      running.signal("SIGKILL");
      await running.exited;
    });

    test("ends if the signal arrives while the sandbox is being created", async () => {
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
