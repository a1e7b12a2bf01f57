// The upstream of a server whose tools are HTTP requests and commands of an mcpfile: Portolan itself carries them out.

import { PortolanError } from "../errors/index.ts";
import {
  type InvokedServer,
  type JsonObject,
  META,
  MODERN_REVISION,
  type ServerCapabilities,
} from "../model/index.ts";
import { trackPhase } from "../telemetry/index.ts";
import {
  type Call,
  type Description,
  Emitter,
  neverSentError,
  type Upstream,
  type UpstreamEvents,
  type UpstreamStats,
} from "../upstream/index.ts";
import type { RequestHandlers } from "./request-handlers.ts";
import type { RunningRequests } from "./running-requests.ts";
import type { Prepared } from "./operations.ts";

/** The lists never change: a changed mcpfile becomes a new upstream. */
const CACHE_HINTS = { ttlMs: 86_400_000, cacheScope: "public" } as const;

export interface InvokedParts {
  readonly name: string;
  readonly server: InvokedServer;
  readonly prepared: Prepared;
  readonly running: RunningRequests;
  readonly handlers: RequestHandlers;
  readonly release: () => Promise<void>;
}

export class InvokedUpstream implements Upstream {
  readonly name: string;
  readonly #parts: InvokedParts;
  readonly #description: Description;
  readonly #emitter = new Emitter<UpstreamEvents>();
  #closing: Promise<void> | undefined;

  constructor(parts: InvokedParts) {
    this.name = parts.name;
    this.#parts = parts;
    const { info, instructions } = parts.server;
    const capabilities = capabilitiesOf(parts.prepared);
    this.#description = {
      info,
      era: "modern",
      revision: MODERN_REVISION,
      transport: "memory",
      capabilities,
      instructions,
    };
  }

  describe(): Description {
    return this.#description;
  }

  request(call: Call): Promise<JsonObject> {
    const { observation, method, params } = call;
    if (observation === undefined) return this.#request(call);
    const target = params?.name ?? params?.uri;
    const start = {
      name: "upstream",
      method,
      target: typeof target === "string" ? target : undefined,
    } as const;
    return trackPhase(observation.phase(start), () => this.#request(call));
  }

  async #request(call: Call): Promise<JsonObject> {
    const { handlers } = this.#parts;
    if (this.#closing !== undefined) throw neverSentError(this.name);
    switch (call.method) {
      case "tools/call":
        return handlers.callTool(call);
      case "prompts/get":
        return handlers.getPrompt(call);
      case "resources/read":
        return handlers.readResource(call);
      default:
        return this.#answer(call.method);
    }
  }

  notify(): void {}

  subscribe(): Promise<() => Promise<void>> {
    return Promise.reject(this.#notSupported("resources/subscribe"));
  }

  async setLogLevel(): Promise<void> {}

  on<E extends keyof UpstreamEvents>(event: E, listener: (...args: UpstreamEvents[E]) => void): () => void {
    return this.#emitter.on(event, listener);
  }

  stats(): UpstreamStats {
    return {
      inFlight: this.#parts.running.size,
      lateAnswers: 0,
      unknownAnswers: 0,
      noise: 0,
      declined: 0,
      restarts: 0,
      eraProbes: 0,
    };
  }

  /** Cancels running requests; resolves when every process of this server has ended. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #close(): Promise<void> {
    this.#parts.running.close();
    await this.#parts.release();
    this.#emitter.emit("stateChanged", "closed");
    this.#emitter.clear();
  }

  #answer(method: string): JsonObject {
    const { tools, prompts, resources, templates } = this.#parts.prepared;
    const list = (field: string, operations: Iterable<{ readonly definition: JsonObject }>): JsonObject => ({
      resultType: "complete",
      [field]: Array.from(operations, ({ definition }) => definition),
      ...CACHE_HINTS,
    });
    switch (method) {
      case "tools/list":
        return list("tools", tools.values());
      case "prompts/list":
        return list("prompts", prompts.values());
      case "resources/list":
        return list("resources", resources.values());
      case "resources/templates/list":
        return list("resourceTemplates", templates);
      case "ping":
        return { resultType: "complete" };
      case "server/discover":
        return this.#discover();
      default:
        throw this.#notSupported(method);
    }
  }

  #discover(): JsonObject {
    const { info, capabilities, instructions } = this.#description;
    return {
      resultType: "complete",
      supportedVersions: [MODERN_REVISION],
      capabilities,
      instructions,
      ...CACHE_HINTS,
      _meta: { [META.SERVER_INFO]: info },
    };
  }

  #notSupported(method: string): PortolanError {
    const message = `${this.name} is an mcpfile, and mcpfiles do not support the MCP method ${method}`;
    return new PortolanError("NOT_SUPPORTED", message, { server: this.name });
  }
}

function capabilitiesOf({ tools, prompts, resources, templates }: Prepared): ServerCapabilities {
  return {
    ...(tools.size > 0 ? { tools: {} } : {}),
    ...(prompts.size > 0 ? { prompts: {} } : {}),
    ...(resources.size > 0 || templates.length > 0 ? { resources: {} } : {}),
  };
}
