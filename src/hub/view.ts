// What one kind of client sees of a hub: some of its servers, some of their tools, as one upstream.

import {
  type Diagnostic,
  didYouMean,
  isPortolanError,
  PortolanError,
  toPortolanError,
} from "../errors/index.ts";
import type { DeclaredServer, JsonObject, LogLevel } from "../model/index.ts";
import { VERSION } from "../tools/index.ts";
import {
  type Call,
  type Description,
  Emitter,
  type Upstream,
  type UpstreamEvents,
  type UpstreamStats,
} from "../upstream/index.ts";
import { mergedCapabilities, ownCapabilities } from "./capabilities.ts";
import type { EventBus } from "./events.ts";
import { perform } from "./extra-tools.ts";
import type { CacheHint, HintedList, ListName } from "./inventory.ts";
import type { Member } from "./member.ts";
import { merge, type Merged, type MergeSettings, type OfferedTool } from "./merge.ts";
import { hubName } from "./naming.ts";
import { fromHubTaskId, hasTaskId, withHubTaskIds } from "./task-ids.ts";

export interface ViewOptions {
  readonly name: string;
  /** Which servers; all of them unless told. */
  readonly includes?: ((member: Member) => boolean) | undefined;
  /** Which of their tools. */
  readonly admits?: ((tool: OfferedTool) => boolean) | undefined;
  /** Results may be cut on their way to the client. */
  readonly cutsResults?: boolean | undefined;
  /** The one server that this is about: it keeps its names, its identity and methods of its own. */
  readonly alone?: string | undefined;
}

/** What a view needs of its hub. */
export interface ViewSource {
  readonly members: readonly Member[];
  readonly settings: MergeSettings;
  readonly events: EventBus;
  readonly closed: boolean;
  readonly report: (diagnostic: Diagnostic) => void;
}

/** How long a list of a server that says nothing about it may be kept; a change is announced before. */
const DEFAULT_TTL_MS = 60_000;

const LISTS = {
  "tools/list": { field: "tools", list: "tools" },
  "prompts/list": { field: "prompts", list: "prompts" },
  "resources/list": { field: "resources", list: "resources" },
  "resources/templates/list": { field: "resourceTemplates", list: "resources" },
} as const;

export class HubView implements Upstream {
  readonly name: string;
  readonly #options: ViewOptions;
  readonly #source: ViewSource;
  readonly #emitter = new Emitter<UpstreamEvents>();
  #merged: Merged | undefined;
  /** List results as they are given out: the same objects until something changes. */
  readonly #results = new Map<HintedList, JsonObject>();
  #told = new Set<string>();
  #lastTools: string | undefined;
  #lastPrompts: string | undefined;
  #lastResources: string | undefined;

  constructor(options: ViewOptions, source: ViewSource) {
    this.name = options.name;
    this.#options = options;
    this.#source = source;
  }

  get members(): readonly Member[] {
    const { includes } = this.#options;
    return includes === undefined ? this.#source.members : this.#source.members.filter(includes);
  }

  /** Everything in this view with the table that says which server each name belongs to. */
  get table(): Merged {
    if (this.#merged === undefined) {
      this.#merged = merge(this.members, this.#settings, this.#options);
      const told = this.#told;
      this.#told = new Set();
      for (const diagnostic of this.#merged.diagnostics) {
        // Lists are merged again with every change; what was odd before is not news.
        if (!told.has(diagnostic.message)) this.#source.report(diagnostic);
        this.#told.add(diagnostic.message);
      }
    }
    return this.#merged;
  }

  /** Something of a server is not what it was. */
  outdated(): void {
    this.#merged = undefined;
    this.#results.clear();
  }

  /** Tells those who listen, when what they see really differs. */
  announce(lists: ReadonlySet<ListName>): void {
    const { tools, prompts } = this.table;
    if (lists.has("tools") && this.#lastTools !== (this.#lastTools = JSON.stringify(tools)))
      this.#emitter.emit("toolsChanged");
    if (lists.has("prompts") && this.#lastPrompts !== (this.#lastPrompts = JSON.stringify(prompts)))
      this.#emitter.emit("promptsChanged");
    if (lists.has("resources") && this.#lastResources !== (this.#lastResources = this.#resourcesText()))
      this.#emitter.emit("resourcesChanged");
  }

  /** Passes on something that a server said by itself. */
  relay<E extends "resourceUpdated" | "log">(from: Member, event: E, ...args: UpstreamEvents[E]): void {
    if (this.#options.includes?.(from) !== false) this.#emitter.emit(event, ...args);
  }

  describe(): Description {
    const said = this.members.flatMap(({ alias, inventory: { instructions } }) =>
      instructions === undefined ? [] : [{ alias, instructions }],
    );
    const base = { era: "modern", revision: "2026-07-28", transport: "memory" } as const;
    const alone = this.#alone();
    if (alone !== undefined) {
      return {
        ...base,
        info: alone.inventory.info ?? { name: alone.alias, version: "unknown" },
        capabilities: ownCapabilities(alone.inventory),
        instructions: said[0]?.instructions,
      };
    }
    const enabled = this.members.filter(({ declared }) => declared.enabled);
    return {
      ...base,
      info: { name: this.name, version: VERSION },
      capabilities: mergedCapabilities(enabled.map(({ inventory }) => inventory)),
      instructions:
        said.length === 0
          ? undefined
          : said.map(({ alias, instructions }) => `## ${alias}\n\n${instructions}`).join("\n\n"),
    };
  }

  /** Not async: every call passes here, and most have nothing to wait for but their server. */
  request(call: Call): Promise<JsonObject> {
    try {
      if (this.#source.closed)
        throw new PortolanError("CONNECTION_CLOSED", `${this.name} is closed`, { server: this.name });
      return this.#dispatch(call);
    } catch (error) {
      return Promise.reject(toPortolanError(error));
    }
  }

  notify(method: string, params?: JsonObject): void {
    for (const member of this.members) member.notify(method, params);
  }

  async subscribe(uri: string): Promise<() => Promise<void>> {
    return this.#ownerOf(uri).subscribe(uri);
  }

  async setLogLevel(level: LogLevel): Promise<void> {
    await Promise.allSettled(this.members.map((member) => member.setLogLevel(level)));
  }

  on<E extends keyof UpstreamEvents>(event: E, listener: (...args: UpstreamEvents[E]) => void): () => void {
    // From now on it matters what was there before.
    this.#lastTools ??= JSON.stringify(this.table.tools);
    this.#lastPrompts ??= JSON.stringify(this.table.prompts);
    this.#lastResources ??= this.#resourcesText();
    return this.#emitter.on(event, listener);
  }

  stats(): UpstreamStats {
    return {
      inFlight: 0,
      lateAnswers: 0,
      unknownAnswers: 0,
      noise: 0,
      declined: 0,
      restarts: 0,
      eraProbes: 0,
    };
  }

  /** The servers belong to the hub, and go on. */
  async close(): Promise<void> {
    this.#emitter.clear();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #resourcesText(): string {
    const { resources, templates } = this.table;
    return JSON.stringify([resources, templates]);
  }

  get #settings(): MergeSettings {
    return this.#options.alone === undefined
      ? this.#source.settings
      : { naming: "{tool}", descriptionPrefix: false };
  }

  #alone(): Member | undefined {
    const { alone } = this.#options;
    return alone === undefined ? undefined : this.members.find(({ alias }) => alias === alone);
  }

  #dispatch(call: Call): Promise<JsonObject> {
    const params = call.params ?? {};
    switch (call.method) {
      case "tools/call":
        return this.#callTool(call, String(params.name));
      case "tools/list":
      case "prompts/list":
      case "resources/list":
      case "resources/templates/list":
        return Promise.resolve(this.#list(call.method));
      case "prompts/get":
        return this.#getPrompt(call, String(params.name));
      case "resources/read":
        return this.#ownerOf(String(params.uri)).request(call);
      case "completion/complete":
        return this.#complete(call);
      case "server/discover":
      case "ping":
        return Promise.resolve({});
      default:
        return this.#pass(call);
    }
  }

  #list(method: keyof typeof LISTS): JsonObject {
    const { field, list } = LISTS[method];
    const { members } = this;
    const alone = this.#alone();
    // An empty list would read as a server that has nothing.
    if (alone?.unavailable !== undefined && alone.inventory.tools.length === 0) throw alone.unavailable;
    for (const member of members) member.stock.refreshWhenOld(list, field);
    let result = this.#results.get(field);
    if (result === undefined) {
      const { table } = this;
      const items = { ...table, resourceTemplates: table.templates }[field];
      const hints = members.map(({ inventory }) => inventory.hints?.[field]);
      result = { [field]: items, ...this.#hint(hints) };
      this.#results.set(field, result);
    }
    return result;
  }

  /** As short as the shortest, and private when any part is, or when others see something else. */
  #hint(hints: readonly (CacheHint | undefined)[]): JsonObject {
    const isPublic =
      this.#options.admits === undefined &&
      hints.length > 0 &&
      hints.every((hint) => hint?.cacheScope === "public");
    return {
      ttlMs: Math.min(...hints.map((hint) => hint?.ttlMs ?? DEFAULT_TTL_MS), DEFAULT_TTL_MS),
      cacheScope: isPublic ? "public" : "private",
    };
  }

  #callTool(call: Call, name: string): Promise<JsonObject> {
    const route = this.table.toolRoutes.get(name);
    if (route === undefined) throw this.#down(name) ?? this.#noTool(name);
    const { member, action } = route;
    const { events } = this.#source;
    const called = this.#named(member, perform(member, action, call));
    return events.hearsCalls ? this.#watched(called, call, member.alias, name) : called;
  }

  #noTool(name: string): PortolanError {
    const hint = didYouMean(name, this.table.toolRoutes.keys());
    return new PortolanError("TOOL_NOT_FOUND", `no server here has a tool "${name}"`, { tool: name, hint });
  }

  /** Why the server is not there that a name can only be of; its tools may never have been seen. */
  #down(name: string): PortolanError | undefined {
    const { naming } = this.#settings;
    for (const member of this.members) {
      const prefix = naming.slice(0, naming.indexOf("{tool}")).replaceAll("{alias}", member.alias);
      if (prefix.includes(member.alias) && name.startsWith(prefix) && member.unavailable !== undefined)
        return member.unavailable;
    }
    return undefined;
  }

  /** Ids in the result become those that this view can find again. */
  #named(member: Member, answer: Promise<JsonObject>): Promise<JsonObject> {
    if (this.#options.alone !== undefined) return answer;
    return answer.then((result) => (hasTaskId(result) ? withHubTaskIds(result, member.alias) : result));
  }

  async #watched(called: Promise<JsonObject>, call: Call, server: string, tool: string): Promise<JsonObject> {
    const { events } = this.#source;
    const started = performance.now();
    const seen = {
      server,
      tool,
      ...(call.caller?.account === undefined ? {} : { caller: call.caller.account }),
      argumentKeys: Object.keys(call.params?.arguments ?? {}).toSorted(),
      inputBytes: size(call.params?.arguments),
    };
    try {
      const result = await called;
      const done = { ...seen, durationMs: performance.now() - started, outputBytes: size(result) };
      if (result.isError === true) events.emit({ type: "mcp.tool_failed", ...done, code: "TOOL_FAILED" });
      else events.emit({ type: "mcp.tool_called", ...done });
      return result;
    } catch (error) {
      const failed = isPortolanError(error) ? { code: error.code, reason: error.message } : {};
      events.emit({
        type: "mcp.tool_failed",
        ...seen,
        durationMs: performance.now() - started,
        ...failed,
      });
      throw error;
    }
  }

  #getPrompt(call: Call, name: string): Promise<JsonObject> {
    const route = this.#promptRoute(name);
    return route.member.request({ ...call, params: { ...call.params, name: route.name } });
  }

  #complete(call: Call): Promise<JsonObject> {
    const ref = (call.params?.ref ?? {}) as { type?: string; name?: string; uri?: string };
    if (ref.type === "ref/resource") return this.#ownerOf(String(ref.uri)).request(call);
    const route = this.#promptRoute(String(ref.name));
    return route.member.request({ ...call, params: { ...call.params, ref: { ...ref, name: route.name } } });
  }

  /** Methods that are no part of the core: about a task, or of a server that is alone. */
  #pass(call: Call): Promise<JsonObject> {
    // Its tasks are those of all clients that share the server.
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
    return new PortolanError("NOT_SUPPORTED", `${method} cannot be sent to a server that others use too`, {
      server: this.name,
    });
  }

  #promptRoute(name: string): { member: Member; name: string } {
    const { promptRoutes } = this.table;
    const route = promptRoutes.get(name);
    if (route !== undefined) return route;
    throw new PortolanError("PROMPT_NOT_FOUND", `no server here has a prompt "${name}"`, {
      hint: didYouMean(name, promptRoutes.keys()),
    });
  }

  /** Whose resource this is: by the lists, by the templates, or because only one server has resources at all. */
  #ownerOf(uri: string): Member {
    const { resourceRoutes, templateRoutes } = this.table;
    const found =
      resourceRoutes.get(uri) ??
      templateRoutes.find(({ template, matches }) => template === uri || matches(uri))?.member;
    if (found !== undefined) return found;
    const having = this.members.filter(({ inventory }) => inventory.capabilities.resources !== undefined);
    if (having.length === 1) return having[0] as Member;
    throw new PortolanError("RESOURCE_NOT_FOUND", `no server here is known to have ${uri.slice(0, 200)}`, {
      data: { uri },
    });
  }

  /** The full name of a tool or prompt that may be given as `alias.tool`. */
  fullName(name: string, serverOf: (alias: string) => DeclaredServer): string {
    const { toolRoutes, promptRoutes } = this.table;
    if (typeof name !== "string" || toolRoutes.has(name) || promptRoutes.has(name)) return name;
    const dot = name.indexOf(".");
    if (dot === -1) return name;
    return hubName(this.#settings.naming, serverOf(name.slice(0, dot)), name.slice(dot + 1));
  }
}

function size(value: unknown): number {
  try {
    return Buffer.byteLength(JSON.stringify(value) ?? "");
  } catch {
    return -1;
  }
}
