// Connection: the tools, resources and prompts of one upstream, with cached lists and checked calls.

import type * as Zod from "zod";
import {
  changedError,
  type Diagnostic,
  didYouMean,
  guardCallback,
  invalidArguments,
  isPortolanError,
  PortolanError,
  type Report,
  unknownPrompt,
  unknownResource,
  unknownTool,
} from "../errors/index.ts";
import {
  type CallToolResult,
  type CompleteResult,
  type GetPromptResult,
  isObject,
  type JsonObject,
  type Limits,
  type LogLevel,
  type PromptDefinition,
  type ReadResourceResult,
  type ResourceDefinition,
  type ResourceTemplateDefinition,
  type ToolDefinition,
} from "../model/index.ts";
import {
  type Call,
  cancelledRequest,
  listAll,
  type Upstream,
  type UpstreamStats,
} from "../upstream/index.ts";
import { toAgentTool, CheckedTool } from "./tools.ts";
import { fromGateway } from "./gateway-errors.ts";
import { ListCache, type LoadOptions } from "./list-cache.ts";
import { exposedName } from "./names.ts";
import { checkListOptions, checkRequestOptions, kindOf, requestOptionsError } from "./options.ts";
import { resultText } from "./result-text.ts";
import { explainUnknown, mayCover } from "./unknown-names.ts";
import type {
  ConnectionEvents,
  McpConnection,
  RequestOptions,
  ServerDescription,
  Tool,
  ToolResult,
} from "./types.ts";

export interface ConnectionOptions {
  readonly limits: Limits;
  readonly retryHinted: boolean;
  readonly diagnostics: readonly Diagnostic[];
  readonly report: Report;
  /** The server of a tool, where the upstream consists of several. */
  readonly serverOf?: (tool: string) => string | undefined;
  /** Why a tool that some server has is not offered. */
  readonly reasonOf?: (tool: string) => string | undefined;
}

interface Listed<T> {
  readonly value: T[];
  readonly ttlMs: number;
}

export class Connection implements McpConnection {
  #isClosed = false;
  readonly #upstream: Upstream;
  readonly #options: ConnectionOptions;
  readonly #tools: ListCache<Map<string, CheckedTool>>;
  readonly #prompts: ListCache<PromptDefinition[]>;
  readonly #resources: ListCache<ResourceDefinition[]>;
  readonly #templates: ListCache<ResourceTemplateDefinition[]>;
  /** Agent tools of the current list, per prefix, so that `listTools()` returns the same objects again. */
  #agentTools: { of: Map<string, CheckedTool>; byPrefix: Map<string, Tool[]> } | undefined;

  constructor(upstream: Upstream, options: ConnectionOptions) {
    this.#upstream = upstream;
    this.#options = options;
    this.#tools = new ListCache(async (load) => {
      const { value, ttlMs } = await this.#list("tools", "tools/list", "tools", load);
      const index = new Map<string, CheckedTool>();
      for (const tool of value as ToolDefinition[]) {
        if (!index.has(tool.name))
          index.set(tool.name, new CheckedTool(tool, () => this.#serverOf(tool.name), options.report));
      }
      return { value: index, ttlMs };
    });
    this.#prompts = new ListCache(
      (load) => this.#list("prompts", "prompts/list", "prompts", load) as Promise<Listed<PromptDefinition>>,
    );
    this.#resources = new ListCache(
      (load) =>
        this.#list("resources", "resources/list", "resources", load) as Promise<Listed<ResourceDefinition>>,
    );
    this.#templates = new ListCache(
      (load) =>
        this.#list("resources", "resources/templates/list", "resourceTemplates", load) as Promise<
          Listed<ResourceTemplateDefinition>
        >,
    );
    upstream.on("toolsChanged", () => this.#tools.invalidate());
    upstream.on("promptsChanged", () => this.#prompts.invalidate());
    upstream.on("resourcesChanged", () => {
      this.#resources.invalidate();
      this.#templates.invalidate();
    });
  }

  get server(): ServerDescription {
    return { name: this.#upstream.name, ...this.#upstream.describe() };
  }

  get diagnostics(): readonly Diagnostic[] {
    return this.#options.diagnostics;
  }

  stats(): UpstreamStats {
    return this.#upstream.stats();
  }

  async listTools(given: Parameters<McpConnection["listTools"]>[0] = {}): Promise<Tool[]> {
    checkListOptions(given);
    const { prefix = "", ...options } = given;
    const [tools, zod] = await Promise.all([this.#tools.get(options), import("zod")]);
    if (this.#agentTools?.of !== tools) this.#agentTools = { of: tools, byPrefix: new Map() };
    const { byPrefix } = this.#agentTools;
    let list = byPrefix.get(prefix);
    if (list === undefined) byPrefix.set(prefix, (list = this.#toAgentTools(tools, prefix, zod)));
    return [...list];
  }

  async listToolDefinitions(
    options: Parameters<McpConnection["listToolDefinitions"]>[0] = {},
  ): Promise<ToolDefinition[]> {
    checkListOptions(options);
    return [...(await this.#tools.get(options)).values()].map((tool) => tool.definition);
  }

  callTool(name: string, input: object = {}, options: RequestOptions = {}): Promise<ToolResult> {
    if (typeof name !== "string") {
      const message = `The name of a tool must be a string, not ${kindOf(name)}.`;
      const hint = "Pass the name first, and the arguments after it: callTool(name, input).";
      const { name: server } = this.#upstream;
      return Promise.reject(new PortolanError("INPUT_INVALID", message, { server, hint }));
    }
    if (!isObject(input)) return Promise.reject(this.#noObject(name, input));
    const wrong = requestOptionsError(options);
    if (wrong !== undefined) return Promise.reject(wrong.at({ tool: name }));
    if (options.signal?.aborted === true) return Promise.reject(this.#cancelledBefore(name, options));
    // An expired definition is still used if it accepts the input.
    const tool = this.#tools.last?.get(name);
    return tool?.loaded === true && tool.accepts(input)
      ? this.#callChecked(tool, input, options)
      : this.#checkAndCall(name, input, options);
  }

  async listResources(
    options: Parameters<McpConnection["listResources"]>[0] = {},
  ): Promise<ResourceDefinition[]> {
    checkListOptions(options);
    return [...(await this.#resources.get(options))];
  }

  async listResourceTemplates(
    options: Parameters<McpConnection["listResourceTemplates"]>[0] = {},
  ): Promise<ResourceTemplateDefinition[]> {
    checkListOptions(options);
    return [...(await this.#templates.get(options))];
  }

  /** `from` is one server of several. */
  async readResource(
    uri: string,
    options: RequestOptions = {},
    from: Pick<Upstream, "request"> = this.#upstream,
  ): Promise<ReadResourceResult> {
    checkRequestOptions(options);
    // One server of several has capabilities of its own. If it is down, its error says why.
    if (from === this.#upstream) this.#need("resources");
    try {
      const call = this.#call("resources/read", { uri }, options);
      return (await this.#request(call, from)) as ReadResourceResult;
    } catch (error) {
      throw await explainUnknown(error, async (server) => {
        const load = { signal: options.signal, timeoutMs: options.timeoutMs };
        const [resources, templates] = await Promise.all([
          this.#resources.get(load),
          this.#templates.get(load),
        ]);
        const known = resources.map((one) => one.uri);
        return known.includes(uri) || templates.some((one) => mayCover(one, uri))
          ? undefined
          : unknownResource({ server, name: uri, known, cause: error });
      });
    }
  }

  async subscribe(uri: string): Promise<() => Promise<void>> {
    if (this.#upstream.describe().capabilities.resources?.subscribe !== true)
      throw this.#unsupported("resource subscriptions");
    return this.#fromGateway(this.#upstream.subscribe(uri));
  }

  async listPrompts(options: Parameters<McpConnection["listPrompts"]>[0] = {}): Promise<PromptDefinition[]> {
    checkListOptions(options);
    return [...(await this.#prompts.get(options))];
  }

  async getPrompt(
    name: string,
    args: Record<string, string> = {},
    options: RequestOptions = {},
  ): Promise<GetPromptResult> {
    checkRequestOptions(options);
    this.#need("prompts");
    try {
      const call = this.#call("prompts/get", { name, arguments: args }, options);
      return (await this.#request(call)) as GetPromptResult;
    } catch (error) {
      throw await explainUnknown(error, async (server) => {
        const { signal, timeoutMs } = options;
        const known = (await this.#prompts.get({ signal, timeoutMs })).map((one) => one.name);
        return known.includes(name) ? undefined : unknownPrompt({ server, name, known, cause: error });
      });
    }
  }

  async complete(
    ...[ref, argument, context, options = {}]: Parameters<McpConnection["complete"]>
  ): Promise<CompleteResult["completion"]> {
    checkRequestOptions(options);
    this.#need("completions");
    const params = {
      ref:
        "prompt" in ref
          ? { type: "ref/prompt", name: ref.prompt }
          : { type: "ref/resource", uri: ref.resource },
      argument,
      context: context && { arguments: context },
    };
    const { completion } = (await this.#request(
      this.#call("completion/complete", params, options),
    )) as CompleteResult;
    return isObject(completion) && Array.isArray(completion.values) ? completion : { values: [] };
  }

  async ping(options: RequestOptions = {}): Promise<void> {
    checkRequestOptions(options);
    // The modern protocol has no ping, so server/discover is the health check.
    const method = this.#upstream.describe().era === "modern" ? "server/discover" : "ping";
    await this.#request(this.#call(method, {}, options));
  }

  setLogLevel(level: LogLevel): Promise<void> {
    return this.#fromGateway(this.#upstream.setLogLevel(level));
  }

  on<E extends keyof ConnectionEvents>(
    event: E,
    listener: (...args: ConnectionEvents[E]) => void,
  ): () => void {
    // A misspelt name would never be emitted.
    if (!EVENTS.includes(event)) {
      const given: unknown = event;
      const name = String(given).slice(0, 100);
      const hint = didYouMean(name, EVENTS) ?? `The events are ${EVENTS.join(", ")}.`;
      throw new PortolanError("INPUT_INVALID", `There is no event ${JSON.stringify(name)}.`, { hint });
    }
    return this.#upstream.on(event, guardCallback(`on("${event}")`, listener, this.#options.report));
  }

  close(): Promise<void> {
    this.#isClosed = true;
    for (const list of [this.#tools, this.#prompts, this.#resources, this.#templates]) list.invalidate();
    return this.#upstream.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #checkAndCall(name: string, input: JsonObject, options: RequestOptions): Promise<ToolResult> {
    const find = (): Promise<CheckedTool> =>
      this.#findTool(name, options).catch((error: unknown) => {
        const isCancelled = isPortolanError(error) && error.code === "CANCELLED";
        throw isCancelled && options.signal?.aborted === true ? this.#cancelledBefore(name, options) : error;
      });
    let tool = this.#tools.last?.get(name) ?? (await find());
    await tool.load();
    if (this.#tools.fresh === undefined && !tool.accepts(input)) {
      // The definition may be out of date, so it is fetched again before the input is refused.
      tool = await find().catch((error: unknown) => {
        throw isPortolanError(error) ? error.at({ server: this.#serverOf(name), tool: name }) : error;
      });
      await tool.load();
    }
    tool.checkInput(input);
    return this.#callChecked(tool, input, options);
  }

  #callChecked(tool: CheckedTool, input: JsonObject, options: RequestOptions): Promise<ToolResult> {
    const { name } = tool.definition;
    const call = this.#call("tools/call", { name, arguments: input }, options, this.#repeatable(tool));
    return this.#request(call).then(
      (result) => {
        tool.checkOutput(result);
        return withText(result);
      },
      (error: unknown) => {
        throw isPortolanError(error) ? error.at({ tool: name }) : error;
      },
    );
  }

  /** Finds the definition of a tool, and fetches the list when it is missing or expired. */
  async #findTool(name: string, options: RequestOptions): Promise<CheckedTool> {
    const { signal, timeoutMs } = options;
    const tools = await this.#tools.get({ signal, timeoutMs });
    const found = tools.get(name) ?? (await this.#tools.get({ signal, timeoutMs, refresh: true })).get(name);
    if (found !== undefined) return found;
    const server = this.#options.serverOf === undefined ? this.#upstream.name : undefined;
    throw unknownTool({ server, name, known: tools.keys(), reason: this.#options.reasonOf?.(name) });
  }

  /** The error of a call that its program cancelled before it was sent. */
  #cancelledBefore(tool: string, { signal }: RequestOptions): PortolanError {
    const call = { method: "tools/call", params: { name: tool } };
    return cancelledRequest(this.#serverOf(tool), call, signal?.reason, { neverRan: true }).at({ tool });
  }

  #serverOf(tool: string): string {
    return this.#options.serverOf?.(tool) ?? this.#upstream.name;
  }

  /** The error for an input that is no object. Model providers send arguments as a JSON text, so that is the usual mistake. */
  #noObject(tool: string, input: unknown): PortolanError {
    const isText = typeof input === "string" && /^\s*\{/.test(input);
    return invalidArguments({
      ...{ server: this.#serverOf(tool), tool },
      problems: [isText ? "they are a JSON text, not an object" : `they are ${kindOf(input)}, not an object`],
      hint: isText
        ? "Parse the text first: JSON.parse(text)."
        : "Pass an object with the arguments of the tool.",
    });
  }

  #repeatable(tool: CheckedTool): boolean {
    const hints = tool.definition.annotations;
    return this.#options.retryHinted && (hints?.readOnlyHint === true || hints?.idempotentHint === true);
  }

  #call(method: string, params: JsonObject, options: RequestOptions, repeatable = false): Call {
    const { signal, timeoutMs, maxTimeoutMs, meta } = options;
    const onProgress =
      options.onProgress && guardCallback("onProgress", options.onProgress, this.#options.report);
    const whole = meta === undefined ? params : { ...params, _meta: meta };
    return { method, params: whole, signal, timeoutMs, maxTimeoutMs, onProgress, repeatable };
  }

  #request(call: Call, from: Pick<Upstream, "request"> = this.#upstream): Promise<JsonObject> {
    const { signal } = call;
    if (signal?.aborted === true)
      return Promise.reject(cancelledRequest(this.#upstream.name, call, signal.reason, { neverRan: true }));
    return this.#fromGateway(from.request(call));
  }

  /** The answer of an upstream that may be a gateway. */
  #fromGateway<T>(answer: Promise<T>): Promise<T> {
    return answer.catch((thrown: unknown) => {
      // The program closed this connection. Portolan itself opens a connection again that it has stopped.
      if (this.#isClosed && isPortolanError(thrown) && thrown.code === "CONNECTION_CLOSED")
        throw changedError(thrown, { hint: CLOSED_HINT });
      // In a workspace, errors have the alias of the server.
      throw fromGateway(thrown, { keepsServer: this.#options.serverOf !== undefined });
    });
  }

  /** Fetches a whole list. The entries are not validated here. */
  async #list(
    capability: "tools" | "prompts" | "resources",
    method: string,
    field: string,
    load: LoadOptions,
  ): Promise<Listed<JsonObject>> {
    const { era, capabilities } = this.#upstream.describe();
    // After close(), the request rejects.
    if (capabilities[capability] === undefined && !this.#isClosed) return { value: [], ttlMs: Infinity };
    const source = { name: this.#upstream.name, request: (call: Call) => this.#request(call) };
    const { items, ttlMs } = await listAll(source, field, this.#call(method, {}, load), {
      maxPages: this.#options.limits.maxPages,
      onLoop: (message) =>
        this.#options.report({
          code: "PROTOCOL_ERROR",
          severity: "warning",
          server: this.#upstream.name,
          message,
        }),
    });
    // A legacy server announces changes; a modern server declares how long its list is valid.
    return { value: items.filter(isObject), ttlMs: ttlMs ?? (era === "legacy" ? Infinity : 0) };
  }

  #toAgentTools(tools: Map<string, CheckedTool>, prefix: string, zod: typeof Zod): Tool[] {
    const taken = new Map<string, string>();
    const list: Tool[] = [];
    for (const { definition } of tools.values()) {
      const name = exposedName(definition.name, prefix);
      const other = taken.get(name);
      if (other !== undefined) {
        this.#options.report({
          code: "TOOL_DROPPED",
          severity: "error",
          server: this.#upstream.name,
          tool: definition.name,
          message: `tool "${definition.name}" is left out: its name for agents would be "${name}", which the tool "${other}" already has`,
        });
        continue;
      }
      taken.set(name, definition.name);
      const { report } = this.#options;
      const call = (tool: string, input: JsonObject, options: RequestOptions): Promise<ToolResult> =>
        this.callTool(tool, input, options);
      const server = (): string => this.#serverOf(definition.name);
      list.push(toAgentTool({ name, definition, server, zod, report, call }));
    }
    return list;
  }

  #need(capability: "resources" | "prompts" | "completions"): void {
    if (this.#upstream.describe().capabilities[capability] === undefined) throw this.#unsupported(capability);
  }

  #unsupported(what: string): PortolanError {
    const { name: server } = this.#upstream;
    if (this.#options.serverOf === undefined)
      return new PortolanError("NOT_SUPPORTED", `${server} does not offer ${what}`, { server });
    // The capabilities of other servers are unknown.
    return new PortolanError("NOT_SUPPORTED", `No server of this workspace that is ready offers ${what}.`, {
      hint: "A server that is starting or has failed may offer them. To see the state of the servers: workspace.health() in a program, portolan status in a terminal.",
    });
  }
}

const EVENTS: readonly (keyof ConnectionEvents)[] = [
  "toolsChanged",
  "promptsChanged",
  "resourcesChanged",
  "resourceUpdated",
  "log",
  "stateChanged",
];

const CLOSED_HINT = "The program has closed this connection; connect again.";

/** `text` is a getter of the prototype, so that the result as JSON is what the server sent. */
const WITH_TEXT = {
  get text(): string {
    return resultText(this as CallToolResult);
  },
};

function withText(result: CallToolResult): ToolResult {
  return { __proto__: WITH_TEXT, ...result } as unknown as ToolResult;
}
