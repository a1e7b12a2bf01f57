// One session as an upstream. It ends with the session and is never restarted.

import { PortolanError, type Report, toPortolanError } from "../../errors/index.ts";
import type { LaunchContext, LaunchNews } from "../../launch/index.ts";
import type { JsonObject, LogLevel, ServerDefinition } from "../../model/index.ts";
import type { RequestAuth } from "../../oauth/index.ts";
import { type Redactor, withRedactedError } from "../../secrets/index.ts";
import type { ConnectTarget } from "../negotiation/connect.ts";
import { Emitter } from "../emitter.ts";
import { explainEraError } from "../failure-hints/era-hints.ts";
import type { EraMemory } from "../negotiation/era-memory.ts";
import type { LaunchDiagnostics } from "../failure-hints/launch-diagnostics.ts";
import { openSession } from "./open-session.ts";
import { createPathGuard, type PathGuard } from "./path-guard.ts";
import type { Session } from "./session.ts";
import { Subscriptions } from "./subscriptions.ts";
import { closedError } from "../supervision/faults.ts";
import type {
  ServerRequestHandler,
  Call,
  Caller,
  Description,
  Upstream,
  UpstreamEvents,
  UpstreamStats,
} from "../upstream.ts";

const TIMEOUTS_BEFORE_KILL = 3;
const STORM_MS = 200;
const LIST_EVENTS: ReadonlySet<keyof UpstreamEvents> = new Set([
  "toolsChanged",
  "promptsChanged",
  "resourcesChanged",
]);

export interface SessionUpstreamOptions {
  readonly definition: ServerDefinition;
  /** The address of the server, if it is not the definition's endpoint but an object of this program. */
  readonly target?: ConnectTarget;
  readonly caller: Caller;
  /** Answers the server requests of calls without a handler of their own. */
  readonly onServerRequest?: ServerRequestHandler;
  /** True when Portolan chose the era, so that errors do not mention the setting of a user. */
  readonly eraIsChosen?: boolean;
  /** True to subscribe to changes of the server's lists. */
  readonly watch: boolean;
  readonly report: Report;
  readonly eras: EraMemory;
  /** An earlier session found the server to be legacy. */
  readonly knownLegacy?: boolean;
  readonly onStderr?: (text: string) => void;
  /** Receives the launch plan, install progress and refused connections of a local program. */
  readonly onLaunch?: (news: LaunchNews) => void;
  readonly launchContext?: LaunchContext;
  /** Reports launch diagnostics, once for all sessions of a server. */
  readonly launches: LaunchDiagnostics;
  /** Removes secrets from errors. */
  readonly redactor: Redactor;
  /** Credentials for the requests to a URL. */
  readonly auth?: RequestAuth;
  /** Aborts the start. */
  readonly signal?: AbortSignal;
  /** True to reject when the start timeout passes; the process then ends in the background. */
  readonly rejectsAtTimeout?: boolean;
}

export async function openSessionUpstream(options: SessionUpstreamOptions): Promise<Upstream> {
  const upstream = new SessionUpstream(options);
  try {
    await upstream.open(options);
  } catch (error) {
    throw withRedactedError(toPortolanError(error, { server: upstream.name }), options.redactor);
  }
  return upstream;
}

class SessionUpstream implements Upstream {
  readonly name: string;
  readonly #emitter = new Emitter<UpstreamEvents>();
  readonly #subscriptions: Subscriptions;
  readonly #redactor: Redactor;
  readonly #launches: LaunchDiagnostics;
  readonly #explainEra: (error: PortolanError) => PortolanError;
  #session!: Session;
  /** The error that ended the session. */
  #lost: PortolanError | undefined;
  /** Ends the wait for the last requests of a session that the server forgot. */
  #retired: (() => void) | undefined;
  #probes = 0;
  #guard: PathGuard | undefined;
  /** List changes of the last moment, and whether the same change was announced again since. */
  readonly #recent = new Map<keyof UpstreamEvents, boolean>();

  constructor(options: SessionUpstreamOptions) {
    const { definition, caller, watch, launches, redactor, eraIsChosen } = options;
    this.name = definition.name;
    this.#explainEra =
      eraIsChosen === true
        ? (error) => error
        : (error) => explainEraError(error, this.#session.description.era, definition);
    this.#redactor = redactor;
    this.#launches = launches;
    this.#subscriptions = new Subscriptions({
      caller,
      watching: watch,
      request: (call) => this.request(call),
      missed: () => this.#announceAll(),
    });
  }

  async open(options: SessionUpstreamOptions): Promise<void> {
    const { definition, target: reach, launches } = options;
    this.#session = await openSession({
      ...options,
      onServerRequest: options.onServerRequest,
      target: reach ?? definition.endpoint,
      knownLegacy: options.knownLegacy === true,
      explain: launches.explain,
      signal: options.signal,
      onLaunch: (news) => {
        if (news.type === "planned")
          this.#guard = createPathGuard({
            server: this.name,
            check: news.checkPath,
            declared: definition.launch?.sandbox?.pathArguments,
            timeoutMs: definition.limits.requestTimeoutMs,
          });
        launches.onLaunch(news);
        options.onLaunch?.(news);
      },
      emit: (event, ...args) => this.#emitMerged(event, ...args),
      closed: (session, error) => {
        // A failure before the session is open is reported as the failure of the start.
        if (session === this.#session) this.#lose(error);
      },
      unresponsive: (session, consecutive) => this.#unresponsive(session, consecutive),
      onProbe: () => {
        this.#probes += 1;
      },
    });
    if (this.#session.peer.dead !== undefined) throw this.#session.peer.dead;
    this.#subscriptions.attach(this.#session);
  }

  describe(): Description {
    return this.#session.description;
  }

  request(call: Call): Promise<JsonObject> {
    const guarded = this.#guard?.(call);
    return guarded === undefined ? this.#request(call) : guarded.then(() => this.#request(call));
  }

  #request(call: Call): Promise<JsonObject> {
    const sentAt = performance.now();
    return this.#session.request(call).then(
      (result) => (call.method === "tools/call" ? this.#launches.checkResult(result, call, sentAt) : result),
      (thrown: unknown) => {
        throw this.#failure(thrown, sentAt, call);
      },
    );
  }

  notify(method: string, params?: JsonObject): void {
    if (this.#lost === undefined && !this.#session.modern) this.#session.peer.notify(method, params);
  }

  async subscribe(uri: string): Promise<() => Promise<void>> {
    // In the modern era a subscription is not a request of its own, so the guard is called here.
    await this.#guard?.({ method: "resources/subscribe", params: { uri } });
    await this.#subscriptions.add(uri);
    let removed = false;
    return async () => {
      if (removed) return;
      removed = true;
      if (this.#lost === undefined) await this.#subscriptions.remove(uri);
    };
  }

  async setLogLevel(level: LogLevel): Promise<void> {
    const session = this.#session;
    session.setLogLevel(level);
    if (!session.modern && session.description.capabilities.logging !== undefined)
      await this.request({ method: "logging/setLevel", params: { level } });
  }

  on<E extends keyof UpstreamEvents>(event: E, listener: (...args: UpstreamEvents[E]) => void): () => void {
    return this.#emitter.on(event, listener);
  }

  stats(): UpstreamStats {
    const { peer, declined, ambiguous } = this.#session;
    return {
      inFlight: peer.pending.size,
      lateAnswers: peer.lateAnswers,
      unknownAnswers: peer.unknownAnswers,
      noise: peer.transport.counters.noise,
      declined,
      ambiguous,
      restarts: 0,
      eraProbes: this.#probes,
    };
  }

  /** A session that the server forgot finishes its last requests, unless `close` is called again. */
  close(): Promise<void> {
    const isForgotten = this.#lost?.code === "SESSION_LOST";
    this.#lose(closedError(this.name));
    if (!isForgotten || this.#retired !== undefined) return this.#session.close().finally(this.#retired);
    return new Promise((resolve) => {
      this.#retired = resolve;
      this.#session.retire(resolve);
    });
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #failure(thrown: unknown, sentAt: number, call: Call): PortolanError {
    const failure = this.#launches.explain(toPortolanError(thrown, { server: this.name }), sentAt, call);
    const error = withRedactedError(this.#explainEra(failure), this.#redactor);
    if (error.code === "SESSION_LOST") this.#lose(error);
    return error;
  }

  /** Ends the session. */
  #lose(error: PortolanError): void {
    if (this.#lost !== undefined) return;
    const lost = withRedactedError(error, this.#redactor);
    this.#lost = lost;
    this.#subscriptions.detach();
    this.#emitter.emit("stateChanged", "closed", lost);
  }

  #unresponsive(session: Session, consecutive: number): void {
    if (consecutive < TIMEOUTS_BEFORE_KILL || session.description.transport !== "stdio") return;
    const message = `Portolan stopped ${this.name}: ${consecutive} requests in a row timed out`;
    const error = new PortolanError("SERVER_CRASHED", message, {
      server: this.name,
      stderr: session.peer.transport.stderrTail?.(),
      data: { timeouts: consecutive },
    });
    void session.peer.close(error);
    this.#lose(error);
  }

  /** Merges a storm of the same notification into one event at once and one at the end. */
  #emitMerged<E extends keyof UpstreamEvents>(event: E, ...args: UpstreamEvents[E]): void {
    if (!LIST_EVENTS.has(event)) return this.#emitter.emit(event, ...args);
    if (this.#recent.has(event)) {
      this.#recent.set(event, true);
      return;
    }
    this.#recent.set(event, false);
    this.#emitter.emit(event, ...args);
    setTimeout(() => {
      const again = this.#recent.get(event);
      this.#recent.delete(event);
      if (again === true) this.#emitMerged(event, ...args);
    }, STORM_MS).unref();
  }

  #announceAll(): void {
    this.#emitter.emit("toolsChanged");
    this.#emitter.emit("promptsChanged");
    this.#emitter.emit("resourcesChanged");
  }
}
