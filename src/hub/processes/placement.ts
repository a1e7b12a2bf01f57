// Chooses the connection for each call to one server: the caller's era where the server speaks both, and a process or a
// session of its own where a server request would not say which caller it is for.

import { isPortolanError, PortolanError } from "../../errors/index.ts";
import { type DeclaredServer, type JsonObject, type LogLevel, RPC } from "../../model/index.ts";
import { type Call, type Caller, canAnswer, type Description, type Upstream } from "../../upstream/index.ts";
import { thingOf } from "./server-request-history.ts";
import { Lanes, type LanesOptions } from "./call-isolation.ts";
import { LegacySessions, type LegacySessionsOptions } from "./legacy-sessions.ts";
import { MirroredSubscriptions } from "./mirrored-subscriptions.ts";

/** The one legacy session that all legacy callers of a modern process share. */
const COMMON = { owner: "" } as const;
const MAX_LEARNED = 2_000;

export interface PlacementOptions extends Omit<LanesOptions, "open" | "maxSpares"> {
  readonly declared: Pick<DeclaredServer, "endpoint" | "era" | "lanes">;
  readonly open: LegacySessionsOptions["open"];
  /** A legacy session beside the main connection was opened: its notifications are those of the server too. */
  readonly sessionOpened?: ((upstream: Upstream) => void) | undefined;
}

/**
 * How calls are kept apart from the main connection:
 * - `shared`: not at all. The server, or its config, has only the modern era.
 * - `followCaller`: the main connection is modern; legacy callers get the legacy era, if the server speaks it too.
 * - `sessions`: the main connection is legacy, and another session costs no process.
 * - `processes`: the main connection is legacy and does not say which call a server request is about.
 */
type Policy = "shared" | "followCaller" | "sessions" | "processes";

export class Placement {
  #options: PlacementOptions;
  #policy: Policy = "shared";
  /** Another session with the server is only another session, not another process. */
  #cheapSessions = false;
  readonly #processes: Lanes;
  readonly #sessions: LegacySessions;
  /** Processes beside the common legacy session of a server whose main process is modern. */
  readonly #legacyProcesses: Lanes;
  readonly #subscriptions = new MirroredSubscriptions();
  /** Whether the server requests of a tool said which call they were for, so that its calls can share a session. */
  readonly #related = new Map<string, boolean>();
  /** Tools that failed for a legacy caller in the legacy era: whether they work in the modern one. */
  readonly #modernOnly = new Map<string, "tryNext" | "yes" | "no">();

  constructor(options: PlacementOptions) {
    this.#options = options;
    this.#processes = new Lanes(lanesOptions(options, options.main));
    this.#sessions = new LegacySessions(this.#sessionsOptions());
    this.#legacyProcesses = new Lanes(this.#legacyLanes());
  }

  /** Sessions and processes beside the main one. */
  get count(): number {
    return this.#processes.spares + this.#sessions.size + this.#legacyProcesses.spares;
  }

  /** Goes on for another owner. */
  configure(options: PlacementOptions): void {
    this.#options = options;
    this.#processes.configure(lanesOptions(options, options.main));
    this.#sessions.configure(this.#sessionsOptions());
    this.#legacyProcesses.configure(this.#legacyLanes());
  }

  /** The main connection is this one from now on. */
  describe({ era, transport }: Description): void {
    const { endpoint, era: pinned = "auto" } = this.#options.declared;
    this.#cheapSessions = transport === "http" && !("program" in endpoint && endpoint.program !== undefined);
    // Contracts and mcpfiles run in this program, for callers of both eras: another one would have servers of its own.
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

  subscribe(main: Pick<Upstream, "subscribe">, uri: string): Promise<() => Promise<void>> {
    return this.#subscriptions.add(main, uri);
  }

  /** A change of a client, such as of its roots, means nothing to a session that serves one call at a time. */
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

  /** Closes what is beside the main connection. Calls that wait for a process fail with the reason. */
  async close(reason: PortolanError): Promise<void> {
    await Promise.all([
      this.#processes.close(reason),
      this.#legacyProcesses.close(reason),
      this.#sessions.close(),
    ]);
  }

  /** A legacy caller keeps its session; the call of another caller takes one that no other call uses. */
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
    const thing = thingOf(call);
    if (onServerRequest === undefined || thing === undefined) return main.request(call);
    const watched: Call = {
      ...call,
      onServerRequest: (request) => {
        this.#learnRelation(thing, request.related === true);
        return onServerRequest(request);
      },
    };
    const mayShare = (): boolean => this.#related.get(thing) === true;
    return this.#sessions.request(
      { mayShare },
      call,
      (own) => own.request(watched),
      () => main.request(watched),
    );
  }

  #learnRelation(thing: string, related: boolean): void {
    const known = this.#related.get(thing);
    if (known === false || known === related) return;
    if (this.#related.size >= MAX_LEARNED) this.#related.clear();
    this.#related.set(thing, related);
    this.#sessions.wake();
  }

  /** A call of a legacy caller to a server whose main connection is modern. */
  async #inLegacy(main: Upstream, caller: Caller, id: string, call: Call): Promise<JsonObject> {
    const cheapSessions = this.#cheapSessions;
    const thing = thingOf(call);
    const known = thing === undefined ? undefined : this.#modernOnly.get(thing);
    if (thing !== undefined && (known === "yes" || known === "tryNext"))
      return this.#inModern(main, thing, call);
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
      if (inLegacy && thing !== undefined) this.#learn(thing, "no");
      return result;
    } catch (error) {
      if (!inLegacy || thing === undefined || !isPortolanError(error)) throw error;
      // By the rules of `input_required` the first round is to be sent again, so nothing runs twice.
      if (error.data.inputRequired === true) return this.#inModern(main, thing, call);
      if (error.data.rpcCode !== RPC.INTERNAL || known === "no") throw error;
      this.#learn(thing, "tryNext");
      throw this.#explain(error);
    }
  }

  /** A tool that failed in the legacy era; it belongs to the modern one when it asks for input there. */
  async #inModern(main: Upstream, thing: string, call: Call): Promise<JsonObject> {
    const { onServerRequest } = call;
    let hasRequested = false;
    try {
      return await main.request({
        ...call,
        onServerRequest: onServerRequest && ((request) => ((hasRequested = true), onServerRequest(request))),
      });
    } finally {
      if (this.#modernOnly.get(thing) !== "yes") this.#learn(thing, hasRequested ? "yes" : "no");
    }
  }

  #learn(thing: string, verdict: "tryNext" | "yes" | "no"): void {
    if (this.#modernOnly.get(thing) === verdict) return;
    if (this.#modernOnly.size >= MAX_LEARNED) this.#modernOnly.clear();
    this.#modernOnly.set(thing, verdict);
  }

  #explain({ code, message, data, server, tool, cause }: PortolanError): PortolanError {
    const { alias } = this.#options;
    const note = `${alias} speaks both protocol eras and was called in the legacy era of this client. The next call of this tool uses the modern era; "era: modern" in the config of ${alias} makes every call do so.`;
    return new PortolanError(code, `${message} (${note})`, { data, server, tool, cause, hint: note });
  }

  #sessionsOptions(): LegacySessionsOptions {
    const { declared, opened, sessionOpened, ...others } = this.#options;
    return {
      ...others,
      max: declared.endpoint.transport === "http" ? declared.lanes : undefined,
      opened: (upstream, owner) => {
        opened?.(upstream);
        sessionOpened?.(upstream);
        if (owner === COMMON.owner) this.#subscriptions.attach(upstream);
      },
    };
  }

  #legacyLanes(): LanesOptions {
    return lanesOptions(this.#options, () => this.#sessions.of(COMMON.owner));
  }
}

/** Only a client that answers server requests can tell the eras of a server apart. */
function needsLegacy({ era, capabilities }: Caller): boolean {
  return era === "legacy" && canAnswer(capabilities);
}

function lanesOptions(options: PlacementOptions, main: LanesOptions["main"]): LanesOptions {
  const { declared, open, sessionOpened: _sessions, ...others } = options;
  return { ...others, main, maxSpares: declared.lanes, open: (signal) => open(signal, undefined) };
}
