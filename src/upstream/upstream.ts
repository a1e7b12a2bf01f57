// One server as the rest of the program sees it: sessions come and go behind it, and nothing that may have run is run again.

import { type PortolanError, type Report, toPortolanError } from "../errors/index.ts";
import type { LaunchNews } from "../launch/index.ts";
import type { JsonObject, LogLevel, ServerDefinition } from "../model/index.ts";
import { type Redactor, withRedactedError } from "../secrets/index.ts";
import { Breaker } from "./breaker.ts";
import type { Reach } from "./connect.ts";
import { Emitter } from "./emitter.ts";
import type { EraMemory } from "./era-memory.ts";
import { Keeper } from "./keeper.ts";
import { createPathGuard, type PathGuard } from "./path-guard.ts";
import { createLaunchReports, type LaunchReports } from "./launch-reports.ts";
import { redactorFor } from "./sensitive.ts";
import type { Session } from "./session.ts";
import { Subscriptions } from "./subscriptions.ts";
import type { Ask, Call, Caller, Description, Upstream, UpstreamEvents, UpstreamStats } from "./types.ts";
import { pause } from "./waiting.ts";

const MAX_REPEATS = 2;
const STORM_MS = 200;
const LIST_NEWS: ReadonlySet<keyof UpstreamEvents> = new Set([
  "toolsChanged",
  "promptsChanged",
  "resourcesChanged",
]);

/** Requests that change nothing, so that they may be sent again when it is not known whether they arrived. */
const HARMLESS = new Set([
  "completion/complete",
  "logging/setLevel",
  "ping",
  "prompts/get",
  "prompts/list",
  "resources/list",
  "resources/read",
  "resources/subscribe",
  "resources/templates/list",
  "resources/unsubscribe",
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
  /** Ask the server for news of its lists. */
  readonly watch: boolean;
  readonly report: Report;
  readonly eras: EraMemory;
  readonly onStderr?: ((text: string) => void) | undefined;
  /** Hears how a local program is started, and what it is refused. */
  readonly onLaunch?: ((news: LaunchNews) => void) | undefined;
  /** Takes secrets out of errors; by default it knows the credentials of the definition. */
  readonly redactor?: Redactor | undefined;
  /** Gives up the first start. */
  readonly signal?: AbortSignal | undefined;
}

export async function openUpstream(options: UpstreamOptions): Promise<Upstream> {
  const redactor = options.redactor ?? redactorFor(options.definition.endpoint);
  const report: Report = (finding) =>
    options.report({
      ...finding,
      message: redactor.redactText(finding.message),
      ...(finding.hint === undefined ? {} : { hint: redactor.redactText(finding.hint) }),
    });
  const launches = createLaunchReports(options.definition.name, report, options.onLaunch);
  const upstream = new ServerUpstream({ ...options, report, redactor, launches });
  try {
    await upstream.start(options.signal);
  } catch (error) {
    throw withRedactedError(toPortolanError(error, { server: upstream.name }), redactor);
  }
  return upstream;
}

class ServerUpstream implements Upstream {
  readonly name: string;
  readonly #keeper: Keeper;
  readonly #emitter = new Emitter<UpstreamEvents>();
  readonly #subscriptions: Subscriptions;
  readonly #breaker = new Breaker();
  readonly #redactor: Redactor;
  readonly #launches: LaunchReports;
  readonly #past = { lateAnswers: 0, unknownAnswers: 0, noise: 0, declined: 0, ambiguous: 0 };
  #logLevel: LogLevel | undefined;
  #guard: PathGuard | undefined;
  /** List news of the last moment, and whether the same came again since. */
  readonly #recent = new Map<keyof UpstreamEvents, boolean>();

  constructor(options: UpstreamOptions & { redactor: Redactor; launches: LaunchReports }) {
    const { definition, reach, caller, ask, watch, report, eras, onStderr, launches } = options;
    this.#redactor = options.redactor;
    this.#launches = launches;
    this.name = definition.name;
    this.#logLevel = caller.logLevel;
    this.#subscriptions = new Subscriptions({
      caller,
      watching: watch,
      request: (call) => this.request(call),
      missed: () => this.#announceAll(),
    });
    this.#keeper = new Keeper({
      definition,
      reach: reach ?? definition.endpoint,
      caller,
      ask,
      report,
      eras,
      onStderr,
      onLaunch: (news) => {
        if (news.type === "planned")
          this.#guard = createPathGuard({
            server: this.name,
            check: news.checkPath,
            declared: definition.launch?.sandbox?.pathArguments,
            timeoutMs: definition.limits.requestTimeoutMs,
          });
        launches.onLaunch(news);
      },
      explain: launches.explain,
      notice: (event, ...args) => this.#noticed(event, ...args),
      opened: (session, again) => this.#opened(session, again),
      lost: (session) => this.#lost(session),
      stateChanged: (state) =>
        this.#emitter.emit("stateChanged", state, state === "ready" ? undefined : this.#keeper.lastError),
    });
  }

  start(signal: AbortSignal | undefined): Promise<void> {
    return this.#keeper.start(signal);
  }

  describe(): Description {
    // Set before anybody is given the upstream.
    return this.#keeper.description as Description;
  }

  request(call: Call): Promise<JsonObject> {
    const guarded = this.#guard?.(call);
    return guarded === undefined ? this.#request(call) : guarded.then(() => this.#request(call));
  }

  #request(call: Call): Promise<JsonObject> {
    const { session } = this.#keeper;
    if (session === undefined || !this.#breaker.closed) return this.#requestLater(call, 0);
    const sentAt = performance.now();
    return session
      .request(call)
      .catch((error: unknown) => this.#recover(error, call, { session, sentAt }, 0));
  }

  notify(method: string, params?: JsonObject): void {
    const { session } = this.#keeper;
    if (session !== undefined && !session.modern) session.peer.notify(method, params);
  }

  async subscribe(uri: string): Promise<() => Promise<void>> {
    await this.#keeper.ready(undefined);
    // In the modern era it does not go out as a request of its own.
    await this.#guard?.({ method: "resources/subscribe", params: { uri } });
    await this.#subscriptions.add(uri);
    let removed = false;
    return async () => {
      if (removed) return;
      removed = true;
      if (this.#keeper.state !== "closed") await this.#subscriptions.remove(uri);
    };
  }

  async setLogLevel(level: LogLevel): Promise<void> {
    this.#logLevel = level;
    const session = await this.#keeper.ready(undefined);
    session.setLogLevel(level);
    if (!session.modern && session.description.capabilities.logging !== undefined) {
      await this.request({ method: "logging/setLevel", params: { level } });
    }
  }

  on<E extends keyof UpstreamEvents>(event: E, listener: (...args: UpstreamEvents[E]) => void): () => void {
    return this.#emitter.on(event, listener);
  }

  stats(): UpstreamStats {
    const { session, restarts, probes } = this.#keeper;
    return {
      inFlight: session?.peer.pending.size ?? 0,
      lateAnswers: this.#past.lateAnswers + (session?.peer.lateAnswers ?? 0),
      unknownAnswers: this.#past.unknownAnswers + (session?.peer.unknownAnswers ?? 0),
      noise: this.#past.noise + (session?.peer.wire.counters.noise ?? 0),
      declined: this.#past.declined + (session?.declined ?? 0),
      ambiguous: this.#past.ambiguous + (session?.ambiguous ?? 0),
      restarts,
      eraProbes: probes,
    };
  }

  async close(): Promise<void> {
    await this.#keeper.close();
    this.#emitter.clear();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #requestLater(call: Call, attempt: number): Promise<JsonObject> {
    if (!this.#breaker.allows()) throw this.#keeper.unavailable();
    let session: Session;
    try {
      session = await this.#keeper.ready(call);
    } catch (error) {
      this.#breaker.undecided();
      throw error;
    }
    const sentAt = performance.now();
    try {
      const result = await session.request(call);
      this.#breaker.succeeded();
      return result;
    } catch (error) {
      return this.#recover(error, call, { session, sentAt }, attempt);
    }
  }

  /** Sends a failed request again when it cannot have run, or when running it twice does no harm. */
  async #recover(
    thrown: unknown,
    call: Call,
    { session, sentAt }: { session: Session; sentAt: number },
    attempt: number,
  ): Promise<JsonObject> {
    const failure = this.#launches.explain(toPortolanError(thrown, { server: this.name }), sentAt);
    const error = withRedactedError(failure, this.#redactor);
    const failing = isServerFailure(error);
    if (failing && session.peer.wire.perRequestStreams) {
      // Elsewhere a failure is the end of the connection, and the keeper counts those.
      this.#keeper.lastError = error;
      this.#breaker.failed(sentAt);
    } else if (error.code === "RPC_ERROR") {
      this.#breaker.succeeded();
    } else {
      this.#breaker.undecided();
    }
    if (call.signal?.aborted || this.#keeper.state === "closed") throw error;
    if (error.code === "SESSION_LOST" && attempt === 0) {
      this.#keeper.lose(session, error, 0);
      return this.#requestLater(call, attempt + 1);
    }
    const harmless = call.repeatable === true || HARMLESS.has(call.method) || error.data.neverRan === true;
    if (!failing || !harmless || attempt >= MAX_REPEATS) throw error;
    await pause(100 + Math.random() * 300, call.signal);
    return this.#requestLater(call, attempt + 1);
  }

  #opened(session: Session, again: boolean): void {
    if (this.#logLevel !== undefined) this.setLogLevel(this.#logLevel).catch(() => {});
    this.#subscriptions.attach(session);
    // What was listed before may have changed with the new session.
    if (again) this.#announceAll();
  }

  /** A storm of the same notice is one notice, and one more at the end. */
  #noticed<E extends keyof UpstreamEvents>(event: E, ...args: UpstreamEvents[E]): void {
    if (!LIST_NEWS.has(event)) return this.#emitter.emit(event, ...args);
    if (this.#recent.has(event)) {
      this.#recent.set(event, true);
      return;
    }
    this.#recent.set(event, false);
    this.#emitter.emit(event, ...args);
    setTimeout(() => {
      const again = this.#recent.get(event);
      this.#recent.delete(event);
      if (again === true) this.#noticed(event, ...args);
    }, STORM_MS).unref();
  }

  #announceAll(): void {
    this.#emitter.emit("toolsChanged");
    this.#emitter.emit("promptsChanged");
    this.#emitter.emit("resourcesChanged");
  }

  #lost(session: Session): void {
    this.#subscriptions.detach();
    this.#past.lateAnswers += session.peer.lateAnswers;
    this.#past.unknownAnswers += session.peer.unknownAnswers;
    this.#past.noise += session.peer.wire.counters.noise;
    this.#past.declined += session.declined;
    this.#past.ambiguous += session.ambiguous;
  }
}

/** Failures that say something about the server's health, as opposed to about one request. */
function isServerFailure(error: PortolanError): boolean {
  if (error.code === "HTTP_ERROR") return Number(error.data.status) >= 500;
  return error.code === "CONNECTION_LOST" || error.code === "SERVER_CRASHED";
}
