// The library's public shapes: how a connection is asked for, and what it offers.

import type { ZodObject } from "zod";
import type { Diagnostic, PortolanError } from "../errors/index.ts";
import type {
  CallToolResult,
  CompleteResult,
  ElicitRequest,
  ElicitResult,
  Era,
  EraPin,
  GetPromptResult,
  Implementation,
  JsonObject,
  JsonSchema,
  Limits,
  LogLevel,
  LogMessage,
  Progress,
  PromptDefinition,
  ReadResourceResult,
  ResourceDefinition,
  ResourceTemplateDefinition,
  Root,
  SandboxDeclaration,
  SandboxMode,
  ServerCapabilities,
  ToolAnnotations,
  ToolDefinition,
} from "../model/index.ts";
import type { UpstreamStats } from "../upstream/index.ts";

/** What a server may ask of its caller. The same handlers answer in both protocol eras; what is absent is declined. */
export interface McpHandlers {
  elicit?(request: ElicitRequest, context: { signal: AbortSignal }): Promise<ElicitResult> | ElicitResult;
  sample?(request: JsonObject, context: { signal: AbortSignal }): Promise<JsonObject> | JsonObject;
  roots?: readonly Root[] | (() => Promise<readonly Root[]> | readonly Root[]);
}

export interface McpOptions {
  /** What errors and logs call this server; default: the command or URL. */
  name?: string;
  /** Protocol era: found by asking ("auto"), or fixed. */
  era?: EraPin;
  limits?: Partial<Limits>;
  clientInfo?: Implementation;
  handlers?: McpHandlers;
  /** Log messages wanted from the server; they arrive as the "log" event. */
  logLevel?: LogLevel;
  /** Hear about changed lists and resources. Off saves a stream for a one-shot use. Default: true. */
  watch?: boolean;
  /** After a crash, call again a tool whose annotations say that it is read-only or idempotent. Default: false. */
  retryHinted?: boolean;
  /** Gives up connecting. */
  signal?: AbortSignal;
  /** Where warnings go; default: `process.emitWarning`. */
  onDiagnostic?: (diagnostic: Diagnostic) => void;
}

export interface McpStdioConfig extends McpOptions {
  transport: "stdio";
  command: string;
  args?: readonly string[];
  env?: Readonly<Record<string, string>>;
  cwd?: string;
  /**
   * What the program may touch. Without it the default profile holds: a read-only system and its own folder, a private HOME and
   * /tmp, no network, and the folders of `handlers.roots`. "off" runs it with all rights of this program.
   */
  sandbox?: SandboxMode | SandboxDeclaration;
  /** Hears what is being fetched before it can start, such as a package; and of a download now and then how much is there. */
  onInstalling?: (
    what: string,
    bytes?: { readonly received: number; readonly total?: number | undefined },
  ) => void;
  /** Hears what the server writes to stderr, as it comes. The last lines are in every error anyway. */
  onStderr?: (text: string) => void;
}

export interface McpHttpConfig extends McpOptions {
  transport: "http" | "sse" | "websocket";
  url: string;
  headers?: Readonly<Record<string, string>>;
}

export type McpConfig = McpStdioConfig | McpHttpConfig;

export interface RequestOptions {
  signal?: AbortSignal | undefined;
  /** Fails when neither answer nor progress comes for this long. */
  timeoutMs?: number | undefined;
  /** Fails after this long, whatever progress is reported. */
  maxTimeoutMs?: number | undefined;
  onProgress?: ((progress: Progress) => void) | undefined;
  /** What goes along as `_meta`, for whoever serves the request. */
  meta?: JsonObject | undefined;
}

/** A tool as agent frameworks want it. */
export interface Tool {
  /** The name to show a model: prefixed when asked for, and legal for every provider. */
  readonly name: string;
  readonly description: string;
  /** A Zod view of `inputSchema`, made on first use. Always an object that accepts unknown fields. */
  readonly schema: ZodObject;
  /** The server's JSON Schema, verbatim. */
  readonly inputSchema: JsonSchema;
  readonly outputSchema: JsonSchema | undefined;
  readonly annotations: ToolAnnotations | undefined;
  /** The definition as the server sent it, unknown fields included. */
  readonly definition: ToolDefinition;
  /** Calls the tool and returns its result as text. Throws TOOL_FAILED when the tool reports an error. */
  execute(input?: JsonObject, options?: RequestOptions): Promise<string>;
}

/** A whole tool result, with its text form beside it. */
export interface ToolResult extends CallToolResult {
  readonly text: string;
}

export interface ServerDescription {
  readonly name: string;
  readonly info: Implementation | undefined;
  readonly era: Era;
  /** Protocol revision in use, such as "2025-11-25". */
  readonly revision: string;
  /** How the server is reached now; "sse" after a fallback. */
  readonly transport: "stdio" | "http" | "sse" | "websocket" | "memory";
  readonly capabilities: ServerCapabilities;
  readonly instructions: string | undefined;
}

export interface ConnectionEvents {
  toolsChanged: [];
  promptsChanged: [];
  resourcesChanged: [];
  resourceUpdated: [uri: string];
  log: [message: LogMessage];
  /** The connection was lost (with the reason), is being made again, is back, or is given up. */
  stateChanged: [state: "ready" | "reconnecting" | "failed" | "closed", reason?: PortolanError];
}

export interface McpConnection extends AsyncDisposable {
  readonly server: ServerDescription;
  /** What was odd so far: dropped tools, schema fallbacks, noise on stdout. */
  readonly diagnostics: readonly Diagnostic[];
  /** Counters of this connection: requests in flight, late answers, noise, restarts. */
  stats(): UpstreamStats;

  listTools(options?: { prefix?: string; refresh?: boolean } & RequestOptions): Promise<Tool[]>;
  /** The tools as the server defined them, unknown fields included. */
  listToolDefinitions(options?: { refresh?: boolean } & RequestOptions): Promise<ToolDefinition[]>;
  /** Calls a tool by the server's own name for it and returns the whole result, also when it is an error result. */
  callTool(name: string, input?: JsonObject, options?: RequestOptions): Promise<ToolResult>;

  listResources(options?: { refresh?: boolean } & RequestOptions): Promise<ResourceDefinition[]>;
  listResourceTemplates(
    options?: { refresh?: boolean } & RequestOptions,
  ): Promise<ResourceTemplateDefinition[]>;
  readResource(uri: string, options?: RequestOptions): Promise<ReadResourceResult>;
  /** Hear `resourceUpdated` for this URI until the returned function is called. */
  subscribe(uri: string): Promise<() => Promise<void>>;

  listPrompts(options?: { refresh?: boolean } & RequestOptions): Promise<PromptDefinition[]>;
  getPrompt(name: string, args?: Record<string, string>, options?: RequestOptions): Promise<GetPromptResult>;
  complete(
    ref: { prompt: string } | { resource: string },
    argument: { name: string; value: string },
    context?: Record<string, string>,
    options?: RequestOptions,
  ): Promise<CompleteResult["completion"]>;

  /** Asks the server whether it is alive. */
  ping(options?: RequestOptions): Promise<void>;
  setLogLevel(level: LogLevel): Promise<void>;
  on<E extends keyof ConnectionEvents>(
    event: E,
    listener: (...args: ConnectionEvents[E]) => void,
  ): () => void;
  close(): Promise<void>;
}
