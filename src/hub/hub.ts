// Many servers as one: an upstream whose tools, prompts and resources are those of its members.

import { type Diagnostic, didYouMean, isPortolanError, PortolanError, type Report } from "../errors/index.ts";
import type { JsonObject, LogLevel, LogMessage, ServerCapabilities } from "../model/index.ts";
import {
  type Call,
  type Description,
  Emitter,
  type Upstream,
  type UpstreamEvents,
  type UpstreamStats,
} from "../upstream/index.ts";
import { VERSION } from "../tools/index.ts";
import type { EventBus } from "./events.ts";
import { perform } from "./extra-tools.ts";
import type { ListName } from "./inventory.ts";
import { type Merged, merge, type MergeSettings } from "./merge.ts";
import type { Member } from "./member.ts";
import { hubName } from "./naming.ts";

/** A merged list holds until something changes, which is announced. */
const KEPT_MS = 24 * 3_600_000;

const CAPABILITIES: ServerCapabilities = {
  tools: { listChanged: true },
  prompts: { listChanged: true },
  resources: { listChanged: true, subscribe: true },
  completions: {},
  logging: {},
};

export class Hub implements Upstream {
  readonly name: string;
  readonly #members = new Map<string, Member>();
  #settings: MergeSettings;
  readonly #events: EventBus;
  readonly #report: Report;
  readonly #emitter = new Emitter<UpstreamEvents>();
  #merged: Merged | undefined;
  #told = new Set<string>();
  #lastTools = "";
  #lastPrompts = "";
  #announcing = new Set<ListName>();
  #closed = false;

  constructor(options: { name: string; settings: MergeSettings; events: EventBus; report: Report }) {
    this.name = options.name;
    this.#settings = options.settings;
    this.#events = options.events;
    this.#report = options.report;
  }

  get members(): readonly Member[] {
    return [...this.#members.values()];
  }

  get diagnostics(): readonly Diagnostic[] {
    return this.#table().diagnostics;
  }

  member(alias: string): Member {
    const found = this.#members.get(alias);
    if (found !== undefined) return found;
    throw new PortolanError("SERVER_UNKNOWN", `there is no server "${alias}" here`, {
      hint: didYouMean(alias, this.#members.keys()),
    });
  }

  get closed(): boolean {
    return this.#closed;
  }

  /** Names are a function of these settings, so new ones rename everything. */
  configure(settings: MergeSettings): void {
    this.#settings = settings;
    this.changed(new Set(["tools", "prompts"]));
  }

  /** A member with the alias of another takes its place. */
  add(member: Member): void {
    this.#members.set(member.alias, member);
    this.changed(new Set(["tools", "prompts", "resources"]));
  }

  async remove(alias: string): Promise<void> {
    const member = this.#members.get(alias);
    if (member === undefined) return;
    this.#members.delete(alias);
    this.changed(new Set(["tools", "prompts", "resources"]));
    await member.stop();
  }

  /** Something of a member is not what it was. Announced once per turn, and only when the merged list really differs. */
  changed(lists: ReadonlySet<ListName>): void {
    this.#merged = undefined;
    if (this.#announcing.size === 0) setImmediate(() => this.#announce());
    for (const list of lists) this.#announcing.add(list);
  }

  resourceUpdated(uri: string): void {
    this.#emitter.emit("resourceUpdated", uri);
  }

  logged(message: JsonObject): void {
    this.#emitter.emit("log", message as LogMessage);
  }

  /** The full name of a tool that may be given as `alias.tool`. */
  toolName(name: string): string {
    const { toolRoutes, promptRoutes } = this.#table();
    if (typeof name !== "string" || toolRoutes.has(name) || promptRoutes.has(name)) return name;
    const dot = name.indexOf(".");
    if (dot === -1) return name;
    return hubName(this.#settings.naming, this.member(name.slice(0, dot)).alias, name.slice(dot + 1));
  }

  describe(): Description {
    const instructions = this.members.flatMap(({ alias, description }) =>
      description?.instructions === undefined ? [] : [`## ${alias}\n\n${description.instructions}`],
    );
    return {
      info: { name: this.name, version: VERSION },
      era: "modern",
      revision: "2026-07-28",
      transport: "memory",
      capabilities: CAPABILITIES,
      instructions: instructions.length === 0 ? undefined : instructions.join("\n\n"),
    };
  }

  async request(call: Call): Promise<JsonObject> {
    if (this.#closed)
      throw new PortolanError("CONNECTION_CLOSED", `${this.name} is closed`, { server: this.name });
    const params = call.params ?? {};
    const table = this.#table();
    switch (call.method) {
      case "tools/list":
        return { tools: [...table.tools], ttlMs: KEPT_MS };
      case "prompts/list":
        return { prompts: [...table.prompts], ttlMs: KEPT_MS };
      case "resources/list":
        return { resources: [...table.resources], ttlMs: KEPT_MS };
      case "resources/templates/list":
        return { resourceTemplates: [...table.templates], ttlMs: KEPT_MS };
      case "tools/call":
        return this.#callTool(call, String(params.name));
      case "prompts/get":
        return this.#getPrompt(call, String(params.name));
      case "resources/read":
        return this.#ownerOf(String(params.uri)).request(call);
      case "completion/complete":
        return this.#complete(call);
      case "server/discover":
      case "ping":
        return {};
      default:
        throw new PortolanError("NOT_SUPPORTED", `${call.method} cannot be sent to many servers at once`, {
          server: this.name,
        });
    }
  }

  notify(method: string, params?: JsonObject): void {
    for (const member of this.#members.values()) member.notify(method, params);
  }

  subscribe(uri: string): Promise<() => Promise<void>> {
    return this.#ownerOf(uri).subscribe(uri);
  }

  async setLogLevel(level: LogLevel): Promise<void> {
    await Promise.allSettled(this.members.map((member) => member.setLogLevel(level)));
  }

  on<E extends keyof UpstreamEvents>(event: E, listener: (...args: UpstreamEvents[E]) => void): () => void {
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

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    await Promise.allSettled(this.members.map((member) => member.stop()));
    this.#emitter.clear();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #callTool(call: Call, name: string): Promise<JsonObject> {
    const route = this.#table().toolRoutes.get(name);
    if (route === undefined) {
      const hint = didYouMean(name, this.#table().toolRoutes.keys());
      throw new PortolanError("TOOL_NOT_FOUND", `no server here has a tool "${name}"`, { tool: name, hint });
    }
    const { member, action } = route;
    if (!this.#events.heard) return perform(member, action, call);
    const started = performance.now();
    const seen = {
      server: member.alias,
      tool: name,
      argumentKeys: Object.keys(call.params?.arguments ?? {}).toSorted(),
      inputBytes: size(call.params?.arguments),
    };
    try {
      const result = await perform(member, action, call);
      const done = { ...seen, durationMs: performance.now() - started, outputBytes: size(result) };
      if (result.isError === true)
        this.#events.emit({ type: "mcp.tool_failed", ...done, code: "TOOL_FAILED" });
      else this.#events.emit({ type: "mcp.tool_called", ...done });
      return result;
    } catch (error) {
      const failed = isPortolanError(error) ? { code: error.code, reason: error.message } : {};
      this.#events.emit({
        type: "mcp.tool_failed",
        ...seen,
        durationMs: performance.now() - started,
        ...failed,
      });
      throw error;
    }
  }

  async #getPrompt(call: Call, name: string): Promise<JsonObject> {
    const route = this.#promptRoute(name);
    return route.member.request({ ...call, params: { ...call.params, name: route.name } });
  }

  async #complete(call: Call): Promise<JsonObject> {
    const ref = (call.params?.ref ?? {}) as { type?: string; name?: string; uri?: string };
    if (ref.type === "ref/resource") return this.#ownerOf(String(ref.uri)).request(call);
    const route = this.#promptRoute(String(ref.name));
    return route.member.request({ ...call, params: { ...call.params, ref: { ...ref, name: route.name } } });
  }

  #promptRoute(name: string): { member: Member; name: string } {
    const { promptRoutes } = this.#table();
    const route = promptRoutes.get(name);
    if (route !== undefined) return route;
    throw new PortolanError("NOT_SUPPORTED", `no server here has a prompt "${name}"`, {
      hint: didYouMean(name, promptRoutes.keys()),
    });
  }

  /** Whose resource this is: by the lists, by the templates, or because only one server has resources at all. */
  #ownerOf(uri: string): Member {
    const { resourceRoutes, templateRoutes } = this.#table();
    const found =
      resourceRoutes.get(uri) ??
      templateRoutes.find(({ template, matches }) => template === uri || matches(uri))?.member;
    if (found !== undefined) return found;
    const having = this.members.filter(({ inventory }) => inventory.capabilities.resources !== undefined);
    if (having.length === 1) return having[0] as Member;
    throw new PortolanError("NOT_SUPPORTED", `no server here is known to have ${uri.slice(0, 200)}`, {
      data: { uri },
    });
  }

  #table(): Merged {
    if (this.#merged === undefined) {
      this.#merged = merge(this.#members.values(), this.#settings);
      const told = this.#told;
      this.#told = new Set();
      for (const diagnostic of this.#merged.diagnostics) {
        // Lists are merged again with every change; what was odd before is not news.
        if (!told.has(diagnostic.message)) this.#report(diagnostic);
        this.#told.add(diagnostic.message);
      }
    }
    return this.#merged;
  }

  #announce(): void {
    const lists = this.#announcing;
    this.#announcing = new Set();
    if (this.#closed) return;
    const { tools, prompts } = this.#table();
    if (lists.has("tools") && this.#lastTools !== (this.#lastTools = JSON.stringify(tools)))
      this.#emitter.emit("toolsChanged");
    if (lists.has("prompts") && this.#lastPrompts !== (this.#lastPrompts = JSON.stringify(prompts)))
      this.#emitter.emit("promptsChanged");
    if (lists.has("resources")) this.#emitter.emit("resourcesChanged");
  }
}

function size(value: unknown): number {
  try {
    return Buffer.byteLength(JSON.stringify(value) ?? "");
  } catch {
    return -1;
  }
}
