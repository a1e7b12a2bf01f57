// Remote workspace: the servers of a running gateway as a `Workspace`, through its control socket.

import {
  Connection,
  type McpHandlers,
  toCapabilities,
  toServerRequestHandler,
  VERSION,
} from "../../client/index.ts";
import type { Diagnostic } from "../../errors/index.ts";
import { PortolanError } from "../../errors/index.ts";
import type { OwnName, Workspace } from "../../hub/index.ts";
import {
  DEFAULT_LIMITS,
  isObject,
  type JsonObject,
  type Limits,
  type LogMessage,
  type Progress,
} from "../../model/index.ts";
import {
  type Call,
  deniedTargets,
  type Description,
  Emitter,
  NO_STATS,
  type ServerRequest,
  type Upstream,
  type UpstreamEvents,
} from "../../upstream/index.ts";
import type { Snapshot } from "../messages.ts";
import type { RunningGateway } from "../state/find.ts";
import { connectGateway, type GatewayClient } from "./gateway-client.ts";

export interface RemoteWorkspaceOptions {
  /** The servers to use; all by default. */
  readonly only?: readonly string[];
  /** Answer the requests of servers. */
  readonly handlers?: McpHandlers;
  /** False when no person can answer. Portolan declares this to servers. */
  readonly attended?: boolean;
  /** Time limits of requests that have none. */
  readonly limits?: Partial<Pick<Limits, "requestTimeoutMs" | "maxRequestMs">>;
}

export interface RemoteWorkspace extends Omit<
  Workspace,
  "contracts" | "events" | "context" | "subscribe" | "tools"
> {
  readonly gateway: GatewayClient;
  /** The drivers that the gateway has registered, with their state, after waiting for their verification. */
  drivers(waitMs: number): ReturnType<GatewayClient["drivers"]>;
}

export async function openRemoteWorkspace(
  gateway: RunningGateway,
  options: RemoteWorkspaceOptions,
): Promise<RemoteWorkspace> {
  const client = await connectGateway(gateway, options.only);
  try {
    return createRemoteWorkspace(client, await client.snapshot({}), options);
  } catch (error) {
    await client.close();
    throw error;
  }
}

function createRemoteWorkspace(
  client: GatewayClient,
  first: Snapshot,
  options: RemoteWorkspaceOptions,
): RemoteWorkspace {
  let now = first;
  const diagnostics: Diagnostic[] = [...first.diagnostics];
  const refresh = async (params: Parameters<GatewayClient["snapshot"]>[0]): Promise<Snapshot> => {
    now = await client.snapshot(params);
    diagnostics.splice(0, diagnostics.length, ...now.diagnostics);
    return now;
  };
  const upstream = new RemoteUpstream(client, () => now.description, options);
  const report = (diagnostic: Diagnostic): void => void diagnostics.push(diagnostic);
  const connection = new Connection(upstream, {
    ...{ limits: DEFAULT_LIMITS, retryHinted: false, diagnostics, report },
    serverOf: (tool) => now.tools.find(([full]) => full === tool)?.[1].server,
  });
  const close = (): Promise<void> => upstream.close();
  const fullName = (names: Snapshot["tools"], name: string): string =>
    names.find(([full, own]) => full === name || `${own.server}.${own.name}` === name)?.[0] ?? name;
  const toMap = (names: Snapshot["tools"]): ReadonlyMap<string, OwnName> => new Map(names);
  return {
    gateway: client,
    diagnostics,
    async toolDefinitions() {
      const tools = await connection.listToolDefinitions();
      // The names must be those of the list.
      await refresh({});
      return tools;
    },
    async callTool(name, input, request) {
      const result = await connection.callTool(fullName(now.tools, name), input, request);
      // The gateway has reported the denial, with the command that grants it.
      if (deniedTargets(result).length > 0) await refresh({});
      return result;
    },
    fullName: (name) => fullName(now.tools, name),
    toolNames: () => toMap(now.tools),
    promptNames: () => toMap(now.prompts),
    resources: () => connection.listResources(),
    resourceTemplates: () => connection.listResourceTemplates(),
    readResource: (uri, request) => connection.readResource(uri, request),
    prompts: () => connection.listPrompts(),
    getPrompt: (name, args, request) => connection.getPrompt(fullName(now.prompts, name), args, request),
    complete: (...args) => connection.complete(...args),
    on: (event, listener) => connection.on(event, listener),
    settled: async () => void (await refresh({ wait: true })),
    health: () => [...now.health],
    pins: () => client.pins(),
    drivers: (waitMs) => client.drivers(waitMs),
    healthCheck: async () => (await refresh({ check: true })).healthy === true,
    close,
    [Symbol.asyncDispose]: close,
  };
}

/** The selected servers of the gateway as one upstream. */
class RemoteUpstream implements Upstream {
  readonly name = "this workspace";
  readonly #client: GatewayClient;
  readonly #describe: () => Description;
  readonly #handlers: McpHandlers;
  readonly #capabilities: JsonObject;
  readonly #limits: NonNullable<RemoteWorkspaceOptions["limits"]>;
  readonly #emitter = new Emitter<UpstreamEvents>();
  readonly #closed = new AbortController();
  #listens = false;

  constructor(client: GatewayClient, describe: () => Description, options: RemoteWorkspaceOptions) {
    this.#client = client;
    this.#describe = describe;
    this.#handlers = options.handlers ?? {};
    this.#limits = options.limits ?? {};
    // Without a person, servers must not wait for answers that are always declined.
    const { roots } = this.#handlers;
    this.#capabilities = toCapabilities(options.attended === false ? { roots } : this.#handlers);
  }

  describe(): Description {
    return this.#describe();
  }

  request(call: Call): Promise<JsonObject> {
    const { method, params, repeatable, repeats, signal } = call;
    const timeoutMs = this.#limits.requestTimeoutMs ?? call.timeoutMs;
    const maxTimeoutMs = this.#limits.maxRequestMs ?? call.maxTimeoutMs;
    const capabilities = call.caller?.capabilities ?? this.#capabilities;
    const clientInfo = call.caller?.clientInfo ?? { name: "portolan", version: VERSION };
    const answer = call.onServerRequest ?? toServerRequestHandler(this.#handlers);
    return this.#client.request(
      { method, params, clientInfo, capabilities, timeoutMs, maxTimeoutMs, repeatable, repeats },
      {
        signal,
        onNote: (name, value) => {
          if (name === "progress") call.onProgress?.(value as Progress);
          if (name !== "log") return;
          if (call.onLog === undefined) this.#emitter.emit("log", value as LogMessage);
          else call.onLog(value as LogMessage);
        },
        onAsk: async (_name, value, asked) => {
          const request = isObject(value) ? (value as unknown as Omit<ServerRequest, "signal">) : undefined;
          return request === undefined ? undefined : answer({ ...request, signal: asked });
        },
      },
    );
  }

  notify(): void {}

  async subscribe(): Promise<() => Promise<void>> {
    throw new PortolanError("NOT_SUPPORTED", "a command cannot subscribe to resources of a running gateway");
  }

  /** The log level of the servers belongs to the clients of the gateway. */
  async setLogLevel(): Promise<void> {}

  on<E extends keyof UpstreamEvents>(event: E, listener: (...args: UpstreamEvents[E]) => void): () => void {
    if (event === "log" && !this.#listens) {
      this.#listens = true;
      const relay = (message: JsonObject): void => this.#emitter.emit("log", message as LogMessage);
      this.#client.followServerLogs(relay, this.#closed.signal).catch(() => {});
    }
    return this.#emitter.on(event, listener);
  }

  stats(): typeof NO_STATS {
    return NO_STATS;
  }

  async close(): Promise<void> {
    this.#closed.abort();
    this.#emitter.clear();
    await this.#client.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}
