// Legacy sessions beside the main connection of one server: one per caller over HTTP, or one for all callers where each
// session costs a process. Opened when first needed, closed when idle or when the caller has left.

import { backoffMs } from "../../base/time/retry.ts";
import { isPortolanError, type PortolanError, type Report, toPortolanError } from "../../errors/index.ts";
import type { JsonObject } from "../../model/index.ts";
import { type Call, type Caller, type SessionHandle, type Upstream, within } from "../../upstream/index.ts";

/** How many sessions there are at most beside the main one; other calls share that one. */
const MAX_SESSIONS = 256;
/** A server may keep state for the session, so it lasts as long as an idle client of the gateway does by default. */
const IDLE_MS = 30 * 60_000;
/** Closing a session that any caller may use loses no state. */
const REUSABLE_IDLE_MS = 60_000;
/** A session that could not be opened is tried again after this, and then after twice as long. */
const RETRY_MS = 30_000;
const MAX_RETRY_MS = 30 * 60_000;
/** Calls that need a session for themselves wait beyond this; meanwhile they may learn that they can share one. */
const MAX_OPENING = 8;

export interface LegacySessionsOptions {
  readonly alias: string;
  readonly report: Report;
  /** How long a call waits that does not say so itself. */
  readonly timeoutMs: number;
  readonly max?: number | undefined;
  /** Opens a session. With a caller it declares the capabilities of that caller. */
  readonly open: (signal: AbortSignal, caller: Caller | undefined) => Promise<SessionHandle>;
  readonly opened?: ((upstream: Upstream, owner: string | undefined) => void) | undefined;
  readonly idleMs?: number | undefined;
}

/** Which session a call needs: that of one caller, or one that no other call uses. */
export type SessionKey =
  | {
      readonly owner: string;
      /** Its capabilities are declared to the server, and its end closes the session. */
      readonly caller?: Caller | undefined;
    }
  | {
      readonly owner?: undefined;
      /** Whether the call needs no session for itself after all. */
      readonly mayShare: () => boolean;
    };

interface LegacySession {
  readonly owner: string | undefined;
  /** Undefined when the session could not be opened. */
  readonly lease: Promise<SessionHandle | undefined>;
  readonly closing: AbortController;
  upstream: Upstream | undefined;
  /** Calls that use it, or wait for it to open. */
  calls: number;
  /** Takes no more calls, and is closed with its last. */
  retired: boolean;
  idle: NodeJS.Timeout | undefined;
}

export class LegacySessions {
  #options: LegacySessionsOptions;
  readonly #owned = new Map<string, LegacySession>();
  readonly #reusable = new Set<LegacySession>();
  /** Calls that wait for a session for themselves. */
  readonly #waiting = new Set<() => void>();
  #opening = 0;
  /** No session is opened before this time: the server refused one, or could not be reached. */
  #blockedUntil = 0;
  #failures = 0;
  #reported = false;

  constructor(options: LegacySessionsOptions) {
    this.#options = options;
  }

  get size(): number {
    return this.#owned.size + this.#reusable.size;
  }

  /** Goes on for another owner. */
  configure(options: LegacySessionsOptions): void {
    this.#options = options;
  }

  /** The main connection is another one: what the server refused before, it may accept now. */
  reset(): void {
    this.#blockedUntil = 0;
    this.#failures = 0;
  }

  /** The open session of this owner. */
  of(owner: string): Upstream | undefined {
    return this.#owned.get(owner)?.upstream;
  }

  /** Visits the sessions that have an owner, or all. */
  each(visit: (upstream: Upstream) => void, which: "owned" | "all"): void {
    const sessions = which === "owned" ? this.#owned.values() : [...this.#owned.values(), ...this.#reusable];
    for (const { upstream } of sessions) if (upstream !== undefined) visit(upstream);
  }

  /** Sends the call on the session that the key names, by `send`; or by `shared` when there is none to be had. */
  async request(
    key: SessionKey,
    call: Call,
    send: (upstream: Upstream) => Promise<JsonObject>,
    shared: () => Promise<JsonObject>,
  ): Promise<JsonObject> {
    const session =
      key.owner === undefined ? await this.#unused(key.mayShare, call) : this.#of(key.owner, key.caller);
    if (session === undefined) return shared();
    try {
      const lease = await this.#within(session.lease, call, "opening a session in the legacy era");
      return await (lease === undefined ? shared() : send(lease.upstream));
    } catch (error) {
      // The server may still send a request for the call: not into the call of another caller.
      if (session.owner === undefined && isGivenUp(error)) session.retired = true;
      throw error;
    } finally {
      this.#leave(session);
    }
  }

  /** Calls in line look again: a session is free, or is not needed any more. */
  wake(): void {
    for (const look of [...this.#waiting]) look();
  }

  async close(): Promise<void> {
    const sessions = [...this.#owned.values(), ...this.#reusable];
    await Promise.all(sessions.map((session) => this.#discard(session)));
  }

  #of(owner: string, caller: Caller | undefined): LegacySession | undefined {
    return enter(this.#owned.get(owner) ?? this.#open(owner, caller));
  }

  /** A session that no other call uses; undefined when there can be none, or none is needed. */
  #unused(mayShare: () => boolean, call: Call): Promise<LegacySession | undefined> {
    let given: LegacySession | undefined | "none yet" = this.#findUnused(mayShare);
    if (given !== "none yet") return Promise.resolve(given);
    let look = (): void => {};
    const place = new Promise<LegacySession | undefined>((resolve) => {
      look = () => {
        given = this.#findUnused(mayShare);
        if (given === "none yet") return;
        this.#waiting.delete(look);
        resolve(given);
      };
      this.#waiting.add(look);
    });
    return this.#within(place, call, "waiting for a session").catch((error: unknown) => {
      this.#waiting.delete(look);
      // It may have got one in the very moment in which it was given up.
      if (given !== undefined && given !== "none yet") this.#leave(given);
      throw error;
    });
  }

  #findUnused(mayShare: () => boolean): LegacySession | undefined | "none yet" {
    if (mayShare()) return undefined;
    for (const session of this.#reusable) if (session.calls === 0 && !session.retired) return enter(session);
    return this.#opening < MAX_OPENING ? enter(this.#open(undefined, undefined)) : "none yet";
  }

  #open(owner: string | undefined, caller: Caller | undefined): LegacySession | undefined {
    const { max = MAX_SESSIONS, open } = this.#options;
    if (this.size >= max || performance.now() < this.#blockedUntil || caller?.ended?.aborted === true)
      return undefined;
    const closing = new AbortController();
    this.#opening += 1;
    const lease = open(closing.signal, caller)
      .then(
        (opened) => this.#opened(session, opened),
        (thrown: unknown) => this.#failed(session, toPortolanError(thrown)),
      )
      .finally(() => {
        this.#opening -= 1;
        this.wake();
      });
    const session: LegacySession = {
      ...{ owner, lease, closing, upstream: undefined, calls: 0, retired: false, idle: undefined },
    };
    if (owner === undefined) this.#reusable.add(session);
    else this.#owned.set(owner, session);
    const left = (): void => this.#retire(session);
    caller?.ended?.addEventListener("abort", left, { once: true, signal: closing.signal });
    return session;
  }

  #opened(session: LegacySession, lease: SessionHandle): SessionHandle {
    this.#failures = 0;
    session.upstream = lease.upstream;
    lease.upstream.on("stateChanged", (state) => {
      if (state === "failed" || state === "closed") this.#retire(session);
    });
    this.#options.opened?.(lease.upstream, session.owner);
    return lease;
  }

  /** A refusal is the answer of a server that has no legacy era, or only one session; other failures may pass. */
  #failed(session: LegacySession, error: PortolanError): undefined {
    this.#retire(session);
    if (session.closing.signal.aborted) return;
    const { alias, report } = this.#options;
    const refused = isRefusal(error);
    const delay = backoffMs(this.#failures, RETRY_MS, MAX_RETRY_MS);
    this.#failures += 1;
    this.#blockedUntil = refused ? Infinity : performance.now() + delay;
    if (refused || this.#reported) return;
    this.#reported = true;
    const message = `Portolan could not open a legacy session with ${alias}, so its legacy clients share the main connection: ${error.message}`;
    report({ code: error.code, severity: "warning", server: alias, message });
  }

  #within<T>(promise: Promise<T>, call: Call, what: string): Promise<T> {
    const { alias: server, timeoutMs } = this.#options;
    return within(promise, { server, what, ms: call.timeoutMs ?? timeoutMs, signal: call.signal });
  }

  #leave(session: LegacySession): void {
    session.calls -= 1;
    this.#rest(session);
    this.wake();
  }

  #retire(session: LegacySession): void {
    session.retired = true;
    if (session.owner !== undefined && this.#owned.get(session.owner) === session)
      this.#owned.delete(session.owner);
    this.#rest(session);
  }

  #rest(session: LegacySession): void {
    if (session.calls > 0) return;
    clearTimeout(session.idle);
    if (session.retired) return void this.#discard(session);
    const { idleMs = session.owner === undefined ? REUSABLE_IDLE_MS : IDLE_MS } = this.#options;
    session.idle = setTimeout(() => void this.#discard(session), idleMs).unref();
  }

  async #discard(session: LegacySession): Promise<void> {
    clearTimeout(session.idle);
    this.#reusable.delete(session);
    if (session.owner !== undefined && this.#owned.get(session.owner) === session)
      this.#owned.delete(session.owner);
    session.closing.abort();
    await session.lease.then((lease) => lease?.release()).catch(() => {});
  }
}

function enter(session: LegacySession | undefined): LegacySession | undefined {
  if (session === undefined) return undefined;
  clearTimeout(session.idle);
  session.calls += 1;
  return session;
}

function isRefusal({ code, data }: PortolanError): boolean {
  if (code === "HTTP_ERROR") return Number(data.status) < 500;
  return code === "RPC_ERROR" || code === "VERSION_UNSUPPORTED" || code === "PROTOCOL_ERROR";
}

function isGivenUp(error: unknown): boolean {
  return isPortolanError(error) && (error.code === "CANCELLED" || error.code === "TIMEOUT");
}
