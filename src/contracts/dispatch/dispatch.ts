// One call of a contract from input to output: checked, routed, approved, sent by one driver, and its answer held to the promise.

import { setTimeout as sleep } from "node:timers/promises";
import { didYouMean } from "../../errors/index.ts";
import type { Contract, DriverError, JsonObject } from "../../model/index.ts";
import { auditOfCalls, invokedEvent, resolvedEvent } from "./audit.ts";
import { requireApproval } from "./approval.ts";
import { DriverChoice } from "./driver-selection.ts";
import type {
  CallTime,
  CheckedCall,
  ContractCall,
  Dispatched,
  DispatchParts,
  ReadyTool,
} from "./contract-call.ts";
import { fail, type Failure, toFailure } from "./failure.ts";
import { approvalReason } from "../routing/policy.ts";
import { Turn } from "./attempt.ts";
import type { CallContext } from "../driver/bound-tool.ts";

/** The caller gave up, or may not have this: another driver does not change that. */
const REFUSALS: ReadonlySet<DriverError["code"]> = new Set(["cancelled", "policy_violation", "unauthorised"]);
/** Timers are no more exact than this. */
const LEAST_MS = 1;

/** Never rejects. `context` is complete, whatever the call says itself. */
export function dispatch(
  call: ContractCall,
  context: CallContext,
  parts: DispatchParts,
): Promise<Dispatched> {
  const started = performance.now();
  let one: CheckedCall;
  try {
    const prepared = parts.contract(call.tool);
    if (prepared === undefined) throw unknownContract(call.tool, parts);
    requireTools(prepared.contract, parts);
    const input = prepared.checkInput(call.input);
    prepared.checkContext(context.values);
    one = { call, prepared, input, given: Object.keys(call.input ?? {}), context };
  } catch (thrown) {
    return Promise.resolve(failed(thrown, started));
  }
  return new Attempt(one, parts).run(started);
}

/** Contracts that this one requires must be served. */
function requireTools({ id, requires }: Contract, parts: DispatchParts): void {
  for (const tool of requires.tools)
    if (!parts.isServed(tool))
      throw fail("tool_unavailable", `${id} requires the contract ${tool}, which no driver serves.`, {
        retryable: false,
      });
}

/** The result of a call that could not be made at all. */
export function failedCall(thrown: unknown): Dispatched {
  return failed(thrown, performance.now());
}

function failed(thrown: unknown, started: number, driver?: string): Dispatched {
  const { error } = toFailure(thrown);
  return { result: { ok: false, error, ms: performance.now() - started }, driver };
}

class Attempt {
  readonly #one: CheckedCall;
  readonly #parts: DispatchParts;
  readonly #choice: DriverChoice;
  readonly #time: CallTime;
  #approvedFor: string | undefined;
  #renewed = false;

  constructor(one: CheckedCall, parts: DispatchParts) {
    this.#one = one;
    this.#parts = parts;
    this.#choice = new DriverChoice(one, parts);
    const { timeoutMs } = one.prepared.contract;
    this.#time = { left: Math.min(timeoutMs, one.call.maxTimeoutMs || timeoutMs) };
  }

  /**
   * A call that was never sent moves to the next driver. One that may have run does so only where the policy allows it and running it
   * twice does no harm.
   * All of a call is in this one loop: every function that only waits for another would cost it time.
   */
  async run(started: number): Promise<Dispatched> {
    let driver = "";
    try {
      let turn: Turn | undefined;
      for (;;) {
        if (turn === undefined) {
          const ready = this.#choice.now() ?? (await this.#choice.later());
          driver = ready.bound.driver.id;
          turn = this.#begin(ready);
        }
        try {
          if (!turn.isReady) {
            const { driver: serving, contract } = turn.bound;
            const valued = this.#parts.grants?.requireValues(serving, contract.id);
            if (valued !== undefined) await valued;
            const reason = approvalReason(turn.bound.contract, this.#parts.policy);
            if (reason !== undefined) await this.#approve(turn, reason);
            const coming = turn.acquire(this.#time);
            turn.prepare(coming instanceof Promise ? await coming : coming, this.#time);
          }
          const value = turn.outputOf(await turn.send());
          this.#checkOutput(value, driver);
          this.#tell(turn);
          return { result: { ok: true, value, ms: performance.now() - started }, driver };
        } catch (thrown) {
          const failure = toFailure(thrown);
          const wait = turn.pauseBeforeNext(failure, this.#time);
          if (wait === undefined) {
            this.#endInVain(turn, failure);
            turn = undefined;
          } else if (wait > 0)
            await sleep(wait, undefined, { signal: this.#one.call.signal }).catch(() => {});
        }
      }
    } catch (thrown) {
      return failed(thrown, started, driver === "" ? undefined : driver);
    }
  }

  #begin(ready: ReadyTool): Turn {
    const turn = new Turn(this.#one, ready, this.#parts);
    const { contract, driver, arguments: plan } = ready.bound;
    const audit = auditOfCalls(this.#parts.audit);
    const { resolution } = this.#choice;
    if (resolution !== undefined) audit?.(resolvedEvent(contract.id, resolution, this.#one.context));
    const fields = plan.unsupported((this.#one.call.input ?? {}) as JsonObject);
    if (fields.length > 0) throw unsupported(driver.id, contract.id, fields);
    return turn;
  }

  async #approve(turn: Turn, reason: string): Promise<void> {
    const { driver } = turn.bound;
    if (this.#approvedFor === driver.id) return;
    await requireApproval(this.#one, driver.id, reason, this.#parts);
    this.#approvedFor = driver.id;
    turn.started = performance.now();
  }

  /** Throws unless the call goes on, with this driver once more or with another one. */
  #endInVain(turn: Turn, failure: Failure): void {
    const { bound, hooks, begun } = turn;
    // What the server fails with may tell that a login has expired.
    const told =
      begun === undefined
        ? failure
        : this.#parts.auth.noticed(bound.driver, hooks, this.#one.context, failure, {
            begun,
            inVain: this.#renewed,
          });
    this.#tell(turn, told.error.code);
    if (this.#time.left <= LEAST_MS) throw told;
    if (this.#mayRenew(turn, told)) return;
    const { idempotent } = bound.contract;
    const isRepeatable = this.#parts.policy.fallback === true && idempotent && told.error.retryable === true;
    const isUnsent = (turn.isAcquiring || told.neverSent) && !REFUSALS.has(told.error.code);
    if (
      (!isUnsent && !isRepeatable) ||
      this.#one.call.signal?.aborted === true ||
      !this.#choice.without(bound.driver.id)
    )
      throw told;
  }

  /** Once for a call: a login that expired is renewed, and what was turned away for it is sent again. */
  #mayRenew({ bound, hooks }: Turn, { error, neverSent }: Failure): boolean {
    const { call, context } = this.#one;
    if (this.#renewed || error.code !== "auth_required" || call.signal?.aborted === true) return false;
    if (!neverSent && !bound.contract.idempotent) return false;
    if (!this.#parts.auth.concerns(bound.driver, hooks)) return false;
    this.#renewed = this.#parts.auth.canRenew(bound.driver, hooks, context);
    return this.#renewed;
  }

  #tell({ bound, hooks, started, retries }: Turn, code?: DriverError["code"]): void {
    const audit = auditOfCalls(this.#parts.audit);
    if (audit === undefined) return;
    const { given: inputKeys, context } = this.#one;
    const ms = performance.now() - started;
    const auth = this.#parts.auth.stateOf(bound.driver, hooks, context);
    audit(invokedEvent(bound, context, { inputKeys, ms, code, retries, auth }));
  }

  #checkOutput(value: unknown, server: string): void {
    const { prepared } = this.#one;
    const unsure = prepared.checkOutput(value);
    if (unsure === undefined) return;
    const { id } = prepared.contract;
    const message = `the output of ${id} is not checked: ${unsure}`;
    this.#parts.report({ code: "SCHEMA_UNSUPPORTED", severity: "warning", server, tool: id, message });
  }
}

function unsupported(driver: string, contract: string, fields: readonly string[]): Failure {
  return fail("input_unsupported", `${driver} serves ${contract} without ${fields.join(", ")}.`, {
    field: fields.join(", "),
    retryable: false,
  });
}

function unknownContract(id: string, parts: DispatchParts): Failure {
  const hint = didYouMean(id, parts.contractIds());
  return fail(
    "not_found",
    `There is no contract ${JSON.stringify(id.slice(0, 120))}.${hint === undefined ? "" : ` ${hint}`}`,
  );
}
