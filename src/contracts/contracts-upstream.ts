// Contracts as the rest of the program sees them: a server like any other, whose tools are served by whichever driver is right for the call.

import { didYouMean, type Diagnostic, PortolanError } from "../errors/index.ts";
import {
  type Driver,
  isObject,
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
import { VERSION } from "../tools/index.ts";
import { auditOfCalls, forwardedEvent } from "./audit.ts";
import type { AuthOutcome } from "./auth.ts";
import { ContractSet, type ContractsOptions, type DriverReport } from "./contracts.ts";
import type { ContractCall, Dispatched } from "./dispatch.ts";
import { toFailure } from "./failure.ts";
import type { Registered } from "./registered.ts";
import type { Resolution } from "./resolver.ts";
import { checkHash, findResource, offerPrompts, offerResources, resourceLists } from "./surfaces.ts";
import { toCallResult, toToolDefinition } from "./to-mcp.ts";
import type { CallContext, DriverHooks } from "./types.ts";

/** What routing a client may ask for in `_meta`; both can only turn drivers away. */
export const CONTEXT_META: { readonly pin: string; readonly region: string } = {
  pin: "portolan/pinnedProvider",
  region: "portolan/regionConstraint",
};

/** Who calls, as far as a request tells. */
export type ContextOf = (call: Call) => CallContext;

export interface OpenContractsOptions extends ContractsOptions {
  readonly contextOf?: ContextOf | undefined;
}

export interface Contracts extends Upstream {
  register(driver: Driver, hooks?: DriverHooks): Promise<readonly Diagnostic[]>;
  unregister(id: string): void;
  call(call: ContractCall): Promise<Dispatched>;
  explain(tool: string, context?: CallContext, inputs?: readonly string[]): Resolution | undefined;
  status(context?: CallContext): readonly DriverReport[];
  /** Logs in to a driver, with somebody there to do it. */
  login(driver: string, context?: CallContext, signal?: AbortSignal): Promise<AuthOutcome>;
  /** Forgets a login; false when the driver has none. The files that it left are not touched. */
  logout(driver: string, context?: CallContext): Promise<boolean>;
  /** Every driver's server that is looked at in the background has been; a hanging one may take its whole start limit. */
  settled(): Promise<void>;
  /** What a reference of the form `<ref_kind_id>:<uri>` leads to. */
  readReference(reference: string, context?: CallContext, signal?: AbortSignal): Promise<JsonObject>;
}

export async function openContracts(options: OpenContractsOptions): Promise<Contracts> {
  const upstream = new ContractsUpstream(options);
  await upstream.open();
  return upstream;
}

class ContractsUpstream implements Contracts {
  readonly name: string;
  readonly #options: OpenContractsOptions;
  readonly #contextOf: ContextOf;
  readonly #emitter = new Emitter<UpstreamEvents>();
  #set!: ContractSet;
  #tools: readonly JsonObject[] | undefined;
  /** The lists as they were last told of, in the order of `NEWS`. */
  #told: readonly string[] = [];
  #inFlight = 0;
  #closed = false;
  #announcing = false;

  constructor(options: OpenContractsOptions) {
    this.name = options.name ?? "contracts";
    this.#options = options;
    this.#contextOf = options.contextOf ?? defaultContext;
  }

  async open(): Promise<void> {
    this.#set = await ContractSet.open(this.#options, () => this.#changed());
    await this.#set.settled(QUICK_MS);
    this.#told = this.#lists();
    this.#announcing = true;
  }

  describe(): Description {
    return {
      info: { name: this.name, version: VERSION },
      era: "modern",
      revision: MODERN_REVISION,
      transport: "memory",
      capabilities: this.#capabilities(),
      instructions: undefined,
    };
  }

  request(call: Call): Promise<JsonObject> {
    // Most are, and each step that only waits costs them time.
    return call.method === "tools/call" && !this.#closed ? this.#callTool(call) : this.#request(call);
  }

  async #request(call: Call): Promise<JsonObject> {
    if (this.#closed)
      throw new PortolanError("CONNECTION_CLOSED", `${this.name} is closed`, { server: this.name });
    switch (call.method) {
      case "prompts/get":
        return this.#getPrompt(call);
      case "resources/read":
        return this.#read(textOf(call, "uri"), this.#contextOf(call), call);
      default:
        return this.#answer(call.method);
    }
  }

  notify(): void {}

  subscribe(): Promise<() => Promise<void>> {
    return Promise.reject(this.#notSupported("news of resources"));
  }

  async setLogLevel(): Promise<void> {}

  on<E extends keyof UpstreamEvents>(event: E, listener: (...args: UpstreamEvents[E]) => void): () => void {
    return this.#emitter.on(event, listener);
  }

  stats(): UpstreamStats {
    const inFlight = this.#inFlight;
    return { inFlight, lateAnswers: 0, unknownAnswers: 0, noise: 0, declined: 0, restarts: 0, eraProbes: 0 };
  }

  register(driver: Driver, hooks?: DriverHooks): Promise<readonly Diagnostic[]> {
    return this.#set.register(driver, hooks);
  }

  unregister(id: string): void {
    this.#set.unregister(id);
  }

  call(call: ContractCall): Promise<Dispatched> {
    return this.#set.call(call);
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
    return this.#read(reference, context, { method: "resources/read", signal });
  }

  settled(): Promise<void> {
    return this.#set.settled();
  }

  /** The servers of the drivers are whoever's gave them. */
  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    this.#set.close();
    this.#emitter.emit("stateChanged", "closed");
    this.#emitter.clear();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #callTool(call: Call): Promise<JsonObject> {
    const tool = textOf(call, "name");
    const exposed = this.#set.exposed();
    if (!exposed.has(tool))
      throw new PortolanError(
        "TOOL_NOT_FOUND",
        `${this.name} has no tool ${JSON.stringify(tool.slice(0, 200))}`,
        {
          server: this.name,
          hint: didYouMean(tool, exposed.keys()),
        },
      );
    const { caller, signal, timeoutMs, maxTimeoutMs, onProgress, onLog, ask } = call;
    const input = call.params?.arguments;
    const context = this.#contextOf(call);
    this.#inFlight += 1;
    try {
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
      return toCallResult(result, driver);
    } finally {
      this.#inFlight -= 1;
    }
  }

  async #getPrompt(call: Call): Promise<JsonObject> {
    const name = textOf(call, "name");
    const prompts = this.#prompts();
    const offered = prompts.get(name);
    if (offered === undefined)
      throw new PortolanError(
        "PROMPT_NOT_FOUND",
        `${this.name} has no prompt ${JSON.stringify(name.slice(0, 200))}`,
        {
          server: this.name,
          hint: didYouMean(name, prompts.keys()),
        },
      );
    const given = call.params?.arguments;
    const inputKeys = isObject(given) ? Object.keys(given) : [];
    return this.#forward(
      offered.registered,
      this.#contextOf(call),
      { ...call, params: { ...call.params, name: offered.name } },
      { id: `prompt:${name}`, inputKeys },
    );
  }

  async #read(uri: string, context: CallContext, call: Call): Promise<JsonObject> {
    const found = findResource(uri, offerResources(this.#set.allowed(context.regionConstraint)));
    const { registered, declared } = found.offer;
    // An address may say more than a log should know.
    const kind = declared.integrateAs === "ref_kind" ? declared.refKindId : declared.uriTemplate;
    const result = await this.#forward(
      registered,
      context,
      { ...call, params: { ...call.params, uri: found.uri } },
      { id: `resource:${kind}`, inputKeys: ["uri"] },
      () => this.#options.checkUri(registered.driver, found.uri),
    );
    if (found.sha256 !== undefined) checkHash(result, found.sha256, uri);
    return found.uri === uri ? result : renamed(result, found.uri, uri);
  }

  /** Straight to one driver's server: what is not a contract is not routed. It is written down like a call of one. */
  async #forward(
    registered: Registered,
    said: CallContext,
    call: Call,
    { id, inputKeys }: { readonly id: string; readonly inputKeys: readonly string[] },
    check?: () => string | undefined | Promise<string | undefined>,
  ): Promise<JsonObject> {
    const context = this.#set.context(said);
    const { driver, hooks } = registered;
    const started = performance.now();
    let code: string | undefined;
    try {
      const problem = await check?.();
      if (problem !== undefined)
        throw new PortolanError("SANDBOX_DENIED", `${driver.id}: ${problem}`, { server: driver.id });
      return await this.#ask(registered, context, call);
    } catch (thrown) {
      const failure = toFailure(thrown).error;
      ({ code } = failure);
      if (thrown instanceof PortolanError) throw thrown;
      const known = { auth_required: "AUTH_REQUIRED", unauthorised: "FORBIDDEN" } as const;
      const own = code in known ? known[code as keyof typeof known] : "SERVER_UNAVAILABLE";
      throw new PortolanError(own, failure.message, { server: driver.id, cause: thrown });
    } finally {
      const outcome = { inputKeys, ms: performance.now() - started, code, retries: 0 };
      const auth = this.#set.auth.stateOf(driver, hooks, context);
      auditOfCalls(this.#options.audit)?.(
        forwardedEvent(driver, { method: call.method, id }, context, { ...outcome, auth }),
      );
    }
  }

  async #ask(registered: Registered, context: CallContext, call: Call): Promise<JsonObject> {
    const { driver, hooks, bound } = registered;
    const [tool = ""] = bound.keys();
    try {
      this.#set.grants?.requireBind(driver, tool, context);
      if (this.#set.auth.concerns(driver, hooks)) {
        const state = await this.#set.auth.ready(driver, hooks, context, call.signal);
        if (!state.ok) throw state.failure;
      }
      const { signal, timeoutMs } = call;
      const time = timeoutMs === undefined || timeoutMs === 0 ? undefined : { left: timeoutMs };
      const upstream = await this.#set.registry.acquire(registered, { context, tool, signal, time });
      return await upstream.request(call);
    } catch (thrown) {
      // The next one to need the login hears that it has expired, or gets a fresh one.
      this.#set.auth.noticed(driver, hooks, context, toFailure(thrown));
      throw thrown;
    }
  }

  #answer(method: string): JsonObject {
    const list = (field: string, things: readonly JsonObject[]): JsonObject => ({
      resultType: "complete",
      [field]: things,
      ttlMs: 0,
      cacheScope: "private",
    });
    switch (method) {
      case "tools/list":
        return list("tools", this.#listTools());
      case "prompts/list":
        return list(
          "prompts",
          Array.from(this.#prompts().values(), ({ definition }) => definition),
        );
      case "resources/list":
        return list("resources", resourceLists(offerResources(this.#set.allowed())).resources);
      case "resources/templates/list":
        return list("resourceTemplates", resourceLists(offerResources(this.#set.allowed())).templates);
      case "ping":
        return { resultType: "complete" };
      case "server/discover":
        return {
          resultType: "complete",
          supportedVersions: [MODERN_REVISION],
          capabilities: this.#capabilities(),
          _meta: { [META.SERVER_INFO]: { name: this.name, version: VERSION } },
        };
      default:
        throw this.#notSupported(method);
    }
  }

  #listTools(): readonly JsonObject[] {
    this.#tools ??= Array.from(this.#set.exposed().values(), toToolDefinition);
    return this.#tools;
  }

  #lists(): readonly string[] {
    const prompts = offerPrompts(this.#set.allowed(), () => {});
    return [this.#listTools(), [...prompts.keys()], resourceLists(offerResources(this.#set.allowed()))].map(
      (list) => JSON.stringify(list),
    );
  }

  #prompts(): ReturnType<typeof offerPrompts> {
    return offerPrompts(this.#set.allowed(), (name, one, other) =>
      this.#options.report?.({
        code: "NAME_AMBIGUOUS",
        severity: "warning",
        server: one.driver.id,
        message: `the prompt ${name} of ${one.driver.id} is left out: ${other.driver.id} has one of that name`,
      }),
    );
  }

  /** Drivers come and go after the client has asked, so that all is said to be there from the beginning. */
  #capabilities(): ServerCapabilities {
    return { tools: { listChanged: true }, prompts: { listChanged: true }, resources: { listChanged: true } };
  }

  #changed(): void {
    this.#tools = undefined;
    // While it is being opened, nobody has seen anything yet.
    if (!this.#announcing || this.#closed) return;
    const before = this.#told;
    this.#told = this.#lists();
    for (const [index, event] of NEWS.entries())
      if (this.#told[index] !== before[index]) this.#emitter.emit(event);
  }

  #notSupported(what: string): PortolanError {
    return new PortolanError("NOT_SUPPORTED", `${this.name} does not offer ${what}`, { server: this.name });
  }
}

/** Servers that start faster than this are known before anything is listed; the others come later. */
const QUICK_MS = 1_000;

const NEWS = ["toolsChanged", "promptsChanged", "resourcesChanged"] as const;

const ANYBODY: CallContext = {};

function defaultContext({ caller, params }: Call): CallContext {
  const meta = params?._meta as JsonObject | undefined;
  const text = (name: string): string | undefined =>
    typeof meta?.[name] === "string" ? meta[name] : undefined;
  const userId = caller?.account;
  const pinnedProvider = text(CONTEXT_META.pin);
  const regionConstraint = text(CONTEXT_META.region);
  return userId === undefined && pinnedProvider === undefined && regionConstraint === undefined
    ? ANYBODY
    : { userId, pinnedProvider, regionConstraint };
}

/** What was read comes back under the name by which it was asked for. */
function renamed(result: JsonObject, from: string, to: string): JsonObject {
  if (!Array.isArray(result.contents)) return result;
  const contents = (result.contents as JsonObject[]).map((one) =>
    one?.uri === from ? { ...one, uri: to } : one,
  );
  return { ...result, contents };
}

function textOf({ method, params }: Call, field: string): string {
  const value = params?.[field];
  if (typeof value === "string") return value;
  throw new PortolanError("INPUT_INVALID", `${method} needs "${field}" as text`);
}
