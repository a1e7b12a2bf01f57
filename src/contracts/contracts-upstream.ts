// Contracts as one upstream: its tools are the contracts, and each call goes to the driver that routing selects.

import { type Diagnostic, PortolanError, unknownTool } from "../errors/index.ts";
import {
  type Driver,
  type JsonObject,
  META,
  MODERN_REVISION,
  type ServerCapabilities,
} from "../model/index.ts";
import {
  type Call,
  cancelledRequest,
  type Description,
  Emitter,
  type Upstream,
  type UpstreamEvents,
  type UpstreamStats,
} from "../upstream/index.ts";
import { VERSION } from "../client/index.ts";
import type { AuthOutcome } from "./auth/auth-machine.ts";
import { type CallContext, type ContextOf, contextOfCall } from "./contract/call-context.ts";
import { ContractSet, type ContractsOptions } from "./contract-set.ts";
import type { DriverHandle, ToolHandle } from "./define/define.ts";
import type { ContractCall, Dispatched } from "./dispatch/contract-call.ts";
import type { DriverReport } from "./driver/driver-state.ts";
import { DriverSurfaces } from "./surfaces/driver-surfaces.ts";
import { ResourceSubscriptions } from "./surfaces/resource-subscriptions.ts";
import type { Resolution } from "./routing/route.ts";
import { toCallResult, toToolDefinition } from "./contract/to-mcp.ts";
import type { DriverHooks } from "./driver/bound-tool.ts";

export interface OpenContractsOptions extends ContractsOptions {
  readonly contextOf?: ContextOf;
}

/** The contracts of a workspace: call them, explain their routing, register drivers. */
export interface Contracts extends Upstream {
  /**
   * Adds a driver, or a contract from `defineTool()`; one of the same id that was added before is replaced. Returns all
   * diagnostics; a driver with an error among them does not serve. Add contracts before the drivers that serve them.
   */
  register(one: DriverHandle | ToolHandle | Driver, hooks?: DriverHooks): Promise<readonly Diagnostic[]>;
  unregister(id: string): void;
  call(call: ContractCall): Promise<Dispatched>;
  explain(tool: string, context?: CallContext, inputs?: readonly string[]): Resolution | undefined;
  /** Why a contract of the workspace cannot be called: it or its drivers are refused, or cannot be used. */
  unservedReason(tool: string): string | undefined;
  status(context?: CallContext): readonly DriverReport[];
  /** Logs in to a driver interactively. */
  login(driver: string, context?: CallContext, signal?: AbortSignal): Promise<AuthOutcome>;
  /** Logs out; false when the driver has no login. Files that the login left are not touched. */
  logout(driver: string, context?: CallContext): Promise<boolean>;
  /** True when newer contracts, which took over after a reload, still use the drivers of these. */
  readonly isHandingOver: boolean;
  /** Resolves when all drivers that are verified in the background have been; a server that hangs takes its whole start timeout. */
  settled(): Promise<void>;
  /** Reads the resource that a reference of the form `<ref_kind_id>:<uri>` names. */
  readReference(reference: string, context?: CallContext, signal?: AbortSignal): Promise<JsonObject>;
}

/** With `before`, takes over from other contracts: their drivers serve until the new ones are verified. */
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
  #subscriptions!: ResourceSubscriptions;
  #tools: readonly JsonObject[] | undefined;
  /** The lists when a change was last reported, in the order of `LIST_EVENTS`. */
  #reported: readonly string[] = [];
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
    // While the drivers before serve, no call needs to wait.
    if (old === undefined) await this.#set.settled(QUICK_MS);
    this.#surfaces = new DriverSurfaces(this.name, this.#set);
    this.#reported = this.#lists();
    this.#announcing = true;
    // Subscriptions move along to the new drivers.
    this.#subscriptions =
      old === undefined || before === undefined ? new ResourceSubscriptions() : before.#subscriptions;
    this.#subscriptions.attach(this.#surfaces, (uri) => this.#emitter.emit("resourceUpdated", uri));
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
    // Most requests are tool calls, and each promise costs time.
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
    return this.#subscriptions.subscribe(uri);
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
    // This promise never rejects.
    const dispatched = await this.#set.call(call);
    this.#inFlight -= 1;
    return dispatched;
  }

  explain(tool: string, context?: CallContext, inputs?: readonly string[]): Resolution | undefined {
    return this.#set.explain(tool, context, inputs);
  }

  unservedReason(tool: string): string | undefined {
    return this.#set.unservedReason(tool);
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

  get isHandingOver(): boolean {
    return this.#set.isHandingOver;
  }

  /** Does not close the servers of drivers: the owner of `acquire` does. */
  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    this.#subscriptions.detach(this.#surfaces);
    this.#set.close();
    this.#emitter.emit("stateChanged", "closed");
    this.#emitter.clear();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #callTool(call: Call): Promise<JsonObject> {
    const tool = textOf(call, "name");
    const exposed = this.#set.catalog.offered();
    if (!exposed.has(tool)) {
      const reason = this.#set.unservedReason(tool);
      throw unknownTool({ server: this.name, name: tool, known: exposed.keys(), reason });
    }
    const { caller, signal, timeoutMs, maxTimeoutMs, onProgress, onLog, onServerRequest: ask } = call;
    const input = call.params?.arguments;
    const context = this.#complete(this.#contextOf(call));
    this.#inFlight += 1;
    // This promise never rejects.
    const dispatched = await this.#set.call({
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
      observation: call.observation,
      charge: call.charge,
      approved: call.approved,
      onWaiting: call.onWaiting,
    });
    this.#inFlight -= 1;
    const { result, neverRan } = dispatched;
    // As with any other tool, a cancelled call has no result.
    if (!result.ok && signal?.aborted === true)
      throw cancelledRequest(this.name, call, signal.reason, { neverRan });
    return toCallResult(dispatched, { forClient: caller !== undefined });
  }

  /** Cached by the object, which is the same for most calls. */
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
    this.#tools ??= Array.from(this.#set.catalog.offered().values(), toToolDefinition);
    return this.#tools;
  }

  #lists(): readonly string[] {
    const lists = [this.#listTools(), this.#surfaces.prompts(), this.#surfaces.resources()];
    return lists.map((list) => JSON.stringify(list));
  }

  #changed(): void {
    this.#tools = undefined;
    // No client has seen the lists before the contracts are open.
    if (!this.#announcing || this.#closed) return;
    const before = this.#reported;
    this.#reported = this.#lists();
    for (const [index, event] of LIST_EVENTS.entries())
      if (this.#reported[index] !== before[index]) this.#emitter.emit(event);
    this.#subscriptions.refresh();
  }

  #isClosed(): PortolanError {
    return new PortolanError("CONNECTION_CLOSED", `the connection to ${this.name} is closed`, {
      server: this.name,
    });
  }
}

/** Drivers come and go later, so that all capabilities are declared from the beginning. */
const CAPABILITIES: ServerCapabilities = {
  tools: { listChanged: true },
  prompts: { listChanged: true },
  resources: { listChanged: true, subscribe: true },
  completions: {},
};

/** Opening waits this long for servers that start quickly; the others are verified later. */
const QUICK_MS = 1_000;

const LIST_EVENTS = ["toolsChanged", "promptsChanged", "resourcesChanged"] as const;

function textOf({ method, params }: Call, field: string): string {
  const value = params?.[field];
  if (typeof value === "string") return value;
  throw new PortolanError("INPUT_INVALID", `${method} needs the parameter "${field}" as a string`);
}
