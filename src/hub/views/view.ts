// View: what one kind of client sees of a hub, as one upstream. It has some of the servers and some of their tools.

import { setTimeout as delay } from "node:timers/promises";
import { type Diagnostic, isPortolanError, PortolanError, toPortolanError } from "../../errors/index.ts";
import type { ServerConfig, JsonObject, LogLevel } from "../../model/index.ts";
import {
  NO_STATS,
  type Call,
  type Description,
  type Upstream,
  type UpstreamEvents,
  type UpstreamStats,
} from "../../upstream/index.ts";
import { trackPhase } from "../../telemetry/index.ts";
import type { CallChecks, RoutedCall } from "./call-checks.ts";
import { describeAlone, describeTogether } from "./description.ts";
import type { EventBus } from "../events.ts";
import { perform } from "./extra-tools.ts";
import { ListResults } from "./list-results.ts";
import type { Member } from "../member/member.ts";
import type { HubUser } from "../member/user-members.ts";
import { type OfferLogin, repeatAfterLogin } from "./login-offer.ts";
import {
  type KeptTools,
  merge,
  type Merged,
  type MergeSettings,
  type ToolRoute,
  type ViewTool,
} from "./merge.ts";
import { hubName } from "./naming.ts";
import { EMPTY } from "../member/inventory.ts";
import {
  findHidden,
  type Hidden,
  dottedName,
  isStarting,
  ownNameAt,
  ownerOf,
  promptRoute,
  startingOwner,
  toolRoute,
} from "./routing.ts";
import { fromHubTaskId, hasTaskId, watchTasks, withHubTaskIds } from "./tasks.ts";
import { ViewEvents, emitCallEvents } from "./view-events.ts";

export interface ViewOptions {
  readonly name: string;
  /** Selects servers. Default: all. */
  readonly includes?: (member: Member) => boolean;
  /** Selects tools. Default: all. */
  readonly admits?: (tool: ViewTool) => boolean;
  /**
   * Of servers that are not selected because their tools are unknown: whether the rules admit a tool of this name. A call of it
   * waits for the server, or learns why the server is down.
   */
  readonly admitsUnlisted?: (member: Member, own: string) => boolean;
  /** The rule that hides what a call names; undefined if no rule does. Called for calls without a route. */
  readonly hiddenBy?: (hidden: Hidden, call: Call) => string | undefined;
  /** True for a client that shows apps: it also sees the tools that only apps may call. */
  readonly appTools?: boolean;
  /** True when results may be cut on their way to the client. */
  readonly cutsResults?: boolean;
  /** The alias of the only server: it keeps its names, its identity and its own methods. */
  readonly alone?: string;
  /**
   * The caller of a gateway, who uses its own logins; `none` for callers that share the view. Default: the owner of the
   * workspace.
   */
  readonly user?: HubUser | "none";
  /** Gives the caller a link to a login that a request needs. */
  readonly offerLogin?: OfferLogin;
}

/** The part of a hub that a view uses. */
export interface ViewSource {
  membersOf(user: HubUser | "none" | undefined): readonly Member[];
  readonly settings: MergeSettings;
  readonly events: EventBus;
  readonly checks: CallChecks;
  readonly closed: boolean;
  /** The name of a server's tool in the whole hub. */
  fullToolName(alias: string, own: string): string;
  /** Called with the diagnostics of a merge. */
  merged(view: HubView, diagnostics: readonly Diagnostic[]): void;
}

/** The hint of a request to a workspace or bridge that the program has closed. */
export const CLOSED_HINT =
  "If your program closed the workspace or stopped the bridge: open or start it again, and use its new tools.";

/** Requests that are repeated after a login. */
const NEEDS_LOGIN: ReadonlySet<string> = new Set(["tools/call", "prompts/get", "resources/read"]);
/** The longest that a list waits for the first connection of its caller. */
const LIST_WAIT_MS = 5_000;

/** Settings of a view with only one server. */
const OWN_NAMES: MergeSettings = { naming: undefined, descriptionPrefix: false };

export class HubView implements Upstream {
  readonly name: string;
  readonly #options: ViewOptions;
  readonly #source: ViewSource;
  readonly #events = new ViewEvents();
  readonly #lists: ListResults;
  #merged: Merged | undefined;
  #kept = new WeakMap<Member, KeptTools>();
  /** The settings with which the tools were named, and those of the hub, whose names the access rules read. */
  #keptFor: { readonly own: MergeSettings; readonly hub: MergeSettings } | undefined;

  constructor(options: ViewOptions, source: ViewSource) {
    this.name = options.name;
    this.#options = options;
    this.#source = source;
    this.#lists = new ListResults(options.admits === undefined);
  }

  get members(): readonly Member[] {
    const { includes, user } = this.#options;
    const members = this.#source.membersOf(user);
    return includes === undefined ? members : members.filter(includes);
  }

  /** The servers to which a tool can belong that no server lists. */
  toolOwners(name: string): readonly Member[] {
    const { admitsUnlisted, user } = this.#options;
    const { members } = this;
    if (admitsUnlisted === undefined) return members;
    const unlisted = this.#source.membersOf(user).filter((member) => {
      const own = ownNameAt(member.alias, name, this.#settings.naming) ?? dottedName(member.alias, name);
      return own !== undefined && member.inventory === EMPTY && admitsUnlisted(member, own);
    });
    return [...new Set([...members, ...unlisted])];
  }

  /** The merged lists and routing tables. */
  get table(): Merged {
    if (this.#merged === undefined) {
      this.#checkKept();
      this.#merged = merge(this.members, this.#settings, {
        ...this.#options,
        kept: this.#kept,
        offersLogins: this.#options.offerLogin !== undefined,
      });
      this.#source.merged(this, this.#merged.diagnostics);
    }
    return this.#merged;
  }

  /** Kept tools are of no use with other settings, also when the view has only one server from now on. */
  #checkKept(): void {
    const [own, hub] = [this.#settings, this.#source.settings];
    if (this.#keptFor?.own === own && this.#keptFor.hub === hub) return;
    this.#kept = new WeakMap();
    this.#keptFor = { own, hub };
  }

  /** A server's lists or state changed. */
  outdated(): void {
    this.#merged = undefined;
    this.#lists.clear();
  }

  /** Emits list events if the lists that this view shows really changed. */
  announce(): void {
    this.#events.announce(this.table);
  }

  /** Relays an event of a server. */
  relay<E extends "resourceUpdated" | "log">(from: Member, event: E, ...args: UpstreamEvents[E]): void {
    if (this.#options.includes?.(from) === false) return;
    if (from.isPerCaller && !this.members.includes(from)) return;
    if (event === "resourceUpdated" && !this.#mayUpdate(from, args[0] as string)) return;
    this.#events.relay(event, ...args);
  }

  /** A server may only announce updates of its own resources. */
  #mayUpdate(from: Member, uri: string): boolean {
    try {
      return ownerOf(this, uri) === from;
    } catch {
      return true;
    }
  }

  describe(): Description {
    const alone = this.#alone();
    return alone === undefined ? describeTogether(this.name, this.members) : describeAlone(alone);
  }

  /** Not async, because every call passes here and usually waits for its server only. */
  request(call: Call): Promise<JsonObject> {
    const { offerLogin } = this.#options;
    if (offerLogin === undefined || !NEEDS_LOGIN.has(call.method)) return this.#attempt(call);
    return this.#attempt(call).catch((error: unknown) =>
      repeatAfterLogin(error, call, {
        offerLogin,
        attempt: () => this.#attempt(call),
        memberOf: (alias) => this.members.find((member) => member.alias === alias),
      }),
    );
  }

  #attempt(call: Call): Promise<JsonObject> {
    try {
      if (this.#source.closed) throw this.#closed(call);
      const { observation } = call;
      if (observation?.hasPhases !== true) return this.#dispatch(call);
      return trackPhase(observation.phase({ name: "hub", method: call.method }), () => this.#dispatch(call));
    } catch (error) {
      return Promise.reject(toPortolanError(error));
    }
  }

  /** Names the server of the tool or prompt, because the view itself is no server. */
  #closed({ method, params }: Call): PortolanError {
    const routes =
      method === "tools/call"
        ? this.table.toolRoutes
        : method === "prompts/get"
          ? this.table.promptRoutes
          : undefined;
    const name = String(params?.name);
    const server = routes?.get(name)?.member.alias;
    const what = server === undefined ? method : `${name} of ${server}`;
    return new PortolanError("CONNECTION_CLOSED", `${what} was not called: ${this.name} was closed`, {
      server,
      tool: method === "tools/call" && server !== undefined ? name : undefined,
      data: { neverRan: true },
      hint: CLOSED_HINT,
    });
  }

  notify(method: string, params?: JsonObject): void {
    for (const member of this.members) member.processes.notify(method, params);
  }

  async subscribe(uri: string): Promise<() => Promise<void>> {
    return ownerOf(this, uri).subscribe(uri);
  }

  async setLogLevel(level: LogLevel): Promise<void> {
    await Promise.allSettled(this.members.map((member) => member.processes.setLogLevel(level)));
  }

  on<E extends keyof UpstreamEvents>(event: E, listener: (...args: UpstreamEvents[E]) => void): () => void {
    return this.#events.on(event, listener, this.table);
  }

  stats(): UpstreamStats {
    return NO_STATS;
  }

  /** The servers belong to the hub and keep running. */
  async close(): Promise<void> {
    this.#events.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  get #settings(): MergeSettings {
    return this.#options.alone === undefined ? this.#source.settings : OWN_NAMES;
  }

  #alone(): Member | undefined {
    const { alone } = this.#options;
    return alone === undefined ? undefined : this.members.find(({ alias }) => alias === alone);
  }

  #dispatch(call: Call): Promise<JsonObject> {
    const params = call.params ?? {};
    switch (call.method) {
      case "tools/call":
        return this.#whenListed(call, "toolRoutes", (name) => this.#callTool(call, name));
      case "tools/list":
      case "prompts/list":
      case "resources/list":
      case "resources/templates/list":
        return this.#list(call.method);
      case "prompts/get":
        return this.#whenListed(call, "promptRoutes", (name) => this.#getPrompt(call, name));
      case "resources/read":
        return this.#read(call, String(params.uri));
      case "completion/complete":
        return this.#complete(call);
      case "subscriptions/listen":
        return this.#alone()?.request(call) ?? watchTasks(call, this.members);
      case "server/discover":
      case "ping":
        return Promise.resolve({});
      default:
        return this.#pass(call);
    }
  }

  async #list(method: Parameters<ListResults["of"]>[0]): Promise<JsonObject> {
    const alone = this.#alone();
    const waitsFor = (member: Member): boolean => member.isPerCaller || member === alone;
    const starting = this.members.filter((member) => waitsFor(member) && isStarting(member));
    // The first list of a caller contains the tools of its own connections, and the list of one server is that of a running one.
    if (starting.length > 0)
      await Promise.race([
        Promise.allSettled(starting.map((member) => member.start())),
        delay(LIST_WAIT_MS, undefined, { ref: false }),
      ]);
    // An empty list would look like a server without tools.
    if (alone?.unavailable !== undefined && this.table.tools.length === 0) throw alone.unavailable;
    return this.#lists.of(method, this.members, this.table);
  }

  /** A call of an unknown tool or prompt waits for the server of that name, if it is starting. */
  #whenListed(
    call: Call,
    routes: "toolRoutes" | "promptRoutes",
    send: (name: string) => Promise<JsonObject>,
  ): Promise<JsonObject> {
    const name = String(call.params?.name);
    if (this.table[routes].has(name)) return send(name);
    const members = routes === "toolRoutes" ? this.toolOwners(name) : this.members;
    const starting = startingOwner({ members }, name, this.#settings.naming);
    return starting === undefined ? send(name) : starting.listed(call).then(() => send(name));
  }

  #callTool(call: Call, name: string): Promise<JsonObject> {
    const route = this.#route(call, () => toolRoute(this, name, this.#settings.naming));
    const { member, action } = route;
    call.observation?.routed(member.alias, action.kind === "call" ? action.name : name);
    const { events, checks } = this.#source;
    const called = checks.isEmpty
      ? this.#named(member, perform(member, action, call))
      : checks.run(this.#toRouted(call, route), (checked) =>
          this.#named(member, perform(member, action, checked)),
        );
    return events.hearsCalls
      ? emitCallEvents(called, call, { server: member.alias, tool: name, events })
      : called;
  }

  #toRouted(call: Call, { member, own, annotations }: ToolRoute): RoutedCall {
    const { alias, config } = member;
    const name = this.#source.fullToolName(alias, own);
    const isContract = config.endpoint.transport === "contracts";
    return { call, tool: { name, own, alias, ...member.tagsOf(own), annotations }, isContract };
  }

  /** Records why a call has no route: its error does not tell that a rule hides the tool. */
  #route<R>(call: Call, find: () => R): R {
    try {
      return find();
    } catch (error) {
      this.#recordRefusal(call, error);
      throw error;
    }
  }

  #recordRefusal(call: Call, error: unknown): void {
    const { hiddenBy, alone, user } = this.#options;
    const { observation } = call;
    const isWithheld = isPortolanError(error) && error.code === "TOOL_WITHHELD";
    if (isWithheld ? observation === undefined : hiddenBy === undefined) return;
    const members = this.#source.membersOf(user);
    const inScope = alone === undefined ? members : members.filter(({ alias }) => alias === alone);
    const hidden = findHidden(inScope, call, this.#settings.naming);
    if (hidden === undefined) return;
    const rule = isWithheld ? undefined : hiddenBy?.(hidden, call);
    if (!isWithheld && rule === undefined) return;
    observation?.routed(hidden.member.alias, hidden.own);
    observation?.decide({ kind: "refused", by: isWithheld ? "pins" : "access rules", rule });
  }

  /** Adds the alias to task ids in the result. */
  #named(member: Member, answer: Promise<JsonObject>): Promise<JsonObject> {
    if (this.#options.alone !== undefined) return answer;
    return answer.then((result) => (hasTaskId(result) ? withHubTaskIds(result, member.alias) : result));
  }

  #getPrompt(call: Call, name: string): Promise<JsonObject> {
    const route = this.#route(call, () => promptRoute(this, name, this.#settings.naming));
    call.observation?.routed(route.member.alias, route.name);
    return route.member.request({ ...call, params: { ...call.params, name: route.name } });
  }

  #read(call: Call, uri: string): Promise<JsonObject> {
    const owner = this.#route(call, () => ownerOf(this, uri));
    call.observation?.routed(owner.alias, uri);
    return owner.request(call);
  }

  #complete(call: Call): Promise<JsonObject> {
    const ref = (call.params?.ref ?? {}) as { type?: string; name?: string; uri?: string };
    if (ref.type === "ref/resource") return ownerOf(this, String(ref.uri)).request(call);
    const route = promptRoute(this, String(ref.name), this.#settings.naming);
    return route.member.request({ ...call, params: { ...call.params, ref: { ...ref, name: route.name } } });
  }

  /** Sends other methods: about a task, or to the only server of the view. */
  #pass(call: Call): Promise<JsonObject> {
    // The list would show the tasks of all clients of the server.
    if (call.method === "tasks/list") throw this.#notSupported(call.method);
    const alone = this.#alone();
    if (alone !== undefined) return alone.request(call);
    const task = call.method.startsWith("tasks/") ? fromHubTaskId(String(call.params?.taskId)) : undefined;
    const owner = this.members.find(({ alias }) => alias === task?.alias);
    if (task !== undefined && owner !== undefined)
      return this.#named(owner, owner.request({ ...call, params: { ...call.params, taskId: task.id } }));
    throw this.#notSupported(call.method);
  }

  #notSupported(method: string): PortolanError {
    return new PortolanError("NOT_SUPPORTED", `${method} is not supported by ${this.name}`, {
      server: this.name,
    });
  }

  /** The full name of a tool or prompt that may be given as `alias.tool`. */
  fullName(name: string, serverOf: (alias: string) => ServerConfig): string {
    const { toolRoutes, promptRoutes } = this.table;
    if (typeof name !== "string" || toolRoutes.has(name) || promptRoutes.has(name)) return name;
    const dot = name.indexOf(".");
    if (dot === -1) return name;
    return hubName(this.#settings.naming, serverOf(name.slice(0, dot)), name.slice(dot + 1));
  }
}
