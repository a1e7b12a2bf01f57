// Runs a synchronous function on this thread and stops it when its time is up, also in the middle of a regular expression.

import type { Script } from "node:vm";

export type Budgeted<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly reason: "budget" | "stack" };

/** The script finds its work here; the name is taken for the length of one call and then given back. */
const SLOT = Symbol.for("portolan.schema.budget");
let runner: Script | undefined;

/**
 * Only V8's own termination stops native code such as a running RegExp, and `node:vm` is the one door to it on the main thread.
 * It costs about 0.1 ms, so callers keep it for work that is not known to be small.
 *
 * A stopped function does not run its `finally` blocks: it must not hold anything that needs one.
 * Other errors of `work` are thrown as they are.
 */
export function withinBudget<T>(ms: number, work: () => T): Budgeted<T> {
  const holder = globalThis as Record<symbol, unknown>;
  const outer = holder[SLOT];
  let done: { value: T } | undefined;
  holder[SLOT] = (): void => {
    done = { value: work() };
  };
  try {
    // Loaded here, so that importing this room costs no built-in module.
    runner ??= new (process.getBuiltinModule("node:vm").Script)(
      "globalThis[Symbol.for('portolan.schema.budget')]()",
    );
    runner.runInThisContext({ timeout: Math.max(1, Math.ceil(ms)), displayErrors: false });
    return done === undefined ? { ok: false, reason: "budget" } : { ok: true, value: done.value };
  } catch (error) {
    if (codeOf(error) === "ERR_SCRIPT_EXECUTION_TIMEOUT") return { ok: false, reason: "budget" };
    if (isStackOverflow(error)) return { ok: false, reason: "stack" };
    throw error;
  } finally {
    // Also right when an inner call was cut off by this one and could not put its own slot back.
    if (outer === undefined) delete holder[SLOT];
    else holder[SLOT] = outer;
  }
}

/** A RangeError of any kind: the stack is full, or a string or an argument list became too long. */
export function isStackOverflow(error: unknown): boolean {
  return error instanceof RangeError || (error instanceof Error && error.name === "RangeError");
}

function codeOf(error: unknown): unknown {
  return typeof error === "object" && error !== null && "code" in error ? error.code : undefined;
}
