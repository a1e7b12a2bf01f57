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

test("a start is aborted when its last user has left", async () => {
  const pool = new ProcessPool();
  const [first, second] = [new AbortController(), new AbortController()];
  const waiting = [first, second].map(({ signal }) => pool.acquire("same", "one", endless, signal, heard));
  const outcomes = Promise.allSettled(waiting);
  first.abort();
  second.abort();
  expect((await outcomes).map(({ status }) => status)).toEqual(["rejected", "rejected"]);
});

test("a start is aborted when its user left before it began", async () => {
  await expect(new ProcessPool().acquire("late", "one", endless, AbortSignal.abort(), heard)).rejects.toThrow(
    "given up",
  );
});
