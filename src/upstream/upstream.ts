// One server kept alive: sessions come and go, the upstream stays, and nothing that may have run is run again.

import { isPortolanError, PortolanError, type Report, toPortolanError } from "../errors/index.ts";
import type { JsonObject, LogLevel, ServerDefinition } from "../model/index.ts";
import { Breaker } from "./breaker.ts";
import { connect, type Reach } from "./connect.ts";
import { Emitter } from "./emitter.ts";
import type { EraMemory } from "./era-memory.ts";
import type { Session } from "./session.ts";
import { Subscriptions } from "./subscriptions.ts";
import type { Ask, Call, Caller, Description, Upstream, UpstreamEvents, UpstreamState, UpstreamStats } from "./types.ts";

const FIRST_RESTART_MS = 500;
const MAX_RESTART_MS = 30_000;
const CRASH_WINDOW_MS = 60_000;
const MAX_CRASHES = 5;
const TIMEOUTS_BEFORE_KILL = 3;
const MAX_WAITING = 1_000;
const MAX_REPEATS = 2;

/** Requests that change nothing, so that they may be sent again when it is not known whether they arrived. */
const HARMLESS = new Set([
  "completion/complete",
  "ping",
  "prompts/get",
  "prompts/list",
  "resources/list",
  "resources/read",
  "resources/templates/list",
  "server/discover",
  "tools/list",
]);

export interface UpstreamOptions {
  readonly definition: ServerDefinition;
  /** How it is reached, when that is not the definition's endpoint: a part of this program. */
  readonly reach?: Reach;
  readonly caller: Caller;
  /** Answers questions of calls that bring no `ask` of their own. */
  readonly ask?: Ask | undefined;
  readonly watch: boolean;
  readonly report: Report;
  readonly eras: EraMemory;
  readonly signal?: AbortSignal | undefined;
}

export async function openUpstream(options: UpstreamOptions): Promise<Upstream> {
  const upstream = new ServerUpstream(options);
  await upstream.start();
  return upstream;
}

class ServerUpstream implements Upstream {
  readonly name: string;
  readonly #options: UpstreamOptions;
  readonly #emitter = new Emitter<UpstreamEvents>();
  readonly #subscriptions: Subscriptions;
  readonly #breaker = new Breaker();
  readonly #closing = new AbortController();
  readonly #past = { lateAnswers: 0, unknownAnswers: 0, noise: 0, declined: 0 };
  #session: Session | undefined;
  #opening: Promise<Session> | undefined;
  #description: Description | undefined;
  #logLevel: LogLevel | undefined;
  #state: UpstreamState = "reconnecting";
  #lastError: PortolanError | undefined;
  #crashes: number[] = [];
  #restarts = 0;
  #probes = 0;
  #waiting = 0;

  constructor(options: UpstreamOptions) {
    this.#options = options;
    this.name = options.definition.name;
    this.#subscriptions = new Subscriptions(options.caller, options.watch);
  }

  async start(): Promise<void> {
    try {
      this.#adopt(await this.#open(this.#options.signal));
    } catch (error) {
      this.#state = "failed";
      throw error;
    }
  }

  describe(): Description {
    return this.#description as Description;
  }

  request(call: Call): Promise<JsonObject> {
    const session = this.#session;
    if (session === undefined || !this.#breaker.closed) return this.#requestLater(call, 0);
    return session.request(call).catch((error: unknown) => this.#recover(error, call, session, 0));
  }

  async subscribe(uri: string): Promise<() => Promise<void>> {
    await this.#ready(undefined);
    await this.#subscriptions.add(uri);
    let removed = false;
    return async () => {
      if (removed) return;
      removed = true;
      if (this.#state !== "closed") await this.#subscriptions.remove(uri);
    };
  }

  async setLogLevel(level: LogLevel): Promise<void> {
    this.#logLevel = level;
    await (await this.#ready(undefined)).setLogLevel(level);
  }

  on<E extends keyof UpstreamEvents>(event: E, listener: (...args: UpstreamEvents[E]) => void): () => void {
    return this.#emitter.on(event, listener);
  }

  stats(): UpstreamStats {
    const peer = this.#session?.peer;
    return {
      inFlight: peer?.pending.size ?? 0,
      lateAnswers: this.#past.lateAnswers + (peer?.lateAnswers ?? 0),
      unknownAnswers: this.#past.unknownAnswers + (peer?.unknownAnswers ?? 0),
      noise: this.#past.noise + (peer?.wire.counters.noise ?? 0),
      declined: this.#past.declined + (this.#session?.declined ?? 0),
      restarts: this.#restarts,
      eraProbes: this.#probes,
    };
  }

  async close(): Promise<void> {
    if (this.#state === "closed") return;
    const session = this.#session;
    this.#setState("closed");
    this.#session = undefined;
    this.#subscriptions.detach();
    this.#closing.abort(this.#closedError());
    await session?.close();
    await this.#opening?.then((late) => late.close()).catch(() => {});
    this.#emitter.clear();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #requestLater(call: Call, attempt: number): Promise<JsonObject> {
    if (!this.#breaker.allows()) throw this.#unavailable();
    let session: Session;
    try {
      session = await this.#ready(call);
    } catch (error) {
      this.#breaker.undecided();
      throw error;
    }
    try {
      const result = await session.request(call);
      this.#breaker.succeeded();
      return result;
    } catch (error) {
      return this.#recover(error, call, session, attempt);
    }
  }

  /** Sends a failed request again when it cannot have run, or when running it twice does no harm. */
  async #recover(thrown: unknown, call: Call, session: Session, attempt: number): Promise<JsonObject> {
    const error = toPortolanError(thrown, { server: this.name });
    const failing = isServerFailure(error);
    if (failing) this.#breaker.failed();
    else if (error.code === "RPC_ERROR") this.#breaker.succeeded();
    else this.#breaker.undecided();
    if (failing) this.#lastError = error;
    const harmless = call.repeatable === true || HARMLESS.has(call.method);
    const again = error.code === "SESSION_LOST" ? attempt < 1 : failing && attempt < MAX_REPEATS && (harmless || error.data.neverRan === true);
    if (!again || this.#state === "closed" || call.signal?.aborted) throw error;
    if (error.code === "SESSION_LOST") this.#lose(session, error, 0);
    else await pause(100 + Math.random() * 300, call.signal);
    return this.#requestLater(call, attempt + 1);
  }

  /** The session, as soon as there is one, within the patience of the call that waits for it. */
  async #ready(call: Call | undefined): Promise<Session> {
    if (this.#session !== undefined) return this.#session;
    if (this.#state === "closed") throw this.#closedError();
    if (this.#state === "failed" && this.#crashedLately() >= MAX_CRASHES) throw this.#unavailable();
    if (this.#waiting >= MAX_WAITING) {
      throw new PortolanError("BUSY", `${MAX_WAITING} requests already wait for ${this.name} to come back`, { server: this.name });
    }
    this.#opening ??= this.#reopen(0);
    this.#waiting += 1;
    try {
      return await within(this.#opening, call, this.#options.definition);
    } finally {
      this.#waiting -= 1;
    }
  }

  async #open(signal: AbortSignal | undefined): Promise<Session> {
    const { definition } = this.#options;
    const { startTimeoutMs } = definition.limits;
    const start = new AbortController();
    const stop = (reason: unknown): void => start.abort(reason);
    const timer = setTimeout(() => {
      stop(new PortolanError("TIMEOUT", `${this.name} was not ready after ${startTimeoutMs} ms`, { server: this.name, data: { startTimeoutMs } }));
    }, startTimeoutMs);
    const cancel = (): void => stop(signal?.reason);
    const closed = (): void => stop(this.#closing.signal.reason);
    signal?.addEventListener("abort", cancel, { once: true });
    this.#closing.signal.addEventListener("abort", closed, { once: true });
    if (signal?.aborted) cancel();
    try {
      return await connect(this.#options.reach ?? definition.endpoint, {
        definition,
        caller: this.#options.caller,
        ask: this.#options.ask,
        knownLegacy: this.#description?.era === "legacy",
        signal: start.signal,
        report: this.#options.report,
        notice: (event, ...args) => this.#emitter.emit(event, ...args),
        unresponsive: (session, consecutive) => this.#unresponsive(session, consecutive),
        closed: (session, error) => this.#lose(session, error, this.#restartDelay()),
        onProbe: () => {
          this.#probes += 1;
        },
      }, this.#options.eras);
    } catch (thrown) {
      throw this.#startError(isPortolanError(start.signal.reason) ? withStderr(start.signal.reason, thrown) : thrown, signal);
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener("abort", cancel);
      this.#closing.signal.removeEventListener("abort", closed);
    }
  }

  #startError(thrown: unknown, signal: AbortSignal | undefined): PortolanError {
    const error = toPortolanError(thrown, { server: this.name });
    if (signal?.aborted) return new PortolanError("CANCELLED", `connecting to ${this.name} was cancelled`, { server: this.name, cause: signal.reason });
    if (error.code !== "SERVER_CRASHED" && error.code !== "CONNECTION_LOST" && error.code !== "TIMEOUT") return error;
    return new PortolanError("SERVER_START_FAILED", error.message, {
      server: this.name,
      stderr: error.stderr,
      data: error.data,
      cause: error,
      hint: error.code === "SERVER_CRASHED" ? undefined : error.hint,
    });
  }

  async #reopen(delay: number): Promise<Session> {
    try {
      if (delay > 0) await pause(delay, this.#closing.signal);
      const session = await this.#open(undefined);
      this.#restarts += 1;
      this.#adopt(session);
      // What was listed before may have changed with the new process.
      this.#emitter.emit("toolsChanged");
      this.#emitter.emit("promptsChanged");
      this.#emitter.emit("resourcesChanged");
      return session;
    } catch (thrown) {
      if (this.#state === "closed") throw this.#closedError();
      const error = toPortolanError(thrown, { server: this.name });
      this.#lastError = error;
      this.#crashes.push(performance.now());
      if (this.#crashedLately() >= MAX_CRASHES) {
        this.#opening = undefined;
        this.#setState("failed");
        throw this.#unavailable();
      }
      return this.#reopen(this.#restartDelay());
    }
  }

  #adopt(session: Session): void {
    this.#opening = undefined;
    this.#session = session;
    this.#description = session.description;
    this.#setState("ready");
    const level = this.#logLevel ?? this.#options.caller.logLevel;
    if (level !== undefined) session.setLogLevel(level).catch(() => {});
    this.#subscriptions.attach(session);
  }

  #lose(session: Session, error: PortolanError, delay: number): void {
    if (this.#session !== session) return;
    const { lateAnswers, unknownAnswers, wire } = session.peer;
    this.#past.lateAnswers += lateAnswers;
    this.#past.unknownAnswers += unknownAnswers;
    this.#past.noise += wire.counters.noise;
    this.#past.declined += session.declined;
    this.#lastError = error;
    this.#session = undefined;
    this.#subscriptions.detach();
    void session.close();
    if (this.#state === "closed") return;
    this.#setState("reconnecting");
    this.#opening = this.#reopen(delay);
    // Whoever waits for it sees the failure; without anybody waiting the state tells.
    this.#opening.catch(() => {});
  }

  #unresponsive(session: Session, consecutive: number): void {
    if (consecutive < TIMEOUTS_BEFORE_KILL || session.description?.transport !== "stdio") return;
    const message = `${this.name} was stopped: ${consecutive} requests in a row ran into their time limit`;
    const error = new PortolanError("SERVER_CRASHED", message, { server: this.name, stderr: session.peer.wire.stderrTail() });
    void session.peer.close(error);
    this.#lose(session, error, this.#restartDelay());
  }

  #crashedLately(): number {
    const now = performance.now();
    this.#crashes = this.#crashes.filter((at) => now - at < CRASH_WINDOW_MS);
    return this.#crashes.length;
  }

  /** Counts a crash; the more of them lately, the longer the pause. */
  #restartDelay(): number {
    this.#crashes.push(performance.now());
    const backoff = Math.min(FIRST_RESTART_MS * 2 ** (this.#crashedLately() - 1), MAX_RESTART_MS);
    return backoff * (0.8 + Math.random() * 0.4);
  }

  #setState(state: UpstreamState): void {
    if (this.#state === state) return;
    this.#state = state;
    this.#emitter.emit("stateChanged", state);
  }

  #unavailable(): PortolanError {
    const last = this.#lastError;
    return new PortolanError("SERVER_UNAVAILABLE", `${this.name} failed repeatedly${last === undefined ? "" : `, last: ${last.message}`}`, {
      server: this.name,
      stderr: last?.stderr,
      cause: last,
    });
  }

  #closedError(): PortolanError {
    return new PortolanError("CONNECTION_CLOSED", `the connection to ${this.name} is closed`, { server: this.name });
  }
}

/** Failures that say something about the server's health, as opposed to about one request. */
function isServerFailure(error: PortolanError): boolean {
  if (error.code === "HTTP_ERROR") return Number(error.data.status) >= 500;
  return error.code === "CONNECTION_LOST" || error.code === "SERVER_CRASHED";
}

function withStderr(reason: PortolanError, thrown: unknown): PortolanError {
  if (!isPortolanError(thrown) || thrown.stderr === undefined) return reason;
  return new PortolanError(reason.code, reason.message, { ...reason, stderr: thrown.stderr, cause: thrown });
}

function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    signal?.addEventListener("abort", done, { once: true });
  });
}

/** Waits for the session no longer than the call itself would wait for an answer. */
function within(opening: Promise<Session>, call: Call | undefined, definition: ServerDefinition): Promise<Session> {
  const ms = call?.timeoutMs ?? definition.limits.requestTimeoutMs;
  const signal = call?.signal;
  return new Promise((resolve, reject) => {
    const server = definition.name;
    const timer =
      ms === 0
        ? undefined
        : setTimeout(() => reject(new PortolanError("TIMEOUT", `${server} did not come back within ${ms} ms`, { server })), ms);
    const abort = (): void => reject(new PortolanError("CANCELLED", `${call?.method ?? "the request"} was cancelled`, { server, cause: signal?.reason }));
    if (signal?.aborted) abort();
    signal?.addEventListener("abort", abort, { once: true });
    opening.then(resolve, reject).finally(() => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", abort);
    });
  });
}
