// Further processes of one server, each for calls that must not share the main one: opened when wanted, closed when idle.

import { PortolanError, type Report, toPortolanError } from "../../errors/index.ts";
import type { SessionHandle, Upstream } from "../../upstream/index.ts";
import type { Running } from "./server-request-history.ts";

/** How many one account may have. */
const DEFAULT_SPARES = 15;
/** A spare that nobody used for this long is closed. */
const IDLE_MS = 60_000;
const RETRY_MS = 30_000;
const PING_MS = 5_000;

export interface SparesOptions {
  readonly alias: string;
  readonly maxSpares: number | undefined;
  readonly report: Report;
  /** Another process like the main one, of one's own. */
  readonly open: (signal: AbortSignal) => Promise<SessionHandle>;
  readonly opened?: ((upstream: Upstream) => void) | undefined;
  readonly idleMs?: number | undefined;
}

/** A process and the calls on it that may be asked something. */
export interface Lane {
  /** Absent for the main process. */
  readonly lease?: SessionHandle;
  readonly running: Set<Running>;
  /** Gets no more calls, and is closed with its last. */
  retired: boolean;
  idle?: NodeJS.Timeout;
}

export class Spares implements Iterable<Lane> {
  #options: SparesOptions;
  readonly #changed: () => void;
  readonly #lanes = new Set<Lane>();
  readonly #opening = new Map<Promise<void>, AbortController>();
  #cannotOpen = false;
  #told = false;

  /** `changed` hears whenever a call in line may find a place that it did not find before. */
  constructor(options: SparesOptions, changed: () => void) {
    this.#options = options;
    this.#changed = changed;
  }

  get size(): number {
    return this.#lanes.size;
  }

  get maxPerAccount(): number {
    return this.#options.maxSpares ?? DEFAULT_SPARES;
  }

  /** Whether there may be more of them soon. */
  get mayGrow(): boolean {
    return this.#opening.size > 0 || (!this.#cannotOpen && this.#lanes.size < this.#maxInAll);
  }

  [Symbol.iterator](): Iterator<Lane> {
    return this.#lanes.values();
  }

  configure(options: SparesOptions): void {
    this.#options = options;
  }

  /** How many calls of the account are on them. */
  heldBy(account: string | undefined): number {
    let own = 0;
    for (const { running } of this.#lanes) for (const call of running) if (call.account === account) own += 1;
    return own;
  }

  /** Opens more, until as many are on their way as are wanted. */
  grow(wanted: number): void {
    while (
      !this.#cannotOpen &&
      this.#opening.size < wanted &&
      this.#lanes.size + this.#opening.size < this.#maxInAll
    ) {
      const leaving = new AbortController();
      const opening: Promise<void> = this.#open(leaving.signal).finally(() => {
        this.#opening.delete(opening);
        this.#changed();
      });
      this.#opening.set(opening, leaving);
    }
  }

  /** It gets no more calls. */
  retire(lane: Lane): void {
    lane.retired = true;
    if (lane.running.size === 0) this.rest(lane);
  }

  /** Nobody uses it now. */
  rest(lane: Lane): void {
    if (!this.#lanes.has(lane)) return;
    clearTimeout(lane.idle);
    if (lane.retired) return void this.#discard(lane);
    lane.idle = setTimeout(() => void this.#discard(lane), this.#options.idleMs ?? IDLE_MS).unref();
  }

  /** Closes every one, with what is still in flight there. */
  async close(): Promise<void> {
    for (const leaving of this.#opening.values()) leaving.abort();
    await Promise.all([...[...this.#lanes].map((lane) => this.#discard(lane)), ...this.#opening.keys()]);
  }

  /** A few more than one account may have, so that nobody can have them all. */
  get #maxInAll(): number {
    return this.maxPerAccount + Math.ceil(this.maxPerAccount / 4);
  }

  async #open(signal: AbortSignal): Promise<void> {
    try {
      const lease = await this.#options.open(signal);
      const { upstream } = lease;
      const lane: Lane = { lease, running: new Set(), retired: false };
      // It is not waited for when it crashes: another can be opened.
      upstream.on("stateChanged", (state) => {
        if (state !== "ready") this.retire(lane);
      });
      this.#options.opened?.(upstream);
      // What a server asks when it has just been greeted is about no call, so it is let come before there is one.
      await upstream.request({ method: "ping", timeoutMs: PING_MS, signal }).catch(() => {});
      if (signal.aborted || lane.retired) await lease.release();
      else this.#lanes.add(lane);
      this.rest(lane);
      if (lane.retired) throw new PortolanError("SERVER_CRASHED", "it ended when it had just been started");
    } catch (thrown) {
      if (!signal.aborted) this.#failed(toPortolanError(thrown));
    }
  }

  /** Calls wait for the processes that there are; another is tried after a while. */
  #failed({ code, message }: PortolanError): void {
    const { alias, report } = this.#options;
    this.#cannotOpen = true;
    setTimeout(() => {
      this.#cannotOpen = false;
      this.#changed();
    }, RETRY_MS).unref();
    if (this.#told) return;
    this.#told = true;
    const what = `another process of ${alias} cannot be started, so calls that ask questions wait for each other`;
    report({ code, severity: "warning", server: alias, message: `${what}: ${message}` });
  }

  async #discard(lane: Lane): Promise<void> {
    clearTimeout(lane.idle);
    if (!this.#lanes.delete(lane)) return;
    await lane.lease?.release().catch(() => {});
    this.#changed();
  }
}
