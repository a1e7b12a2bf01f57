// Contracts as the rest of the program sees them: a server like any other, whose tools are served by whichever driver is right for the call.

import { didYouMean, type Diagnostic, PortolanError } from "../errors/index.ts";
import {
  type Driver,
  type JsonObject,
  META,
  MODERN_REVISION,
  type ServerCapabilities,
} from "../model/index.ts";
import {
  type Call,
  type Description,
  Emitter,
  type Upstream,
  type UpstreamEvents,
  type UpstreamStats,
} from "../upstream/index.ts";
import { VERSION } from "../client/index.ts";
import type { AuthOutcome } from "./auth/auth-machine.ts";
import { type ContextOf, contextOfCall } from "./contract/call-context.ts";
import { ContractSet, type ContractsOptions } from "./contract-set.ts";
import type { DriverHandle, ToolHandle } from "./define/define.ts";
import type { ContractCall, Dispatched } from "./dispatch/contract-call.ts";
import type { DriverReport } from "./driver/driver-report.ts";
import { DriverSurfaces } from "./surfaces/driver-surfaces.ts";
import { ResourceNews } from "./surfaces/resource-subscriptions.ts";
import type { Resolution } from "./routing/route.ts";
import { toCallResult, toToolDefinition } from "./contract/to-mcp.ts";
import type { CallContext, DriverHooks } from "./driver/bound-tool.ts";

export interface OpenContractsOptions extends ContractsOptions {
  readonly contextOf?: ContextOf | undefined;
}

export interface Contracts extends Upstream {
  /**
   * Adds a driver, or a contract that `defineTool()` gives; one of the same id that was added before is replaced. Returns everything
   * that is wrong with it: with an error among it, it does not serve. A driver's contracts come first.
   */
  register(one: DriverHandle | ToolHandle | Driver, hooks?: DriverHooks): Promise<readonly Diagnostic[]>;
  unregister(id: string): void;
  call(call: ContractCall): Promise<Dispatched>;
  explain(tool: string, context?: CallContext, inputs?: readonly string[]): Resolution | undefined;
  status(context?: CallContext): readonly DriverReport[];
  /** Logs in to a driver, with somebody there to do it. */
  login(driver: string, context?: CallContext, signal?: AbortSignal): Promise<AuthOutcome>;
  /** Forgets a login; false when the driver has none. The files that it left are not touched. */
  logout(driver: string, context?: CallContext): Promise<boolean>;
  /** Whether the contracts that take the place of these still use their drivers. */
  readonly lending: boolean;
  /** Every driver's server that is looked at in the background has been; a hanging one may take its whole start limit. */
  settled(): Promise<void>;
  /** What a reference of the form `<ref_kind_id>:<uri>` leads to. */
  readReference(reference: string, context?: CallContext, signal?: AbortSignal): Promise<JsonObject>;
}

/** With `before`, in the place of other contracts: what they serve goes on being served until its own drivers were looked at. */
export async function openContracts(options: OpenContractsOptions, before?: Upstream): Promise<Contracts> {
  const upstream = new ContractsUpstream(options);
  await upstream.open(before instanceof ContractsUpstream ? before : undefined);
  return upstream;
}

class ContractsUpstream implements Contracts {
  readonly name: string;
  readonly #options: OpenContractsOptions;
  readonly #contextOf: ContextOf;
  readonly #emitter = new Emitter<UpstreamEvents>();
  #set!: ContractSet;
  #surfaces!: DriverSurfaces;
  #news!: ResourceNews;
  #tools: readonly JsonObject[] | undefined;
  /** The lists as they were last told of, in the order of `NEWS`. */
  #told: readonly string[] = [];
  readonly #completed = new WeakMap<CallContext, CallContext>();
  #inFlight = 0;
  #closed = false;
  #announcing = false;

  constructor(options: OpenContractsOptions) {
    this.name = options.name ?? "contracts";
    this.#options = options;
    this.#contextOf = options.contextOf ?? contextOfCall;
  }

  async open(before: ContractsUpstream | undefined): Promise<void> {
    const old = before === undefined || before.#closed ? undefined : before.#set;
    this.#set = await ContractSet.open(this.#options, () => this.#changed(), old);
    // Where somebody serves meanwhile there is nothing to wait for.
    if (old === undefined) await this.#set.settled(QUICK_MS);
    this.#surfaces = new DriverSurfaces(this.name, this.#set);
    this.#told = this.#lists();
    this.#announcing = true;
    // Who has subscribed to something does not do so again for another declaration of it.
    this.#news = old === undefined || before === undefined ? new ResourceNews() : before.#news;
    this.#news.attach(this.#surfaces, (uri) => this.#emitter.emit("resourceUpdated", uri));
  }

  describe(): Description {
    return {
      info: { name: this.name, version: VERSION },
      era: "modern",
      revision: MODERN_REVISION,
      transport: "memory",
      capabilities: CAPABILITIES,
      instructions: undefined,
    };
  }

  request(call: Call): Promise<JsonObject> {
    // Most are, and each step that only waits costs them time.
    return call.method === "tools/call" && !this.#closed ? this.#callTool(call) : this.#request(call);
  }

  async #request(call: Call): Promise<JsonObject> {
    if (this.#closed) throw this.#isClosed();
    switch (call.method) {
      case "prompts/get":
        return this.#surfaces.getPrompt(textOf(call, "name"), this.#contextOf(call), call);
      case "resources/read":
        return this.#surfaces.read(textOf(call, "uri"), this.#contextOf(call), call);
      case "completion/complete":
        return this.#surfaces.complete(this.#contextOf(call), call);
      default:
        return this.#answer(call);
    }
  }

  notify(): void {}

  async subscribe(uri: string): Promise<() => Promise<void>> {
    if (this.#closed) throw this.#isClosed();
    return this.#news.subscribe(uri);
  }

  async setLogLevel(): Promise<void> {}

  on<E extends keyof UpstreamEvents>(event: E, listener: (...args: UpstreamEvents[E]) => void): () => void {
    return this.#emitter.on(event, listener);
  }

  stats(): UpstreamStats {
    const inFlight = this.#inFlight;
    return { inFlight, lateAnswers: 0, unknownAnswers: 0, noise: 0, declined: 0, restarts: 0, eraProbes: 0 };
  }

  register(one: DriverHandle | ToolHandle | Driver, hooks?: DriverHooks): Promise<readonly Diagnostic[]> {
    if (one.kind === "tool") return this.#set.addContract(one.contract);
    return one.kind === "driver"
      ? this.#set.register(one.driver, hooks ?? one.hooks)
      : this.#set.register(one, hooks);
  }

  unregister(id: string): void {
    this.#set.unregister(id);
  }

  async call(call: ContractCall): Promise<Dispatched> {
    this.#inFlight += 1;
    // It never rejects.
    const dispatched = await this.#set.call(call);
    this.#inFlight -= 1;
    return dispatched;
  }

  explain(tool: string, context?: CallContext, inputs?: readonly string[]): Resolution | undefined {
    return this.#set.explain(tool, context, inputs);
  }

  status(context?: CallContext): readonly DriverReport[] {
    return this.#set.status(context);
  }

  login(driver: string, context?: CallContext, signal?: AbortSignal): Promise<AuthOutcome> {
    return this.#set.login(driver, context, signal);
  }

  logout(driver: string, context?: CallContext): Promise<boolean> {
    return this.#set.logout(driver, context);
  }

  readReference(reference: string, context: CallContext = {}, signal?: AbortSignal): Promise<JsonObject> {
    return this.#surfaces.read(reference, context, { method: "resources/read", signal });
  }

  settled(): Promise<void> {
    return this.#set.settled();
  }

  get lending(): boolean {
    return this.#set.lending;
  }

  /** The servers of the drivers are whoever's gave them. */
  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    this.#news.detach(this.#surfaces);
    this.#set.close();
    this.#emitter.emit("stateChanged", "closed");
    this.#emitter.clear();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #callTool(call: Call): Promise<JsonObject> {
    const tool = textOf(call, "name");
    const exposed = this.#set.shelf.offered();
    if (!exposed.has(tool))
      throw new PortolanError(
        "TOOL_NOT_FOUND",
        `${this.name} has no tool ${JSON.stringify(tool.slice(0, 200))}`,
        {
          server: this.name,
          hint: didYouMean(tool, exposed.keys()),
        },
      );
    const { caller, signal, timeoutMs, maxTimeoutMs, onProgress, onLog, onServerRequest: ask } = call;
    const input = call.params?.arguments;
    const context = this.#complete(this.#contextOf(call));
    this.#inFlight += 1;
    // It never rejects.
    const { result, driver } = await this.#set.call({
      tool,
      input,
      context,
      caller,
      signal,
      timeoutMs,
      maxTimeoutMs,
      onProgress,
      onLog,
      ask,
    });
    this.#inFlight -= 1;
    return toCallResult(result, driver);
  }

  /** Once for those that are the same object again, as most are. */
  #complete(context: CallContext): CallContext {
    let complete = this.#completed.get(context);
    if (complete === undefined) {
      complete = this.#set.context(context);
      this.#completed.set(context, complete);
    }
    return complete;
  }

  #answer(call: Call): JsonObject {
    const list = (field: string, things: readonly JsonObject[]): JsonObject => ({
      resultType: "complete",
      [field]: things,
      ttlMs: 0,
      cacheScope: "private",
    });
    switch (call.method) {
      case "tools/list":
        return list("tools", this.#listTools());
      case "prompts/list":
        return list("prompts", this.#surfaces.prompts(this.#contextOf(call)));
      case "resources/list":
        return list("resources", this.#surfaces.resources(this.#contextOf(call)).resources);
      case "resources/templates/list":
        return list("resourceTemplates", this.#surfaces.resources(this.#contextOf(call)).templates);
      case "ping":
        return { resultType: "complete" };
      case "server/discover":
        return {
          resultType: "complete",
          supportedVersions: [MODERN_REVISION],
          capabilities: CAPABILITIES,
          _meta: { [META.SERVER_INFO]: { name: this.name, version: VERSION } },
        };
      default:
        throw new PortolanError("NOT_SUPPORTED", `${this.name} does not offer ${call.method}`, {
          server: this.name,
        });
    }
  }

  #listTools(): readonly JsonObject[] {
    this.#tools ??= Array.from(this.#set.shelf.offered().values(), toToolDefinition);
    return this.#tools;
  }

  #lists(): readonly string[] {
    const lists = [this.#listTools(), this.#surfaces.prompts(), this.#surfaces.resources()];
    return lists.map((list) => JSON.stringify(list));
  }

  #changed(): void {
    this.#tools = undefined;
    // While it is being opened, nobody has seen anything yet.
    if (!this.#announcing || this.#closed) return;
    const before = this.#told;
    this.#told = this.#lists();
    for (const [index, event] of NEWS.entries())
      if (this.#told[index] !== before[index]) this.#emitter.emit(event);
    this.#news.refresh();
  }

  #isClosed(): PortolanError {
    return new PortolanError("CONNECTION_CLOSED", `${this.name} is closed`, { server: this.name });
  }
}

/** Drivers come and go after the client has asked, so that all is said to be there from the beginning. */
const CAPABILITIES: ServerCapabilities = {
  tools: { listChanged: true },
  prompts: { listChanged: true },
  resources: { listChanged: true, subscribe: true },
  completions: {},
};

/** Servers that start faster than this are known before anything is listed; the others come later. */
const QUICK_MS = 1_000;

const NEWS = ["toolsChanged", "promptsChanged", "resourcesChanged"] as const;

function textOf({ method, params }: Call, field: string): string {
  const value = params?.[field];
  if (typeof value === "string") return value;
  throw new PortolanError("INPUT_INVALID", `${method} needs "${field}" as text`);
}
