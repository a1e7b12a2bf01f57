// Time budget for a synchronous function on this thread. It stops even a running regular expression.

import type { Script } from "node:vm";

export type Budgeted<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly reason: "budget" | "stack" };

/** Global name under which the script finds its function during one call. */
const SLOT = Symbol.for("portolan.schema.budget");
/** The compiled script, which is the same for all calls. */
let runner: Script | undefined;

/**
 * Only V8's own termination stops native code such as a running RegExp, and only `node:vm` offers it on the main thread.
 * One call costs about 0.1 ms, so callers use it only for work that is not known to be small.
 *
 * A stopped function does not run its `finally` blocks, so it must not need one.
 * Other errors of `work` are thrown unchanged.
 */
export function withinBudget<T>(ms: number, work: () => T): Budgeted<T> {
  const holder = globalThis as Record<symbol, unknown>;
  const outer = holder[SLOT];
  let done: { value: T } | undefined;
  holder[SLOT] = (): void => {
    done = { value: work() };
  };
  try {
    // The import is here so that importing this room loads no built-in module.
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
    // This also restores the slot of an inner call that was stopped before it could.
    if (outer === undefined) delete holder[SLOT];
    else holder[SLOT] = outer;
  }
}

/** Returns true for a RangeError: the stack is full, or a string or an argument list is too long. */
export function isStackOverflow(error: unknown): boolean {
  return error instanceof RangeError || (error instanceof Error && error.name === "RangeError");
}

function codeOf(error: unknown): unknown {
  return typeof error === "object" && error !== null && "code" in error ? error.code : undefined;
}
