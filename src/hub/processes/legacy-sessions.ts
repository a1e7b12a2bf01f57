// Legacy sessions beside the main connection of one server: one per caller over HTTP, or one for all callers where each
// session is a process. Each is an instance that is started when needed, and stops when idle or when its caller has left.

import { backoffMs } from "../../base/time/retry.ts";
import { isPortolanError, type PortolanError, type Report, toPortolanError } from "../../errors/index.ts";
import type { JsonObject } from "../../model/index.ts";
import {
  type Call,
  type Caller,
  type Policy,
  type SessionHandle,
  SupervisedUpstream,
  type Upstream,
  within,
} from "../../upstream/index.ts";

/** Number of sessions beside the main one. Further calls share the main one. */
const MAX_SESSIONS = 256;
/** A server may keep state in the session of a caller, so it lasts as long as an idle client of the gateway by default. */
const IDLE_MS = 30 * 60_000;
/** A session that any caller may use has no state to lose. */
const REUSABLE_IDLE_MS = 60_000;
/** The pause after a session could not be opened, doubled after every failure. */
const RETRY_MS = 30_000;
const MAX_RETRY_MS = 30 * 60_000;
/** Number of reusable sessions that are opened at a time. Calls that wait for one may learn that they can share the main one. */
const MAX_OPENING = 8;
const NOT_STARTED = Promise.resolve(false);

export interface LegacySessionsOptions {
  readonly alias: string;
  readonly report: Report;
  /** How long a call without a timeout of its own waits. */
  readonly timeoutMs: number;
  readonly max?: number;
  /** Opens a session. With a caller it declares the capabilities of that caller. */
  readonly open: (signal: AbortSignal, caller: Caller | undefined) => Promise<SessionHandle>;
  readonly opened?: (session: Upstream, owner: string | undefined) => void;
  /** Compares the tools of a session with the pins. Rejects if a tool that may be called has another definition there. */
  readonly checkTools?: (session: Upstream) => Promise<void>;
  /** The server of a session does not answer. */
  readonly unreachable?: () => void;
  readonly idleMs?: number;
}

/** The session that a call needs: that of one caller, or one that no other call uses. */
export type SessionKey =
  | {
      readonly owner: string;
      /** Its capabilities are declared to the server, and the session ends with it. */
      readonly caller?: Caller;
    }
  | {
      readonly owner?: undefined;
      /** True when the call can share the main session after all. */
      readonly mayShare: () => boolean;
    };

interface LegacySession {
  readonly owner: string | undefined;
  readonly instance: SupervisedUpstream;
  /** Resolves to false when the session could not be opened. */
  started: Promise<boolean>;
  /** Calls that use the session, or wait for it to open. */
  calls: number;
  /** True when the session gets no more calls and stops after the last one. */
  isRetired: boolean;
}

export class LegacySessions {
  #options: LegacySessionsOptions;
  readonly #owned = new Map<string, LegacySession>();
  readonly #reusable = new Set<LegacySession>();
  /** All instances that have not stopped, also retired ones. */
  readonly #instances = new Set<SupervisedUpstream>();
  /** One callback per call that waits for a reusable session. */
  readonly #waiting = new Set<() => void>();
  #opening = 0;
  /** No session is opened before this time, because the server refused one or could not be reached. */
  #blockedUntil = 0;
  #failures = 0;
  #isReported = false;

  constructor(options: LegacySessionsOptions) {
    this.#options = options;
  }

  get size(): number {
    return this.#owned.size + this.#reusable.size;
  }

  configure(options: LegacySessionsOptions): void {
    this.#options = options;
  }

  /** The main connection was renewed, so the server may accept sessions that it refused before. */
  reset(): void {
    this.#blockedUntil = 0;
    this.#failures = 0;
  }

  /** The session of this owner, if it is open. */
  of(owner: string): Upstream | undefined {
    const instance = this.#owned.get(owner)?.instance;
    return instance?.description === undefined ? undefined : instance;
  }

  /** Visits the sessions that have an owner, or all. */
  each(visit: (upstream: Upstream) => void, which: "owned" | "all"): void {
    const sessions = which === "owned" ? this.#owned.values() : [...this.#owned.values(), ...this.#reusable];
    for (const { instance } of sessions) if (instance.description !== undefined) visit(instance);
  }

  /** Sends the call on the session of the key, by `send`; or by `shared` when no such session can be opened. */
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
      const isStarted = await this.#within(session.started, call, "opening another session");
      return await (isStarted ? send(session.instance) : shared());
    } catch (error) {
      // The server may still send a request for the call, which must not reach another caller.
      if (session.owner === undefined && isAbandoned(error)) session.isRetired = true;
      throw error;
    } finally {
      this.#leave(session);
    }
  }

  /** The pins have changed: no session gets a call before its tools were compared again. */
  recheck(): void {
    const { checkTools } = this.#options;
    if (checkTools === undefined) return;
    for (const session of [...this.#owned.values(), ...this.#reusable])
      session.started = session.started.then(async (isStarted) => {
        if (!isStarted || session.instance.live === undefined) return isStarted;
        try {
          await checkTools(session.instance);
          return true;
        } catch (thrown) {
          this.#failed(toPortolanError(thrown));
          this.#retire(session);
          return false;
        }
      });
  }

  /** Lets waiting calls try again, because a session is free or is not needed any more. */
  wake(): void {
    for (const tryAgain of [...this.#waiting]) tryAgain();
  }

  async close(): Promise<void> {
    await Promise.all([...this.#instances].map((instance) => instance.close()));
  }

  #of(owner: string, caller: Caller | undefined): LegacySession | undefined {
    return enter(this.#owned.get(owner) ?? this.#open(owner, caller));
  }

  /** A session that no other call uses; undefined when none can be opened, or none is needed. */
  #unused(mayShare: () => boolean, call: Call): Promise<LegacySession | undefined> {
    let found: LegacySession | undefined | "none yet" = this.#findUnused(mayShare);
    if (found !== "none yet") return Promise.resolve(found);
    let tryAgain = (): void => {};
    const place = new Promise<LegacySession | undefined>((resolve) => {
      tryAgain = () => {
        found = this.#findUnused(mayShare);
        if (found === "none yet") return;
        this.#waiting.delete(tryAgain);
        resolve(found);
      };
      this.#waiting.add(tryAgain);
    });
    return this.#within(place, call, "waiting for a session").catch((error: unknown) => {
      this.#waiting.delete(tryAgain);
      // The call may have got a session in the same moment in which it was abandoned.
      if (found !== undefined && found !== "none yet") this.#leave(found);
      throw error;
    });
  }

  #findUnused(mayShare: () => boolean): LegacySession | undefined | "none yet" {
    if (mayShare()) return undefined;
    for (const session of this.#reusable)
      if (session.calls === 0 && !session.isRetired) return enter(session);
    return this.#opening < MAX_OPENING ? enter(this.#open(undefined, undefined)) : "none yet";
  }

  #open(owner: string | undefined, caller: Caller | undefined): LegacySession | undefined {
    const { alias, max = MAX_SESSIONS, timeoutMs, open, opened } = this.#options;
    if (this.size >= max || performance.now() < this.#blockedUntil || caller?.ended?.aborted === true)
      return undefined;
    const { idleMs = owner === undefined ? REUSABLE_IDLE_MS : IDLE_MS } = this.#options;
    const policy: Policy = { restarts: true, keepsTrying: false, startRetries: 0, idleMs, drainMs: 0 };
    const left = (): void => this.#retire(session);
    const instance = new SupervisedUpstream({
      name: alias,
      policy: () => policy,
      requestTimeoutMs: timeoutMs,
      open: (signal) => open(signal, caller),
      opened: ({ upstream }) => opened?.(upstream, owner),
      busy: () => session.calls > 0,
      changed: ({ kind }) => {
        if (kind === "idle" || kind === "failed" || kind === "blocked") this.#retire(session);
        if (kind !== "stopped") return;
        this.#remove(session);
        this.#instances.delete(instance);
        caller?.ended?.removeEventListener("abort", left);
      },
    });
    const session: LegacySession = { owner, instance, started: NOT_STARTED, calls: 0, isRetired: false };
    instance.on("stateChanged", (state) => {
      if (state === "reconnecting") this.#options.unreachable?.();
    });
    this.#instances.add(instance);
    if (owner === undefined) this.#reusable.add(session);
    else this.#owned.set(owner, session);
    caller?.ended?.addEventListener("abort", left, { once: true });
    session.started = this.#start(instance);
    return session;
  }

  /** False when the session could not be opened. */
  async #start(instance: SupervisedUpstream): Promise<boolean> {
    this.#opening += 1;
    try {
      await instance.start();
      this.#failures = 0;
      return true;
    } catch (thrown) {
      // Without a fault, it was closed while it was starting.
      if (instance.lastFault !== undefined) this.#failed(toPortolanError(thrown));
      return false;
    } finally {
      this.#opening -= 1;
      this.wake();
    }
  }

  /** A server refuses when it has no legacy era, or only one session. Other failures are tried again. */
  #failed(error: PortolanError): void {
    const { alias, report } = this.#options;
    const isRefused = isRefusal(error);
    const delay = backoffMs(this.#failures, RETRY_MS, MAX_RETRY_MS);
    this.#failures += 1;
    this.#blockedUntil = isRefused ? Infinity : performance.now() + delay;
    if (isRefused || this.#isReported) return;
    this.#isReported = true;
    const message = `Portolan could not open another session with ${alias} in MCP 2025-11-25 or older, so calls of several clients share the main connection: ${error.message}`;
    report({ code: error.code, severity: "warning", server: alias, message });
  }

  #within<T>(promise: Promise<T>, call: Call, what: string): Promise<T> {
    const { alias: server, timeoutMs } = this.#options;
    return within(promise, { server, what, ms: call.timeoutMs ?? timeoutMs, signal: call.signal });
  }

  #leave(session: LegacySession): void {
    session.calls -= 1;
    session.instance.otherCallEnded();
    if (session.isRetired) this.#retire(session);
    this.wake();
  }

  /** The session gets no more calls, and stops after the last one. */
  #retire(session: LegacySession): void {
    session.isRetired = true;
    if (session.owner !== undefined) this.#remove(session);
    if (session.calls > 0) return;
    this.#remove(session);
    void session.instance.drain();
  }

  #remove(session: LegacySession): void {
    this.#reusable.delete(session);
    if (session.owner !== undefined && this.#owned.get(session.owner) === session)
      this.#owned.delete(session.owner);
  }
}

function enter(session: LegacySession | undefined): LegacySession | undefined {
  if (session === undefined) return undefined;
  session.calls += 1;
  return session;
}

function isRefusal({ code, data }: PortolanError): boolean {
  if (code === "HTTP_ERROR") return Number(data.status) < 500;
  return code === "RPC_ERROR" || code === "VERSION_UNSUPPORTED" || code === "PROTOCOL_ERROR";
}

function isAbandoned(error: unknown): boolean {
  return isPortolanError(error) && (error.code === "CANCELLED" || error.code === "TIMEOUT");
}
