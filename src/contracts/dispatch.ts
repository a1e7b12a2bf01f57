// One call of a contract from input to output: checked, routed, approved, sent by one driver, and its answer held to the promise.

import { didYouMean, type Report } from "../errors/index.ts";
import type { DriverError, DriverResult, JsonObject, LogMessage, Progress } from "../model/index.ts";
import type { Ask, Caller, Upstream } from "../upstream/index.ts";
import { type Audit, invokedEvent, resolvedEvent, auditOfCalls } from "./audit.ts";
import { type AuthMachine, howToLogIn } from "./auth.ts";
import { callServer } from "./call-server.ts";
import { fail, type Failure, toFailure } from "./failure.ts";
import { approvalReason, type ContractPolicy } from "./policy.ts";
import type { PreparedContract } from "./prepared-contract.ts";
import type { Resolution, RouteRequest } from "./resolver.ts";
import type { SecretGrants } from "./secret-grants.ts";
import type { BoundTool, CallContext, DriverHooks } from "./types.ts";

export interface ContractCall {
  /** The contract's id. */
  readonly tool: string;
  readonly input?: unknown;
  readonly context?: CallContext | undefined;
  readonly caller?: Caller | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Less than what the contract allows; more does not help. */
  readonly timeoutMs?: number | undefined;
  readonly maxTimeoutMs?: number | undefined;
  readonly onProgress?: ((progress: Progress) => void) | undefined;
  readonly onLog?: ((message: LogMessage) => void) | undefined;
  readonly ask?: Ask | undefined;
}

export interface ApprovalRequest {
  readonly contract: PreparedContract["contract"];
  readonly driver: string;
  readonly input: JsonObject;
  readonly context: CallContext;
  /** Why it must be approved. */
  readonly reason: string;
  readonly signal?: AbortSignal | undefined;
  /** Asks whoever made the call. */
  readonly ask?: Ask | undefined;
}

/** True lets the call go on; a text says why not; undefined: nobody is there to say. */
export type Approve = (request: ApprovalRequest) => Promise<boolean | string | undefined>;

/** On whose behalf a driver's server is needed. */
export interface Acquirer {
  readonly context: CallContext;
  /** The contract that is called. */
  readonly tool: string;
  readonly signal?: AbortSignal | undefined;
  /** What is left for the call; waiting for a server that runs already takes from it. */
  readonly time?: CallTime | undefined;
}

/** All drivers and attempts of one call share it; starting servers, logins and approvals take nothing from it. */
export interface CallTime {
  left: number;
}

export interface ReadyTool {
  readonly bound: BoundTool;
  readonly hooks: DriverHooks;
}

export interface DispatchParts {
  contract(id: string): PreparedContract | undefined;
  contractIds(): Iterable<string>;
  route(request: RouteRequest, context: CallContext): Resolution;
  ready(driver: string, contract: string): ReadyTool | undefined;
  /** The driver's live server; throws when it does not come up or does not fit any more. */
  acquire(bound: BoundTool, who: Acquirer): Upstream | Promise<Upstream>;
  readonly policy: ContractPolicy;
  readonly auth: AuthMachine;
  readonly grants: SecretGrants | undefined;
  readonly approve: Approve | undefined;
  readonly audit: Audit | undefined;
  readonly report: Report;
  /** Why these arguments must not reach the server, such as a path outside of its box. */
  readonly checkArguments: ((bound: BoundTool, args: JsonObject) => string | undefined) | undefined;
}

export interface Dispatched {
  readonly result: DriverResult<unknown>;
  /** Who served it, or was to. */
  readonly driver?: string | undefined;
}

/** No more drivers than this are tried for one call. */
const MOST_DRIVERS = 4;
const MOST_LOGINS = 2;
/** Timers are no more exact than this. */
const LEAST_MS = 1;

/** Never rejects. `context` is complete, whatever the call says itself. */
export function dispatch(
  call: ContractCall,
  context: CallContext,
  parts: DispatchParts,
): Promise<Dispatched> {
  const started = performance.now();
  let attempt: Attempt;
  try {
    const prepared = parts.contract(call.tool);
    if (prepared === undefined) throw unknownContract(call.tool, parts);
    const input = prepared.checkInput(call.input);
    prepared.checkContext(context.values);
    attempt = new Attempt(call, prepared, input, context, parts);
  } catch (thrown) {
    return Promise.resolve(failed(thrown, started));
  }
  return attempt.run(started);
}

function failed(thrown: unknown, started: number, driver?: string): Dispatched {
  const { error } = toFailure(thrown);
  return { result: { ok: false, error, ms: performance.now() - started }, driver };
}

class Attempt {
  readonly #call: ContractCall;
  readonly #prepared: PreparedContract;
  readonly #input: JsonObject;
  readonly #given: readonly string[];
  readonly #context: CallContext;
  readonly #parts: DispatchParts;
  #resolution: Resolution | undefined;
  #approvedFor: string | undefined;
  #renewed = false;
  readonly #time: CallTime;

  constructor(
    call: ContractCall,
    prepared: PreparedContract,
    input: JsonObject,
    context: CallContext,
    parts: DispatchParts,
  ) {
    this.#call = call;
    this.#prepared = prepared;
    this.#input = input;
    // A default that a driver cannot take is no reason to turn the driver away.
    this.#given = Object.keys(call.input ?? {});
    this.#context = context;
    this.#parts = parts;
    const { timeoutMs } = prepared.contract;
    this.#time = { left: Math.min(timeoutMs, call.maxTimeoutMs || timeoutMs) };
  }

  /** One driver per call; a second one only where the policy allows it and nothing can have happened twice. */
  async run(started: number): Promise<Dispatched> {
    const tried: string[] = [];
    let driver: string | undefined;
    try {
      for (;;) {
        const ready = this.#chooseNow(tried) ?? (await this.#choose(tried));
        driver = ready.bound.driver.id;
        try {
          const value = await this.#invoke(ready);
          return { result: { ok: true, value, ms: performance.now() - started }, driver };
        } catch (thrown) {
          const failure = toFailure(thrown);
          if (!this.#goesOn(ready, failure, tried)) throw failure;
        }
      }
    } catch (thrown) {
      return failed(thrown, started, driver);
    }
  }

  /** Whether there is another attempt; `tried` is without those drivers that are not to be asked again. */
  #goesOn(ready: ReadyTool, failure: Failure, tried: string[]): boolean {
    if (this.#time.left <= LEAST_MS) return false;
    if (this.#mayRenew(ready, failure)) return true;
    const { idempotent } = this.#prepared.contract;
    const another = this.#parts.policy.fallback === true && idempotent && failure.error.retryable === true;
    if (!another || this.#call.signal?.aborted === true || tried.length + 1 >= MOST_DRIVERS) return false;
    tried.push(ready.bound.driver.id);
    return this.#route(tried).error === undefined;
  }

  /** Without waiting for anything, as it mostly is; undefined when a login may be needed. */
  #chooseNow(tried: readonly string[]): ReadyTool | undefined {
    const resolution = this.#route(tried);
    const { selected } = resolution;
    if (selected === undefined) return undefined;
    const ready = this.#parts.ready(selected, this.#prepared.contract.id);
    if (ready === undefined || this.#parts.auth.concerns(ready.bound.driver, ready.hooks)) return undefined;
    this.#resolution = resolution;
    return ready;
  }

  /** Once for a call: a login that expired is renewed, and what was turned away for it is sent again. */
  #mayRenew({ bound, hooks }: ReadyTool, { error, neverSent }: Failure): boolean {
    if (this.#renewed || error.code !== "auth_required" || this.#call.signal?.aborted === true) return false;
    if (!neverSent && !this.#prepared.contract.idempotent) return false;
    if (!this.#parts.auth.concerns(bound.driver, hooks)) return false;
    this.#renewed = this.#parts.auth.canRenew(bound.driver, hooks, this.#context);
    return this.#renewed;
  }

  /** Whether one of those that were turned away has somebody logged in by now. */
  async #lookAgain({ error }: Resolution): Promise<boolean> {
    const found = (error?.nearest ?? []).map(async ({ driver: id }) => {
      const ready = this.#parts.ready(id, this.#prepared.contract.id);
      if (ready === undefined || !this.#parts.auth.concerns(ready.bound.driver, ready.hooks)) return false;
      return this.#parts.auth.lookAgain(ready.bound.driver, ready.hooks, this.#context);
    });
    return (await Promise.all(found)).some(Boolean);
  }

  /** Routes, and logs in where that is what is missing and somebody is there to do it. */
  async #choose(tried: readonly string[]): Promise<ReadyTool> {
    const { auth } = this.#parts;
    for (let logins = 0; ; logins += 1) {
      const resolution = this.#route(tried);
      this.#resolution = resolution;
      const needsLogin = resolution.error?.code === "auth_required";
      if (needsLogin && logins === 0 && (await this.#lookAgain(resolution))) continue;
      const chosen =
        needsLogin && this.#context.interactive === true
          ? this.#route(tried, true).selected
          : resolution.selected;
      const ready = chosen === undefined ? undefined : this.#parts.ready(chosen, this.#prepared.contract.id);
      if (ready === undefined) throw this.#noRoute(resolution, tried);
      const { driver } = ready.bound;
      if (!auth.concerns(driver, ready.hooks)) return ready;
      const signal = this.#call.signal;
      const state = await auth.ready(driver, ready.hooks, this.#context, signal);
      if (state.ok) return ready;
      // Another driver may be logged in; this one is known not to be by now.
      if (
        logins >= MOST_LOGINS ||
        this.#context.interactive === true ||
        this.#route(tried).selected === driver.id
      )
        throw state.failure;
    }
  }

  #route(exclude: readonly string[], loginOnly = false): Resolution {
    const { pinnedProvider, regionConstraint } = this.#context;
    const { contract } = this.#prepared;
    return this.#parts.route(
      {
        contract,
        inputs: this.#given,
        pin: pinnedProvider,
        region: regionConstraint,
        exclude: exclude.length === 0 ? undefined : exclude,
        loginOnly,
      },
      this.#context,
    );
  }

  async #invoke(ready: ReadyTool): Promise<unknown> {
    const { auth, policy } = this.#parts;
    const audit = auditOfCalls(this.#parts.audit);
    const { bound, hooks } = ready;
    const { contract, driver } = bound;
    if (this.#resolution !== undefined) audit?.(resolvedEvent(contract.id, this.#resolution, this.#context));
    const fields = bound.arguments.unsupported((this.#call.input ?? {}) as JsonObject);
    if (fields.length > 0) throw unsupported(driver.id, contract.id, fields);
    const sent = { retries: 0 };
    let started = audit === undefined ? 0 : performance.now();
    let begun: number | undefined;
    try {
      const reason = approvalReason(contract, policy);
      if (reason !== undefined) {
        await this.#approve(bound, reason);
        started = performance.now();
      }
      begun = auth.now();
      const sending = callServer(
        ready,
        this.#input,
        this.#context,
        this.#call,
        this.#parts,
        sent,
        this.#time,
      );
      const value = await sending;
      this.#checkOutput(value, driver.id);
      if (audit !== undefined) this.#tell(audit, ready, started, sent.retries);
      return value;
    } catch (thrown) {
      let failure = toFailure(thrown);
      // What the server fails with may tell that a login has expired.
      if (begun !== undefined)
        failure = auth.noticed(driver, hooks, this.#context, failure, { begun, inVain: this.#renewed });
      if (audit !== undefined) this.#tell(audit, ready, started, sent.retries, failure.error.code);
      throw failure;
    }
  }

  #tell(
    audit: Audit,
    { bound, hooks }: ReadyTool,
    started: number,
    retries: number,
    code?: DriverError["code"],
  ): void {
    const ms = performance.now() - started;
    const auth = this.#parts.auth.stateOf(bound.driver, hooks, this.#context);
    audit(invokedEvent(bound, this.#context, { inputKeys: this.#given, ms, code, retries, auth }));
  }

  #checkOutput(value: unknown, server: string): void {
    const { id } = this.#prepared.contract;
    const unsure = this.#prepared.checkOutput(value);
    if (unsure === undefined) return;
    const message = `the output of ${id} is not checked: ${unsure}`;
    this.#parts.report({ code: "SCHEMA_UNSUPPORTED", severity: "warning", server, tool: id, message });
  }

  async #approve({ contract, driver }: BoundTool, reason: string): Promise<void> {
    const { policy, approve } = this.#parts;
    if (this.#approvedFor === driver.id) return;
    const { signal, ask } = this.#call;
    const answer = await approve?.({
      contract,
      driver: driver.id,
      input: this.#input,
      context: this.#context,
      reason,
      signal,
      ask,
    });
    if (answer === undefined) {
      if (policy.unattended === "allow") return;
      throw fail("unauthorised", `This call needs approval, and nobody is there to give it: ${reason}.`);
    }
    if (answer !== true)
      throw fail(
        "unauthorised",
        `The call was not approved${typeof answer === "string" ? `: ${answer}` : "."}`,
      );
    this.#approvedFor = driver.id;
  }

  #noRoute(resolution: Resolution, tried: readonly string[]): Failure {
    auditOfCalls(this.#parts.audit)?.(resolvedEvent(this.#prepared.contract.id, resolution, this.#context));
    const { error } = resolution;
    if (error === undefined) return fail("no_route", `No driver serves ${this.#prepared.contract.id}.`);
    const logins =
      error.code === "auth_required"
        ? error.nearest.flatMap(({ driver: id }) => {
            const { driver } = this.#parts.ready(id, this.#prepared.contract.id)?.bound ?? {};
            return driver?.auth?.login === undefined ? [] : [driver];
          })
        : [];
    const [field] = error.fields ?? [];
    const how = logins.map((driver) => howToLogIn(driver, this.#context)).join("");
    return fail(error.code, how === "" ? error.message : `${error.message}.${how}`, {
      retryable: false,
      ...(field === undefined ? {} : { field: (error.fields ?? []).join(", ") }),
      cause: {
        nearest: error.nearest,
        ...(logins.length === 0
          ? {}
          : { login: logins.map(({ id, auth }) => ({ driver: id, login: auth?.login })) }),
        ...(tried.length === 0 ? {} : { failed: tried }),
      },
    });
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
