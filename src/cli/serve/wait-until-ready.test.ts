// The wait for a gateway in the background that is never ready, with real processes.

import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { startBackground } from "../../process/index.ts";
import { waitUntilReady } from "./wait-until-ready.ts";

async function waitForBlocked(signal: AbortSignal, readyMs: number) {
  const folder = mkdtempSync(join(tmpdir(), "portolan-ready-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const log = join(folder, "gateway.log");
  const output = openSync(log, "a");
  // Like a gateway in a system call that does not return, this program never handles SIGTERM.
  const script = `process.on("SIGTERM", () => {}); require("fs").writeSync(1, "opening the audit log\\n"); for (;;);`;
  const started = await startBackground(
    { file: process.execPath, args: ["-e", script], env: {}, cwd: folder },
    output,
  );
  closeSync(output);
  onTestFinished(() => void started.stop(0));
  await vi.waitFor(() => expect(readFileSync(log, "utf8")).not.toBe(""), 60_000);
  const notes: string[] = [];
  const cli = {
    io: { stderr: { isTTY: false }, env: {}, cwd: folder, findGateways: async () => ({ gateways: [] }) },
    interrupt: { signal },
    output: { note: (text: string) => notes.push(text), around: () => {}, noteColors: {} },
  } as never;
  const times = { readyMs, graceMs: 200, noteMs: 100 };
  const failure = await waitUntilReady(cli, folder, started, { log, logStart: 0 }, times).catch(
    (error: unknown) => error,
  );
  expect(() => process.kill(started.pid, 0)).toThrow("ESRCH");
  return { failure, notes };
}

test("a gateway that is not ready and ignores SIGTERM is killed; meanwhile notes show its last message", async () => {
  const { failure, notes } = await waitForBlocked(new AbortController().signal, 500);
  expect(failure).toMatchObject({
    code: "TIMEOUT",
    message: "The gateway was not ready after 0.5 seconds, and was stopped.",
  });
  expect(notes[0]).toMatch(
    /^Please wait: the gateway is not ready after .*; its last message: opening the audit log$/,
  );
});

test("an interrupted command leaves no gateway that ignores SIGTERM", async () => {
  const reason = new Error("interrupted");
  expect((await waitForBlocked(AbortSignal.abort(reason), 60_000)).failure).toBe(reason);
});
