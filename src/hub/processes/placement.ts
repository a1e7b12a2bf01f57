// Placement: chooses the connection for each call to one server. It follows the caller's era where the server supports both,
// and uses a separate process or session where a server request would not show which caller it is for.

import { changedError, isPortolanError, type PortolanError } from "../../errors/index.ts";
import { type ServerConfig, type JsonObject, type LogLevel, RPC } from "../../model/index.ts";
import {
  type Call,
  type Caller,
  canAnswer,
  type Description,
  SessionSubscriptions,
  type Upstream,
} from "../../upstream/index.ts";
import { CallIsolation, type CallIsolationOptions } from "./call-isolation.ts";
import { LegacySessions, type LegacySessionsOptions } from "./legacy-sessions.ts";
import { targetOf } from "./server-request-history.ts";

/** Key of the one legacy session that all legacy callers of a modern process share. */
const COMMON = { owner: "" } as const;
const MAX_LEARNED = 2_000;

export interface PlacementOptions extends Omit<CallIsolationOptions, "open" | "maxDedicated"> {
  readonly config: Pick<ServerConfig, "endpoint" | "era" | "lanes">;
  readonly open: LegacySessionsOptions["open"];
  /** A legacy session was opened beside the main connection; its notifications concern the server too. */
  readonly sessionOpened?: (upstream: Upstream) => void;
  readonly unreachable?: LegacySessionsOptions["unreachable"];
}

/**
 * How calls are kept apart from the main connection:
 * - `shared`: not at all. The server is modern only, part of this program, or a local program over HTTP.
 * - `followCaller`: the main connection is modern; legacy callers get the legacy era, if the server supports it.
 * - `sessions`: the main connection is legacy, and another session needs no process.
 * - `processes`: the main connection is legacy and does not show which call a server request belongs to.
 */
type Policy = "shared" | "followCaller" | "sessions" | "processes";

export class Placement {
  #options: PlacementOptions;
  #policy: Policy = "shared";
  /** True when another session with the server needs no process. */
  #cheapSessions = false;
  readonly #processes: CallIsolation;
  readonly #sessions: LegacySessions;
  /** Dedicated processes beside the common legacy session of a server whose main process is modern. */
  readonly #legacyProcesses: CallIsolation;
  /** Subscriptions at the common legacy process, which reports its own changes. */
  readonly #legacySubscriptions = new SessionSubscriptions();
  /** True when the server requests of a target name their call, so that its calls can share a session. */
  readonly #related = new Map<string, boolean>();
  /** Targets that failed in the legacy era, and whether they work in the modern one. */
  readonly #modernOnly = new Map<string, "tryNext" | "yes" | "no">();

  constructor(options: PlacementOptions) {
    this.#options = options;
    this.#processes = new CallIsolation(isolationOptions(options, options.main));
    this.#sessions = new LegacySessions(this.#sessionsOptions());
    this.#legacyProcesses = new CallIsolation(this.#legacyIsolation());
  }

  /** Number of sessions and processes beside the main one. */
  get count(): number {
    return this.#processes.dedicatedCount + this.#sessions.size + this.#legacyProcesses.dedicatedCount;
  }

  /** Applies changed settings. */
  configure(options: PlacementOptions): void {
    this.#options = options;
    this.#processes.configure(isolationOptions(options, options.main));
    this.#sessions.configure(this.#sessionsOptions());
    this.#legacyProcesses.configure(this.#legacyIsolation());
  }

  /** A new main connection was opened. */
  describe({ era, transport }: Description): void {
    const { endpoint, era: pinned = "auto" } = this.#options.config;
    this.#cheapSessions = transport === "http" && !("program" in endpoint && endpoint.program !== undefined);
    // Contracts and mcpfiles run in this program and serve callers of both eras.
    if (endpoint.transport === "contracts" || endpoint.transport === "invoke") this.#policy = "shared";
    else if (era === "modern") this.#policy = pinned === "auto" ? "followCaller" : "shared";
    else if (transport !== "http") this.#policy = "processes";
    else this.#policy = this.#cheapSessions ? "sessions" : "shared";
    this.#sessions.reset();
  }

  request(main: Upstream, call: Call): Promise<JsonObject> {
    const { caller } = call;
    switch (this.#policy) {
      case "processes":
        return this.#processes.request(main, call);
      case "followCaller":
        if (caller?.id === undefined || !needsLegacy(caller)) return main.request(call);
        return this.#inLegacy(main, caller, caller.id, call);
      case "sessions":
        return this.#inSession(main, call);
      case "shared":
        return main.request(call);
    }
  }

  async subscribe(main: Pick<Upstream, "subscribe">, uri: string): Promise<() => Promise<void>> {
    const release = await main.subscribe(uri);
    const releaseLegacy = this.#legacySubscriptions.want(uri);
    return async () => {
      await Promise.all([release(), releaseLegacy().catch(() => {})]);
    };
  }

  /** A change of a client, such as of its roots, does not concern a session that serves one call at a time. */
  notify(method: string, params: JsonObject | undefined): void {
    const notify = (upstream: Upstream): void => upstream.notify(method, params);
    this.#processes.each(notify);
    this.#sessions.each(notify, "owned");
    this.#legacyProcesses.each(notify);
  }

  setLogLevel(level: LogLevel): void {
    const set = (upstream: Upstream): void => void upstream.setLogLevel(level).catch(() => {});
    this.#processes.each(set);
    this.#sessions.each(set, "all");
    this.#legacyProcesses.each(set);
  }

  /** The pins have changed, so the tools of everything beside the main connection are compared again. */
  recheck(): void {
    this.#processes.recheck();
    this.#sessions.recheck();
    this.#legacyProcesses.recheck();
  }

  /** Stops everything beside the main connection. Waiting calls are rejected with the reason. */
  async close(reason: PortolanError): Promise<void> {
    await Promise.all([
      this.#processes.close(reason),
      this.#legacyProcesses.close(reason),
      this.#sessions.close(),
    ]);
  }

  /** A legacy caller keeps its session. A call of another caller gets a session that no other call uses. */
  #inSession(main: Upstream, call: Call): Promise<JsonObject> {
    const { caller, onServerRequest } = call;
    if (caller?.id === undefined) return main.request(call);
    if (needsLegacy(caller)) {
      const key = { owner: caller.id, caller };
      return this.#sessions.request(
        key,
        call,
        (own) => own.request(call),
        () => main.request(call),
      );
    }
    const target = targetOf(call);
    if (onServerRequest === undefined || target === undefined) return main.request(call);
    const watched: Call = {
      ...call,
      onServerRequest: (request) => {
        this.#learnRelation(target, request.related === true);
        return onServerRequest(request);
      },
    };
    const mayShare = (): boolean => this.#related.get(target) === true;
    return this.#sessions.request(
      { mayShare },
      call,
      (own) => own.request(watched),
      () => main.request(watched),
    );
  }

  #learnRelation(target: string, related: boolean): void {
    const known = this.#related.get(target);
    if (known === false || known === related) return;
    if (this.#related.size >= MAX_LEARNED) this.#related.clear();
    this.#related.set(target, related);
    this.#sessions.wake();
  }

  /** Sends the call of a legacy caller to a server whose main connection is modern. */
  async #inLegacy(main: Upstream, caller: Caller, id: string, call: Call): Promise<JsonObject> {
    const cheapSessions = this.#cheapSessions;
    const target = targetOf(call);
    const known = target === undefined ? undefined : this.#modernOnly.get(target);
    if (target !== undefined && (known === "yes" || known === "tryNext"))
      return this.#inModern(main, target, call);
    let inLegacy = true;
    try {
      const result = await this.#sessions.request(
        cheapSessions ? { owner: id, caller } : COMMON,
        call,
        (own) => (cheapSessions ? own.request(call) : this.#legacyProcesses.request(own, call)),
        () => {
          inLegacy = false;
          return main.request(call);
        },
      );
      if (inLegacy && target !== undefined) this.#learn(target, "no");
      return result;
    } catch (error) {
      if (!inLegacy || target === undefined || !isPortolanError(error)) throw error;
      // After `input_required` the client repeats the call, so nothing runs twice.
      if (error.data.inputRequired === true) return this.#inModern(main, target, call);
      if (error.data.rpcCode !== RPC.INTERNAL || known === "no") throw error;
      this.#learn(target, "tryNext");
      throw this.#explain(error);
    }
  }

  /** Tries a target in the modern era that failed in the legacy era. It needs the modern era if it requests input there. */
  async #inModern(main: Upstream, target: string, call: Call): Promise<JsonObject> {
    const { onServerRequest } = call;
    let hasRequested = false;
    try {
      return await main.request({
        ...call,
        onServerRequest: onServerRequest && ((request) => ((hasRequested = true), onServerRequest(request))),
      });
    } finally {
      if (this.#modernOnly.get(target) !== "yes") this.#learn(target, hasRequested ? "yes" : "no");
    }
  }

  #learn(target: string, verdict: "tryNext" | "yes" | "no"): void {
    if (this.#modernOnly.get(target) === verdict) return;
    if (this.#modernOnly.size >= MAX_LEARNED) this.#modernOnly.clear();
    this.#modernOnly.set(target, verdict);
  }

  #explain(error: PortolanError): PortolanError {
    const { alias } = this.#options;
    const note = `Portolan called ${alias} with a legacy revision of MCP (2025-11-25 or older), because the client uses one. ${alias} also supports 2026-07-28, and Portolan uses that revision for the next request for this tool, prompt or resource. To use 2026-07-28 for every call, set "era: modern" in the config of ${alias}.`;
    return changedError(error, { message: `${error.message} (${note})`, hint: note });
  }

  #sessionsOptions(): LegacySessionsOptions {
    const { config, opened, sessionOpened, ...others } = this.#options;
    return {
      ...others,
      max: config.endpoint.transport === "http" ? config.lanes : undefined,
      opened: (upstream, owner) => {
        opened?.(upstream);
        sessionOpened?.(upstream);
        if (owner !== COMMON.owner) return;
        this.#legacySubscriptions.renew(upstream);
        upstream.on("stateChanged", (state) => {
          if (state === "closed" || state === "failed") this.#legacySubscriptions.detach(upstream);
        });
      },
    };
  }

  #legacyIsolation(): CallIsolationOptions {
    return isolationOptions(this.#options, () => this.#sessions.of(COMMON.owner));
  }
}

/** Only clients that answer server requests see a difference between the eras of a server. */
function needsLegacy({ era, capabilities }: Caller): boolean {
  return era === "legacy" && canAnswer(capabilities);
}

function isolationOptions(
  options: PlacementOptions,
  main: CallIsolationOptions["main"],
): CallIsolationOptions {
  const { config, open, sessionOpened: _sessions, ...others } = options;
  return { ...others, main, maxDedicated: config.lanes, open: (signal) => open(signal, undefined) };
}
