// Observation of one request of a client while it runs: the rooms that handle it report to it, and its end makes the record.

import { isPortolanError } from "../errors/index.ts";
import type { Era, JsonObject, RequestId } from "../model/index.ts";
import { argumentDigest } from "./digest.ts";
import type { CallObservers, PhaseStart, RequestStart, TracedCall, TracedPhase } from "./observers.ts";
import type { CallRecord, Decision, Ending, Outcome, Phase } from "./record.ts";

const ALLOWED: Decision = { kind: "allowed" };
const OK: Ending = { outcome: "ok" };
const NO_PHASES: readonly Phase[] = [];
const MAX_REASON = 500;
const MAX_TARGET = 500;
const MAX_METHOD = 100;

/** A part of a call that is running. */
export interface OpenPhase {
  /** Trace context for the `_meta` of the request to the server. */
  readonly meta: Readonly<Record<string, string>> | undefined;
  sent(id: RequestId): void;
  succeeded(result: JsonObject): void;
  failed(thrown: unknown): void;
}

export class Observation {
  readonly id: string;
  readonly start: RequestStart;
  readonly target: string | undefined;
  readonly #observers: CallObservers;
  readonly #traced: TracedCall | undefined;
  readonly #startedAt: number;
  readonly #startedMs: number;
  #phases: Phase[] | undefined;
  #digest: string | undefined;
  #server: string | undefined;
  #tool: string | undefined;
  #driver: string | undefined;
  #decision = ALLOWED;
  #ending = OK;
  #result: JsonObject | undefined;
  #isOver = false;
  #waitedMs: number | undefined;
  /** The start of a wait for approval that has not ended, in milliseconds since the start of the call. */
  #waitsSince: number | undefined;
  /** The request that continues this one with the answers of the client. */
  #next: Observation | undefined;

  constructor(observers: CallObservers, start: RequestStart, id: string, traced: TracedCall | undefined) {
    this.#observers = observers;
    this.start = start;
    this.id = id;
    this.#traced = traced;
    this.target = targetOf(start.method, start.params);
    this.#startedAt = performance.now();
    this.#startedMs = Date.now();
  }

  /** The digest of the arguments. */
  get digest(): string | undefined {
    return (this.#digest ??= hasArguments(this.start.method)
      ? argumentDigest(this.start.params?.arguments)
      : undefined);
  }

  get decision(): Decision {
    return this.#decision;
  }

  /** The server of the call, and its own name for the tool, prompt or resource. */
  routed(server: string, tool?: string): void {
    this.#server = server;
    this.#tool = tool;
  }

  /** The driver that serves a contract; the last attempt counts. */
  servedBy(driver: string): void {
    this.#driver = driver;
  }

  decide(decision: Decision): void {
    this.#decision = decision;
    this.#next?.decide(decision);
  }

  /** The call waits for approval until `resumed()`: the time is not one of its server. */
  waits(): void {
    this.#waitsSince ??= this.elapsed();
  }

  resumed(): void {
    this.#waitedMs = this.#waited();
    this.#waitsSince = undefined;
    this.#next?.resumed();
  }

  #waited(): number | undefined {
    if (this.#waitsSince === undefined) return this.#waitedMs;
    return (this.#waitedMs ?? 0) + this.elapsed() - this.#waitsSince;
  }

  /** The request that the client waits for: this one, or the one that continues it. */
  get current(): Observation {
    return this.#next?.current ?? this;
  }

  /** False when no observer wants to know more than the requests to servers. */
  get hasPhases(): boolean {
    return this.#observers.needs.phases;
  }

  phase(start: PhaseStart): OpenPhase {
    return new RunningPhase(this, start, this.#traced?.begin(start));
  }

  /** The parts of this request that still run belong to `next` from now on. */
  continueAs(next: Observation): void {
    this.#next = next;
    if (this.#server !== undefined) next.routed(this.#server, this.#tool);
    if (this.#driver !== undefined) next.servedBy(this.#driver);
    if (this.#decision !== ALLOWED) next.decide(this.#decision);
    if (this.#waitsSince !== undefined) next.waits();
  }

  succeeded(result: JsonObject | undefined): void {
    this.#result = result;
    this.#ending = result === undefined ? OK : endingOfResult(result);
  }

  /** `rpcCode` is the code of the response. */
  failed(thrown: unknown, rpcCode?: number): void {
    this.#ending = endingOfError(thrown, rpcCode);
  }

  /** The response was sent, or the client has gone. */
  finish(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    const { method, params, caller, client, transport, era, revision, requestId } = this.start;
    const { needs } = this.#observers;
    const { outcome, code, rpcCode, reason } = this.#ending;
    const record: CallRecord = {
      id: this.id,
      time: this.#observers.timeOf(this.#startedMs),
      method: method.slice(0, MAX_METHOD),
      target: this.target,
      caller,
      client,
      transport,
      era,
      revision,
      requestId,
      server: this.#server,
      tool: this.#tool,
      driver: this.#driver,
      decision: this.#decision,
      outcome,
      code,
      rpcCode,
      reason,
      durationMs: this.elapsed(),
      waitedMs: this.#waited(),
      inputBytes: needs.sizes ? sizeOf(params?.arguments) : undefined,
      outputBytes: needs.sizes ? sizeOf(this.#result) : undefined,
      trace: this.#traced?.ids,
      phases: this.#phases ?? NO_PHASES,
    };
    this.#traced?.end(record, this.#result);
    this.#result = undefined;
    this.#observers.ended(record, this);
  }

  elapsed(): number {
    return performance.now() - this.#startedAt;
  }

  /** Called by a phase at its end. The route was not known at its start. */
  phaseEnded(phase: RunningPhase): void {
    phase.server ??= this.#server;
    phase.target ??= this.#tool;
    if (phase.name === "upstream") phase.driver = this.#driver;
    if (this.hasPhases) this.#keep(phase);
    this.#observers.phase(phase);
  }

  #keep(phase: Phase): void {
    if (!this.#isOver) (this.#phases ??= []).push(phase);
    else if (this.#next !== undefined) {
      const before = this.#next.#startedAt - this.#startedAt;
      this.#next.#keep({
        ...phase,
        startMs: Math.max(0, phase.startMs - before),
        durationMs: Math.min(phase.durationMs, this.#next.elapsed()),
      });
    }
  }
}

/** Runs a part of a call, and reports its end. */
export function trackPhase(phase: OpenPhase, run: () => Promise<JsonObject>): Promise<JsonObject> {
  const failed = (thrown: unknown): never => {
    phase.failed(thrown);
    throw thrown;
  };
  try {
    return run().then((result) => {
      phase.succeeded(result);
      return result;
    }, failed);
  } catch (error) {
    return failed(error);
  }
}

/** The fields of a phase, which are complete at its end: one object serves as both. */
class RunningPhase implements OpenPhase, Phase {
  readonly name: Phase["name"];
  readonly method: string;
  readonly startMs: number;
  durationMs = 0;
  server?: string;
  target?: string;
  driver?: string;
  readonly transport?: string;
  readonly era?: Era;
  readonly revision?: string;
  readonly address?: string;
  readonly port?: number;
  requestId?: RequestId;
  outcome: Outcome = "ok";
  code?: string;
  rpcCode?: number;
  reason?: string;
  /** Undefined after the end, because a phase that is kept must not keep the arguments of its call. */
  #of: Observation | undefined;
  readonly #traced: TracedPhase | undefined;

  constructor(of: Observation, start: PhaseStart, traced: TracedPhase | undefined) {
    this.name = start.name;
    this.method = start.method;
    this.startMs = of.elapsed();
    this.server = start.server;
    this.target = start.target;
    this.transport = start.transport;
    this.era = start.era;
    this.revision = start.revision;
    this.address = start.address;
    this.port = start.port;
    this.#of = of;
    this.#traced = traced;
  }

  get meta(): Readonly<Record<string, string>> | undefined {
    return this.#traced?.meta;
  }

  sent(id: RequestId): void {
    this.requestId = id;
  }

  succeeded(result: JsonObject): void {
    this.#end(endingOfResult(result));
  }

  failed(thrown: unknown): void {
    this.#end(endingOfError(thrown));
  }

  #end({ outcome, code, rpcCode, reason }: Ending): void {
    const of = this.#of;
    if (of === undefined) return;
    this.#of = undefined;
    this.durationMs = of.elapsed() - this.startMs;
    this.outcome = outcome;
    this.code = code;
    this.rpcCode = rpcCode;
    this.reason = reason;
    of.phaseEnded(this);
    this.#traced?.end(this);
  }
}

const TOOL_ERROR: Ending = { outcome: "tool_error", code: "TOOL_FAILED" };
const INPUT_REQUIRED: Ending = { outcome: "input_required" };

function endingOfResult(result: JsonObject): Ending {
  if (result.isError === true) return TOOL_ERROR;
  return result.resultType === "input_required" ? INPUT_REQUIRED : OK;
}

function endingOfError(thrown: unknown, given?: number): Ending {
  if (!isPortolanError(thrown)) return { outcome: "error", rpcCode: given, reason: reasonOf(thrown) };
  const { code, message, data } = thrown;
  const outcome = code === "CANCELLED" ? "cancelled" : "error";
  const rpcCode = given ?? (typeof data.rpcCode === "number" ? data.rpcCode : undefined);
  return { outcome, code, rpcCode, reason: message.slice(0, MAX_REASON) };
}

function reasonOf(thrown: unknown): string | undefined {
  return thrown instanceof Error ? thrown.message.slice(0, MAX_REASON) : undefined;
}

function hasArguments(method: string): boolean {
  return method === "tools/call" || method === "prompts/get";
}

function targetOf(method: string, params: JsonObject | undefined): string | undefined {
  const target = hasArguments(method)
    ? params?.name
    : method.startsWith("resources/")
      ? params?.uri
      : undefined;
  return typeof target === "string" ? target.slice(0, MAX_TARGET) : undefined;
}

function sizeOf(value: unknown): number | undefined {
  try {
    return value === undefined ? 0 : Buffer.byteLength(JSON.stringify(value) ?? "");
  } catch {
    return undefined;
  }
}
