import { expect, test } from "vitest";
import type { Upstream } from "../../upstream/index.ts";
import { type ProcessListener, ProcessPool } from "./process-pool.ts";

const heard: ProcessListener = { stderr: () => {}, launch: () => {} };

/** Never comes up, and says when it is given up. */
function endless(signal: AbortSignal): Promise<Upstream> {
  return new Promise((_resolve, reject) => {
    signal.addEventListener("abort", () => reject(new Error("given up")), { once: true });
  });
}

test("a start that nobody waits for any more is given up", async () => {
  const pool = new ProcessPool();
  const [first, second] = [new AbortController(), new AbortController()];
  const waiting = [first, second].map(({ signal }) => pool.acquire("same", endless, signal, heard));
  const outcomes = Promise.allSettled(waiting);
  first.abort();
  second.abort();
  expect((await outcomes).map(({ status }) => status)).toEqual(["rejected", "rejected"]);
});

test("so is one of somebody who left before it began", async () => {
  await expect(new ProcessPool().acquire("late", endless, AbortSignal.abort(), heard)).rejects.toThrow(
    "given up",
  );
});
