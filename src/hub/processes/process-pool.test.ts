import { expect, test } from "vitest";
import type { Upstream } from "../../upstream/index.ts";
import { type ProcessListener, ProcessPool } from "./process-pool.ts";

const listener: ProcessListener = { stderr: () => {}, launch: () => {} };

/** A start that never completes, and rejects when it is aborted. */
function endless(signal: AbortSignal): Promise<Upstream> {
  return new Promise((_resolve, reject) => {
    signal.addEventListener("abort", () => reject(new Error("given up")), { once: true });
  });
}

test("the start of a process is aborted when its last user aborts", async () => {
  const pool = new ProcessPool();
  const [first, second] = [new AbortController(), new AbortController()];
  const waiting = [first, second].map(({ signal }) => pool.acquire("same", "one", endless, signal, listener));
  const outcomes = Promise.allSettled(waiting);
  first.abort();
  second.abort();
  expect((await outcomes).map(({ status }) => status)).toEqual(["rejected", "rejected"]);
});

test("an aborted request starts no process", async () => {
  let opened = 0;
  const open = (signal: AbortSignal): Promise<Upstream> => {
    opened += 1;
    return endless(signal);
  };
  const left = AbortSignal.abort(new Error("it left"));
  await expect(new ProcessPool().acquire("late", "one", open, left, listener)).rejects.toThrow("it left");
  expect(opened).toBe(0);
});
