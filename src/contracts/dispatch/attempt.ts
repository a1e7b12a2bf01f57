// One attempt of a call by one driver: acquires the server, sends the arguments, and repeats within the contract's limits.

import { backoffMs, retryAfterMs } from "../../base/time/retry.ts";
import { isPortolanError } from "../../errors/index.ts";
import { type DriverError, isObject, type JsonObject, type RetryRule } from "../../model/index.ts";
import { type Call, timerMs, type Upstream, within } from "../../upstream/index.ts";
import { auditOfCalls } from "./audit.ts";
import type { CallTime, CheckedCall, DispatchParts, ReadyTool } from "./contract-call.ts";
import { fail, Failure, hookFailed } from "./failure.ts";
import type { BoundTool, DriverHooks } from "../driver/bound-tool.ts";

const MAX_PAUSE_MS = 30_000;
const NO_ARGUMENTS: JsonObject = {};

export class Attempt {
  readonly bound: BoundTool;
  readonly hooks: DriverHooks;
  retries = 0;
  /** The call waits for the server; nothing was sent yet. */
  isAcquiring = false;
  /** When the attempt began, for the audit. */
  started: number;
  /** When the server was requested, by the clock of logins; 0 for a driver without a login. */
  begun: number | undefined;
  readonly #checked: CheckedCall;
  readonly #parts: DispatchParts;
  #upstream: Upstream | undefined;
  #args = NO_ARGUMENTS;
  #sentAt: number | undefined;
  #deadline = 0;
  #left = 0;

  constructor(checked: CheckedCall, { bound, hooks }: ReadyTool, parts: DispatchParts) {
    this.bound = bound;
    this.hooks = hooks;
    this.#checked = checked;
    this.#parts = parts;
    checked.call.observation?.servedBy(bound.driver.id);
    this.started = auditOfCalls(parts.audit) === undefined ? 0 : performance.now();
  }

  get isReady(): boolean {
    return this.#sentAt !== undefined;
  }

  /** A start has the time limit of the server. A cancelled call does not wait for it. Undefined when code serves the contract. */
  acquire(time: CallTime): Upstream | undefined | Promise<Upstream> {
    const { driver, contract } = this.bound;
    const { context, call } = this.#checked;
    const { auth } = this.#parts;
    this.begun = auth.needsLogin(driver, this.hooks) ? auth.now() : 0;
    this.#parts.grants?.requireBind(driver, contract.id, context);
    if (this.hooks.execute?.[contract.id] !== undefined) return undefined;
    this.isAcquiring = true;
    const { signal } = call;
    const coming = this.#parts.acquire(this.bound, { context, tool: contract.id, signal, time });
    return signal === undefined || !(coming instanceof Promise)
      ? coming
      : within(coming, { server: driver.id, what: "starting", ms: 0, signal });
  }

  /** The time limit of the contract begins when the server is ready. */
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
    const refusal = this.#checked.call.charge?.(this.bound.cost.unitsPerCall);
    if (refusal !== undefined) {
      const { message, retryAfterMs } = refusal;
      // Not retryable: the retry rule of the contract must not repeat the call now.
      throw new Failure({ code: "policy_violation", message, retryable: false, retryAfterMs }, true);
    }
    return this.#upstream === undefined ? this.#execute() : this.#upstream.request(this.#request());
  }

  outputOf(answer: unknown): unknown {
    const { binding, contract, driver, result: plan } = this.bound;
    if (this.#upstream === undefined) return plan.narrow(answer);
    const result = answer as JsonObject;
    if (this.hooks.parseToolResult === undefined) return plan.narrow(plan.extract(result));
    const { context } = this.#checked;
    const { toolName } = binding;
    let parsed: unknown;
    try {
      parsed = this.hooks.parseToolResult({ driver, context, tool: contract.id, toolName, result });
    } catch (thrown) {
      throw hookFailed("parseToolResult", driver.id, thrown);
    }
    if (!isResult(parsed))
      throw fail(
        "internal",
        `parseToolResult of ${driver.id} returned neither { ok: true, value } nor an error.`,
      );
    if (!parsed.ok) throw new Failure(parsed.error);
    return plan.narrow(parsed.value);
  }

  /** Milliseconds until the call is sent again; undefined when it is not, and then the time of the attempt is subtracted from `time`. */
  pauseBeforeNext(failure: Failure, time: CallTime): number | undefined {
    if (this.#sentAt === undefined) return undefined;
    const now = performance.now();
    const pause = pauseBefore(this.retries + 1, this.bound.retry, failure);
    const again = pause !== undefined && mayRetry(failure, this.bound.contract.idempotent);
    if (again && this.#checked.call.signal?.aborted !== true && now + pause < this.#deadline) {
      this.retries += 1;
      return pause;
    }
    time.left -= now - this.#sentAt;
    return undefined;
  }

  #arguments(): JsonObject {
    const { arguments: plan } = this.bound;
    const { input, context } = this.#checked;
    const args = this.#built(plan.build(input, context.values));
    const problem = this.#parts.checkArguments?.(this.bound, args);
    if (problem !== undefined) throw fail("policy_violation", problem);
    return args;
  }

  /** The arguments as the hook of the driver changes them. */
  #built(mapped: JsonObject): JsonObject {
    if (this.hooks.buildArguments === undefined) return mapped;
    const { contract, driver, binding } = this.bound;
    const { input, context } = this.#checked;
    const { toolName } = binding;
    let args: unknown;
    try {
      args =
        this.hooks.buildArguments({
          driver,
          context,
          tool: contract.id,
          toolName,
          input,
          arguments: mapped,
        }) ?? mapped;
    } catch (thrown) {
      throw hookFailed("buildArguments", driver.id, thrown);
    }
    if (isObject(args) && !(args instanceof Promise)) return args;
    throw fail("internal", `buildArguments of ${driver.id} returned a value that is not an object.`);
  }

  #request(): Call {
    const ms = Math.max(1, Math.ceil(this.#left));
    const { caller, signal, timeoutMs, onProgress, onLog, ask, observation } = this.#checked.call;
    return {
      method: "tools/call",
      params: { name: this.bound.binding.toolName, arguments: this.#args },
      caller,
      signal,
      timeoutMs: Math.min(ms, timeoutMs || ms),
      maxTimeoutMs: ms,
      // Only the retry rule of the contract repeats a call, and every attempt is counted.
      repeats: false,
      onProgress,
      onLog,
      onServerRequest: ask,
      observation,
    };
  }

  async #execute(): Promise<unknown> {
    const { driver, contract, timeoutMs } = this.bound;
    const { input, context, call } = this.#checked;
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
    const run = async (): Promise<unknown> =>
      this.hooks.execute?.[contract.id]?.({ driver, context, input, signal });
    const served = run().catch((thrown: unknown) => {
      throw hookFailed(`execute[${JSON.stringify(contract.id)}]`, driver.id, thrown);
    });
    return Promise.race([served, ended]);
  }
}

/** Hooks may be written without types. */
function isResult(given: unknown): given is { ok: true; value: unknown } | { ok: false; error: DriverError } {
  if (!isObject(given)) return false;
  if (given.ok === true) return true;
  const { ok, error } = given;
  return (
    ok === false && isObject(error) && typeof error.code === "string" && typeof error.message === "string"
  );
}

/** A call that may have run is not repeated, unless the contract is idempotent. */
function mayRetry({ error, neverSent }: Failure, idempotent: boolean): boolean {
  return error.retryable === true && (idempotent || neverSent);
}

/** The pause of the retry rule, at least as long as the server asks for; undefined when no retry is left. */
function pauseBefore(
  retry: number,
  rule: RetryRule | undefined,
  { error: { cause } }: Failure,
): number | undefined {
  if (rule === undefined || retry >= rule.maxAttempts) return undefined;
  const failures = rule.backoff === "fixed" ? 0 : retry - 1;
  const wanted = isPortolanError(cause) ? retryAfterMs(asText(cause.data.retryAfter)) : undefined;
  return Math.max(backoffMs(failures, rule.initialMs, MAX_PAUSE_MS), wanted ?? 0);
}

function asText(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}
