// Dedicated processes of one server, for calls that must not share the main process. Each is an instance that is started when
// needed, stops when idle, and is not restarted.

import { type PortolanError, type Report, toPortolanError } from "../../errors/index.ts";
import { type Policy, type SessionHandle, SupervisedUpstream, type Upstream } from "../../upstream/index.ts";
import type { PlacedCall } from "./server-request-history.ts";

/** Number of dedicated processes that one account may use. */
const DEFAULT_MAX = 15;
const IDLE_MS = 60_000;
const RETRY_MS = 30_000;
const PING_MS = 5_000;

export interface DedicatedProcessesOptions {
  readonly alias: string;
  readonly maxDedicated: number | undefined;
  /** How long a call without a timeout of its own waits. */
  readonly timeoutMs: number;
  readonly report: Report;
  /** Opens a session with another process like the main one. */
  readonly open: (signal: AbortSignal) => Promise<SessionHandle>;
  readonly opened?: (session: Upstream) => void;
  /** Compares the tools of a process with the pins. Rejects if a tool that may be called has another definition there. */
  readonly checkTools?: (session: Upstream) => Promise<void>;
  readonly idleMs?: number;
}

/** A process, and the calls on it during which the server may send requests. */
export interface ProcessSlot {
  /** Undefined for the main process. */
  readonly instance?: SupervisedUpstream;
  readonly calls: PlacedCall[];
  /** True when the process gets no more calls and stops after the last one. */
  isRetired: boolean;
}

interface DedicatedSlot extends ProcessSlot {
  readonly instance: SupervisedUpstream;
}

export class DedicatedProcesses implements Iterable<ProcessSlot> {
  #options: DedicatedProcessesOptions;
  readonly #changed: () => void;
  readonly #ready = new Set<DedicatedSlot>();
  readonly #starting = new Set<DedicatedSlot>();
  #isPaused = false;
  #isReported = false;

  /** `changed` is called when a waiting call may find a process that it did not find before. */
  constructor(options: DedicatedProcessesOptions, changed: () => void) {
    this.#options = options;
    this.#changed = changed;
  }

  get size(): number {
    return this.#ready.size;
  }

  get maxPerAccount(): number {
    return this.#options.maxDedicated ?? DEFAULT_MAX;
  }

  /** True when another process may become available. */
  get mayGrow(): boolean {
    return this.#starting.size > 0 || (!this.#isPaused && this.#ready.size < this.#maxInAll);
  }

  [Symbol.iterator](): Iterator<ProcessSlot> {
    return this.#ready.values();
  }

  configure(options: DedicatedProcessesOptions): void {
    this.#options = options;
  }

  /** Number of calls of the account on dedicated processes. */
  callsOf(account: string | undefined): number {
    let own = 0;
    for (const { calls } of this.#ready) for (const call of calls) if (call.account === account) own += 1;
    return own;
  }

  /** Starts processes until as many are starting as are wanted. */
  grow(wanted: number): void {
    while (
      !this.#isPaused &&
      this.#starting.size < wanted &&
      this.#ready.size + this.#starting.size < this.#maxInAll
    ) {
      const slot = this.#newSlot();
      this.#starting.add(slot);
      void this.#start(slot).finally(() => {
        this.#starting.delete(slot);
        this.#changed();
      });
    }
  }

  /** The process gets no more calls. */
  retire(slot: ProcessSlot): void {
    slot.isRetired = true;
    if (slot.calls.length === 0) void slot.instance?.drain();
  }

  /** The pins have changed: no process gets a call before its tools were compared again. */
  recheck(): void {
    for (const slot of [...this.#ready]) this.#checkAgain(slot);
  }

  /** A call on the process ended. */
  callEnded(slot: ProcessSlot): void {
    slot.instance?.otherCallEnded();
    if (slot.isRetired) this.retire(slot);
  }

  /** Stops all processes, with the calls that are in flight. */
  async close(): Promise<void> {
    const all = [...this.#ready, ...this.#starting];
    await Promise.all(all.map(({ instance }) => instance.close()));
  }

  /** Some more than one account may use, so that no account can occupy all of them. */
  get #maxInAll(): number {
    return this.maxPerAccount + Math.ceil(this.maxPerAccount / 4);
  }

  #newSlot(): DedicatedSlot {
    const { alias, timeoutMs, open, opened, idleMs = IDLE_MS } = this.#options;
    const policy: Policy = {
      restarts: false,
      keepsTrying: false,
      startRetries: 0,
      idleMs,
      drainMs: Infinity,
    };
    const instance = new SupervisedUpstream({
      name: alias,
      policy: () => policy,
      requestTimeoutMs: timeoutMs,
      open,
      opened: ({ upstream }) => opened?.(upstream),
      busy: () => slot.calls.length > 0,
      changed: ({ kind }) => {
        if (kind === "idle" || kind === "stopped") this.#discard(slot);
      },
    });
    const slot: DedicatedSlot = { instance, calls: [], isRetired: false };
    instance.on("toolsChanged", () => this.#checkAgain(slot));
    return slot;
  }

  /** The process gets no further calls while its tools are compared; those in flight go on. */
  #checkAgain(slot: DedicatedSlot): void {
    const { checkTools } = this.#options;
    if (checkTools === undefined || slot.isRetired || !this.#ready.delete(slot)) return;
    this.#starting.add(slot);
    void checkTools(slot.instance)
      .then(
        () => {
          if (slot.instance.live !== undefined) this.#ready.add(slot);
        },
        (thrown: unknown) => {
          this.retire(slot);
          this.#failed(toPortolanError(thrown));
        },
      )
      .finally(() => {
        this.#starting.delete(slot);
        this.#changed();
      });
  }

  async #start(slot: DedicatedSlot): Promise<void> {
    const { instance } = slot;
    try {
      await instance.start();
      // Requests that a server sends right after its start belong to no call, so they are answered before the first one.
      await instance.request({ method: "ping", timeoutMs: PING_MS }).catch(() => {});
      if (instance.live !== undefined) this.#ready.add(slot);
      else if (instance.lastFault !== undefined) throw instance.lastFault.error;
    } catch (thrown) {
      const isClosed = instance.state.kind === "stopped" && instance.lastFault === undefined;
      await instance.close();
      if (!isClosed) this.#failed(toPortolanError(thrown));
    }
  }

  /** Calls use the processes that are running. Another one is tried after a pause. */
  #failed({ code, message }: PortolanError): void {
    const { alias, report } = this.#options;
    this.#isPaused = true;
    setTimeout(() => {
      this.#isPaused = false;
      this.#changed();
    }, RETRY_MS).unref();
    if (this.#isReported) return;
    this.#isReported = true;
    const what = `Portolan could not start another process of ${alias}, so calls during which the server sends requests (such as elicitation) run one after the other`;
    report({ code, severity: "warning", server: alias, message: `${what}: ${message}` });
  }

  #discard(slot: DedicatedSlot): void {
    if (!this.#ready.delete(slot)) return;
    slot.isRetired = true;
    void slot.instance.drain();
    this.#changed();
  }
}
