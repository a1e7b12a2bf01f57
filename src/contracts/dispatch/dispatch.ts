// Carries out one contract call: checks the input, selects a driver, makes attempts, and checks the output.

import { setTimeout as sleep } from "node:timers/promises";
import { didYouMean } from "../../errors/index.ts";
import type { Contract, DriverError, JsonObject } from "../../model/index.ts";
import { Attempt } from "./attempt.ts";
import { auditOfCalls, invokedEvent, resolvedEvent } from "./audit.ts";
import { approvalReason, requireApproval } from "./approval.ts";
import type {
  CallTime,
  CheckedCall,
  ContractCall,
  Dispatched,
  DispatchParts,
  ReadyTool,
} from "./contract-call.ts";
import { DriverSelection } from "./driver-selection.ts";
import { fail, failedCall, type Failure, toFailure } from "./failure.ts";
import type { CallContext } from "../contract/call-context.ts";

/** The caller cancelled, or is not allowed: another driver does not change that. */
const REFUSALS: ReadonlySet<DriverError["code"]> = new Set(["cancelled", "policy_violation", "unauthorised"]);
/** Timers are no more exact than this. */
const MIN_MS = 1;

/** Never rejects. `context` takes the place of the context in the call. */
export function dispatch(
  call: ContractCall,
  context: CallContext,
  parts: DispatchParts,
): Promise<Dispatched> {
  const started = performance.now();
  let checked: CheckedCall;
  try {
    if (call.signal?.aborted === true) throw fail("cancelled", `The call of ${call.tool} was cancelled.`);
    const prepared = parts.contract(call.tool);
    if (prepared === undefined) throw unknownContract(call.tool, parts);
    requireTools(prepared.contract, parts);
    const input = prepared.checkInput(call.input);
    prepared.checkContext(context.values);
    checked = { call, prepared, input, given: Object.keys(call.input ?? {}), context };
  } catch (thrown) {
    return Promise.resolve(failedCall(thrown, started));
  }
  return new Dispatch(checked, parts).run(started);
}

/** A contract may require other contracts to be served. */
function requireTools({ id, requires }: Contract, parts: DispatchParts): void {
  for (const tool of requires.tools)
    if (!parts.isServed(tool))
      throw fail("tool_unavailable", `${id} requires the contract ${tool}, which no driver serves.`, {
        retryable: false,
      });
}

class Dispatch {
  readonly #checked: CheckedCall;
  readonly #parts: DispatchParts;
  readonly #selection: DriverSelection;
  readonly #time: CallTime;
  #approvedFor: string | undefined;
  #renewed = false;
  /** An attempt may have reached its server. */
  #mayHaveRun = false;

  constructor(checked: CheckedCall, parts: DispatchParts) {
    this.#checked = checked;
    this.#parts = parts;
    this.#selection = new DriverSelection(checked, parts);
    const { timeoutMs } = checked.prepared.contract;
    this.#time = { left: Math.min(timeoutMs, checked.call.maxTimeoutMs || timeoutMs) };
  }

  /**
   * A call that was never sent moves to the next driver. One that may have run does so only where the policy allows it and running it
   * twice does no harm.
   * The whole call is in this one loop, because every function that only awaits another one costs time.
   */
  async run(started: number): Promise<Dispatched> {
    let driver = "";
    try {
      let attempt: Attempt | undefined;
      for (;;) {
        if (attempt === undefined) {
          const ready = this.#selection.now() ?? (await this.#selection.later());
          driver = ready.bound.driver.id;
          attempt = this.#begin(ready);
        }
        try {
          if (!attempt.isReady) {
            const { driver: serving, contract } = attempt.bound;
            const valued = this.#parts.grants?.requireValues(serving, contract.id);
            if (valued !== undefined) await valued;
            const reason = approvalReason(attempt.bound.contract, this.#parts.policy);
            if (reason !== undefined) await this.#approve(attempt, reason);
            const coming = attempt.acquire(this.#time);
            attempt.prepare(coming instanceof Promise ? await coming : coming, this.#time);
          }
          const value = attempt.outputOf(await attempt.send());
          this.#checkOutput(value, driver);
          this.#audit(attempt);
          return { result: { ok: true, value, ms: performance.now() - started }, driver };
        } catch (thrown) {
          const failure = toFailure(thrown);
          this.#mayHaveRun ||= attempt.isReady && !failure.neverSent;
          const wait = attempt.pauseBeforeNext(failure, this.#time);
          if (wait === undefined) {
            this.#fail(attempt, failure);
            attempt = undefined;
          } else if (wait > 0)
            await sleep(wait, undefined, { signal: this.#checked.call.signal }).catch(() => {});
        }
      }
    } catch (thrown) {
      return failedCall(thrown, started, driver === "" ? undefined : driver, !this.#mayHaveRun);
    }
  }

  #begin(ready: ReadyTool): Attempt {
    const attempt = new Attempt(this.#checked, ready, this.#parts);
    const { contract, driver, arguments: plan } = ready.bound;
    const audit = auditOfCalls(this.#parts.audit);
    const { resolution } = this.#selection;
    if (resolution !== undefined) audit?.(resolvedEvent(contract.id, resolution, this.#checked.context));
    const fields = plan.unsupported((this.#checked.call.input ?? {}) as JsonObject);
    if (fields.length > 0) throw unsupported(driver.id, contract.id, fields);
    return attempt;
  }

  async #approve(attempt: Attempt, reason: string): Promise<void> {
    const { driver } = attempt.bound;
    if (this.#approvedFor === driver.id) return;
    await requireApproval(this.#checked, driver.id, reason, this.#parts);
    this.#approvedFor = driver.id;
    attempt.started = performance.now();
  }

  /** Throws unless the call goes on: with a renewed login, or with another driver. */
  #fail(attempt: Attempt, thrown: Failure): void {
    const { bound, hooks, begun } = attempt;
    // The failure may show that a login has expired.
    const failure =
      begun === undefined
        ? thrown
        : this.#parts.auth.detectExpiry(bound.driver, hooks, this.#checked.context, thrown, {
            begun,
            inVain: this.#renewed,
          });
    this.#audit(attempt, failure.error.code);
    if (this.#time.left <= MIN_MS) throw failure;
    if (this.#mayRenew(attempt, failure)) return;
    const { idempotent } = bound.contract;
    const isRepeatable =
      this.#parts.policy.fallback === true && idempotent && failure.error.retryable === true;
    const isUnsent = (attempt.isAcquiring || failure.neverSent) && !REFUSALS.has(failure.error.code);
    if (
      (!isUnsent && !isRepeatable) ||
      this.#checked.call.signal?.aborted === true ||
      !this.#selection.without(bound.driver.id)
    )
      throw failure;
  }

  /** Once per call: an expired login is renewed, and the call that was refused for it is sent again. */
  #mayRenew({ bound, hooks }: Attempt, { error, neverSent }: Failure): boolean {
    const { call, context } = this.#checked;
    if (this.#renewed || error.code !== "auth_required" || call.signal?.aborted === true) return false;
    if (!neverSent && !bound.contract.idempotent) return false;
    if (!this.#parts.auth.needsLogin(bound.driver, hooks)) return false;
    this.#renewed = this.#parts.auth.canRenew(bound.driver, hooks, context);
    return this.#renewed;
  }

  #audit({ bound, hooks, started, retries }: Attempt, code?: DriverError["code"]): void {
    const audit = auditOfCalls(this.#parts.audit);
    if (audit === undefined) return;
    const { given: inputKeys, context } = this.#checked;
    const ms = performance.now() - started;
    const auth = this.#parts.auth.stateOf(bound.driver, hooks, context);
    audit(invokedEvent(bound, context, { inputKeys, ms, code, retries, auth }));
  }

  #checkOutput(value: unknown, server: string): void {
    const { prepared } = this.#checked;
    const unchecked = prepared.checkOutput(value);
    if (unchecked === undefined) return;
    const { id } = prepared.contract;
    const message = `the output of ${id} is not checked: ${unchecked}`;
    this.#parts.report({ code: "SCHEMA_UNSUPPORTED", severity: "warning", server, tool: id, message });
  }
}

function unsupported(driver: string, contract: string, fields: readonly string[]): Failure {
  return fail(
    "input_unsupported",
    `The driver ${driver} does not support these inputs of ${contract}: ${fields.join(", ")}.`,
    {
      field: fields.join(", "),
      retryable: false,
    },
  );
}

function unknownContract(id: string, parts: DispatchParts): Failure {
  const refusal = parts.refusal(id);
  if (refusal !== undefined)
    return fail("tool_unavailable", `Portolan refused the contract ${id}: ${refusal}`, { retryable: false });
  const hint = didYouMean(id, parts.contractIds());
  return fail(
    "not_found",
    `There is no contract ${JSON.stringify(id.slice(0, 120))}.${hint === undefined ? "" : ` ${hint}`}`,
  );
}
