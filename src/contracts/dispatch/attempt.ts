// One driver's turn in a call, the part that leaves this program: arguments out, result in, within the time that the contract allows.

import { isPortolanError } from "../../errors/index.ts";
import { type DriverError, isObject, type JsonObject, type RetryRule } from "../../model/index.ts";
import { type Call, retryAfterMs, timerMs, type Upstream, within } from "../../upstream/index.ts";
import { auditOfCalls } from "./audit.ts";
import type { CallTime, CheckedCall, DispatchParts, ReadyTool } from "./contract-call.ts";
import { fail, Failure } from "./failure.ts";
import type { BoundTool, DriverHooks } from "../driver/bound-tool.ts";

/** Pauses grow no longer than this. */
const LONGEST_PAUSE_MS = 30_000;
const NO_ARGUMENTS: JsonObject = {};

export class Turn {
  readonly bound: BoundTool;
  readonly hooks: DriverHooks;
  retries = 0;
  /** The driver's server is waited for; nothing was sent yet. */
  isAcquiring = false;
  /** For whoever writes down how long it took. */
  started: number;
  /** When the driver was first asked for anything, by the clock of logins. */
  begun: number | undefined;
  readonly #one: CheckedCall;
  readonly #parts: DispatchParts;
  #upstream: Upstream | undefined;
  #args = NO_ARGUMENTS;
  #sentAt: number | undefined;
  #deadline = 0;
  #left = 0;

  constructor(one: CheckedCall, { bound, hooks }: ReadyTool, parts: DispatchParts) {
    this.bound = bound;
    this.hooks = hooks;
    this.#one = one;
    this.#parts = parts;
    this.started = auditOfCalls(parts.audit) === undefined ? 0 : performance.now();
  }

  get isReady(): boolean {
    return this.#sentAt !== undefined;
  }

  /** Starting has a limit of its own, which is the server's. Whoever leaves does not wait for it. Code that needs no server has none. */
  acquire(time: CallTime): Upstream | undefined | Promise<Upstream> {
    const { driver, contract } = this.bound;
    const { context, call } = this.#one;
    this.begun = this.#parts.auth.now();
    this.#parts.grants?.requireBind(driver, contract.id, context);
    if (this.hooks.execute?.[contract.id] !== undefined) return undefined;
    this.isAcquiring = true;
    const { signal } = call;
    const coming = this.#parts.acquire(this.bound, { context, tool: contract.id, signal, time });
    return signal === undefined || !(coming instanceof Promise)
      ? coming
      : within(coming, { server: driver.id, what: "starting", ms: 0, signal });
  }

  /** The contract's time begins when the server can be asked. */
  prepare(upstream: Upstream | undefined, { left }: CallTime): void {
    this.#upstream = upstream;
    this.isAcquiring = false;
    if (upstream !== undefined) this.#args = this.#arguments();
    this.#sentAt = performance.now();
    this.#left = Math.min(this.bound.timeoutMs, left);
    this.#deadline = this.#sentAt + this.#left;
  }

  send(): Promise<unknown> {
    if (this.retries > 0) this.#left = this.#deadline - performance.now();
    return this.#upstream === undefined ? this.#execute() : this.#upstream.request(this.#request());
  }

  outputOf(answer: unknown): unknown {
    const { binding, contract, driver, result: plan } = this.bound;
    if (this.#upstream === undefined) return plan.narrow(answer);
    const result = answer as JsonObject;
    if (this.hooks.parseToolResult === undefined) return plan.narrow(plan.extract(result));
    const { context } = this.#one;
    const { toolName } = binding;
    const parsed: unknown = this.hooks.parseToolResult({
      driver,
      context,
      tool: contract.id,
      toolName,
      result,
    });
    if (!isResult(parsed))
      throw fail(
        "internal",
        `parseToolResult of ${driver.id} gives neither { ok: true, value } nor an error.`,
      );
    if (!parsed.ok) throw new Failure(parsed.error);
    return plan.narrow(parsed.value);
  }

  /** How long to wait before it is sent again; undefined when it is not, and then `time` is less by what it took. */
  pauseBeforeNext(failure: Failure, time: CallTime): number | undefined {
    if (this.#sentAt === undefined) return undefined;
    const now = performance.now();
    const pause = pauseBefore(this.retries + 1, this.bound.retry, failure);
    const again = pause !== undefined && mayRepeat(failure, this.bound.contract.idempotent);
    if (again && this.#one.call.signal?.aborted !== true && now + pause < this.#deadline) {
      this.retries += 1;
      return pause;
    }
    time.left -= now - this.#sentAt;
    return undefined;
  }

  #arguments(): JsonObject {
    const { arguments: plan } = this.bound;
    const { input, context } = this.#one;
    const args = this.#built(plan.build(input, context.values));
    const problem = this.#parts.checkArguments?.(this.bound, args);
    if (problem !== undefined) throw fail("policy_violation", problem);
    return args;
  }

  /** What a driver's own code makes of them. */
  #built(mapped: JsonObject): JsonObject {
    if (this.hooks.buildArguments === undefined) return mapped;
    const { contract, driver, binding } = this.bound;
    const { input, context } = this.#one;
    const { toolName } = binding;
    const args: unknown =
      this.hooks.buildArguments({ driver, context, tool: contract.id, toolName, input, arguments: mapped }) ??
      mapped;
    if (isObject(args) && !(args instanceof Promise)) return args;
    throw fail(
      "internal",
      `buildArguments of ${driver.id} gives something that is not an object of arguments.`,
    );
  }

  #request(): Call {
    const ms = Math.max(1, Math.ceil(this.#left));
    const { caller, signal, timeoutMs, onProgress, onLog, ask } = this.#one.call;
    return {
      method: "tools/call",
      params: { name: this.bound.binding.toolName, arguments: this.#args },
      caller,
      signal,
      timeoutMs: Math.min(ms, timeoutMs || ms),
      maxTimeoutMs: ms,
      // Only what the contract's retry rule allows is sent again, and every time is counted.
      repeats: false,
      onProgress,
      onLog,
      onServerRequest: ask,
    };
  }

  async #execute(): Promise<unknown> {
    const { driver, contract, timeoutMs } = this.bound;
    const { input, context, call } = this.#one;
    const late = AbortSignal.timeout(Math.ceil(timerMs(this.#left)));
    const signal = call.signal === undefined ? late : AbortSignal.any([call.signal, late]);
    const ended = new Promise<never>((_, reject) => {
      signal.addEventListener("abort", () =>
        reject(
          call.signal?.aborted === true
            ? fail("cancelled", `${contract.id} was cancelled`)
            : fail("timeout", `${contract.id} took longer than ${timeoutMs} ms`, { retryable: true }),
        ),
      );
    });
    ended.catch(() => {});
    return Promise.race([this.hooks.execute?.[contract.id]?.({ driver, context, input, signal }), ended]);
  }
}

/** Code beside a driver is not always typed. */
function isResult(given: unknown): given is { ok: true; value: unknown } | { ok: false; error: DriverError } {
  if (!isObject(given)) return false;
  if (given.ok === true) return true;
  const { ok, error } = given;
  return (
    ok === false && isObject(error) && typeof error.code === "string" && typeof error.message === "string"
  );
}

/** Nothing that may have run is run again, unless the contract says that this does no harm. */
function mayRepeat({ error, neverSent }: Failure, idempotent: boolean): boolean {
  return error.retryable === true && (idempotent || neverSent);
}

/** How long to wait before the next attempt, at least as long as the server asks for; undefined when there is none left. */
function pauseBefore(
  retry: number,
  rule: RetryRule | undefined,
  { error: { cause } }: Failure,
): number | undefined {
  if (rule === undefined || retry >= rule.maxAttempts) return undefined;
  const ms = rule.backoff === "fixed" ? rule.initialMs : rule.initialMs * 2 ** (retry - 1);
  const wanted = isPortolanError(cause) ? retryAfterMs(asText(cause.data.retryAfter)) : undefined;
  return Math.max(Math.min(ms, LONGEST_PAUSE_MS), wanted ?? 0);
}

function asText(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}
