// Registry of call observers. Without an observer, calls are not measured.

import { randomBytes } from "node:crypto";
import type { Era, Implementation, JsonObject, RequestId } from "../model/index.ts";
import { Observation } from "./observation.ts";
import type { CallRecord, ClientTransport, Phase, TraceIds } from "./record.ts";

/** A request of a client, as it arrives. */
export interface RequestStart {
  readonly method: string;
  readonly params: JsonObject | undefined;
  readonly requestId: RequestId;
  readonly caller: string;
  readonly client?: Implementation;
  readonly transport: ClientTransport;
  readonly era: Era;
  readonly revision: string;
  /** The version of HTTP. */
  readonly httpVersion?: string;
  /** The address of the client. */
  readonly address?: string;
  readonly port?: number;
  /** Trace context of the HTTP request around the message. */
  readonly ambient?: Readonly<Record<string, string>>;
}

export type PhaseStart = Pick<
  Phase,
  "name" | "method" | "server" | "target" | "transport" | "era" | "revision" | "address" | "port"
>;

/** Makes spans while a call runs, because a server must get the id of our span together with the request. */
export interface CallTracer {
  begin(start: RequestStart, id: string): TracedCall;
}

export interface TracedCall {
  /** Undefined when the call is not sampled. */
  readonly ids: TraceIds | undefined;
  begin(phase: PhaseStart): TracedPhase;
  end(record: CallRecord, result: JsonObject | undefined): void;
}

export interface TracedPhase {
  /** Trace context for the `_meta` of the request. */
  readonly meta: Readonly<Record<string, string>> | undefined;
  end(phase: Phase): void;
}

/** Parts of the record that cost time. Observers with a tracer need the phases. */
interface Needs {
  readonly sizes: boolean;
  /** The phases in the record, and the phase of the hub. Requests to servers are always reported. */
  readonly phases: boolean;
}

export interface CallObserver {
  /** Parts of the record that cost time, and are left out if no observer needs them. */
  readonly needs?: Partial<Needs>;
  readonly tracer?: CallTracer;
  /** A part of a call has ended. A suspended call can have parts that end after its record. */
  phase?(phase: Phase): void;
  /** A request has its response. `observation` has the digest of the arguments, which takes time. */
  ended?(record: CallRecord, observation: Observation): void;
}

/** Writes to the disk that a call was approved, before it runs. */
export type SyncApproved = (observation: Observation) => Promise<void>;

export class CallObservers {
  readonly #observers = new Set<CallObserver>();
  readonly #syncs = new Set<SyncApproved>();
  readonly #prefix = randomBytes(6).toString("base64url");
  #count = 0;
  /** The last second in which a call started, and the beginning of its ISO form. */
  #second = { since: Number.NaN, text: "" };
  #needs: Needs = { sizes: false, phases: false };
  #tracer: CallTracer | undefined;

  /** False when nobody observes; no observation is begun then. */
  get active(): boolean {
    return this.#observers.size > 0;
  }

  get needs(): Needs {
    return this.#needs;
  }

  /** True when an observer makes spans, which need the trace context of a request. */
  get traces(): boolean {
    return this.#tracer !== undefined;
  }

  /** Returns the function that removes the observer. Only the first tracer makes spans. */
  add(observer: CallObserver): () => void {
    this.#observers.add(observer);
    this.#changed();
    return () => {
      this.#observers.delete(observer);
      this.#changed();
    };
  }

  begin(start: RequestStart): Observation {
    const id = `${this.#prefix}-${(this.#count += 1)}`;
    return new Observation(this, start, id, this.#tracer?.begin(start, id));
  }

  phase(phase: Phase): void {
    for (const observer of this.#observers) observer.phase?.(phase);
  }

  ended(record: CallRecord, observation: Observation): void {
    for (const observer of this.#observers) observer.ended?.(record, observation);
  }

  /** The ISO form of a time. Under load, many calls start in the same second. */
  timeOf(ms: number): string {
    const since = ms - this.#second.since;
    if (!(since >= 0 && since < 1_000)) return this.#firstOfSecond(ms);
    return `${this.#second.text}${String(since).padStart(3, "0")}Z`;
  }

  #firstOfSecond(ms: number): string {
    const time = new Date(ms).toISOString();
    this.#second = { since: ms - (ms % 1_000), text: time.slice(0, -"000Z".length) };
    return time;
  }

  /** The audit log registers here. */
  onApproved(sync: SyncApproved): () => void {
    this.#syncs.add(sync);
    return () => void this.#syncs.delete(sync);
  }

  /** Resolves when the decision about a call is on the disk. An approved call must not run before. Rejects if it cannot be written. */
  async beforeApproved(observation: Observation): Promise<void> {
    await Promise.all([...this.#syncs].map((sync) => sync(observation)));
  }

  #changed(): void {
    const all = [...this.#observers];
    this.#needs = {
      sizes: all.some(({ needs }) => needs?.sizes === true),
      phases: all.some(({ needs, tracer }) => needs?.phases === true || tracer !== undefined),
    };
    this.#tracer = all.find(({ tracer }) => tracer !== undefined)?.tracer;
  }
}
