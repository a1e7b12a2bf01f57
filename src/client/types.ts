// Public types of the client: the config of `connectMcp()` and the connection that it returns.

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
  OAuthSettings,
  Progress,
  PromptDefinition,
  ReadResourceResult,
  ResourceDefinition,
  ResourceTemplateDefinition,
  Root,
  SampleRequest,
  SampleResult,
  SandboxConfig,
  SandboxMode,
  ServerCapabilities,
  ToolAnnotations,
  ToolDefinition,
} from "../model/index.ts";
import type { CredentialStore, OpenLoginPage, RequestAuth, ShowDeviceCode } from "../oauth/index.ts";
import type { UpstreamStats } from "../upstream/index.ts";

/** Where a server request comes from. */
export interface HandlerContext {
  /** Aborts when the request ends without an answer, such as when its call is cancelled. */
  signal: AbortSignal;
  /** The name of the server that sent the request; undefined if Portolan itself asks for an approval. */
  server: string | undefined;
}

/** Answers to server requests, for both protocol eras. Requests without a handler are declined. */
export interface McpHandlers {
  elicit?:
    | ((request: ElicitRequest, context: HandlerContext) => Promise<ElicitResult> | ElicitResult)
    | undefined;
  sample?:
    | ((request: SampleRequest, context: HandlerContext) => Promise<SampleResult> | SampleResult)
    | undefined;
  roots?: readonly Root[] | (() => Promise<readonly Root[]> | readonly Root[]) | undefined;
}

/** The options of a connection that do not depend on its transport. */
export interface McpOptions {
  /** The name of this server in errors and logs. Default: the program and its first argument that is no option, or the URL. */
  name?: string | undefined;
  /** Protocol era: negotiated ("auto"), or fixed. */
  era?: EraPin | undefined;
  limits?: { readonly [Name in keyof Limits]?: Limits[Name] | undefined } | undefined;
  clientInfo?: Implementation | undefined;
  handlers?: McpHandlers | undefined;
  /** Lowest level of log messages that the server should send; they arrive as the "log" event. */
  logLevel?: LogLevel | undefined;
  /** Receive notifications of changed lists and resources. `false` saves a stream in one-shot programs. Default: true. */
  watch?: boolean | undefined;
  /** After a crash, a lost connection or a 5xx, repeat calls of tools whose annotations declare them read-only or idempotent. Default: false. */
  retryHinted?: boolean | undefined;
  /** Aborts connecting: it rejects at once with `CANCELLED`, and a process that was started ends in the background. */
  signal?: AbortSignal | undefined;
  /** Receives warnings. Default: `process.emitWarning`. */
  onDiagnostic?: ((diagnostic: Diagnostic) => void) | undefined;
}

/** A server that is a program, started in a sandbox. */
export interface McpStdioConfig extends McpOptions {
  /** A config with a command always uses stdio. */
  transport?: "stdio" | undefined;
  command: string;
  args?: readonly string[] | undefined;
  env?: Readonly<Record<string, string>> | undefined;
  /** Working folder of the program. A relative path starts at the working folder of this process, which is the default. */
  cwd?: string | undefined;
  /**
   * Sandbox of the program. The default profile allows a read-only system and its own folder, a private HOME and /tmp, no network,
   * and the folders of `handlers.roots`. "off" or false runs the program with all rights of this process.
   */
  sandbox?: SandboxMode | SandboxConfig | false | undefined;
  /** Reports what is installed before the start, such as a package, and the progress of downloads. */
  onInstalling?:
    | ((what: string, bytes?: { readonly received: number; readonly total?: number }) => void)
    | undefined;
  /** Receives the stderr output of the server. Errors contain its last lines anyway. */
  onStderr?: ((text: string) => void) | undefined;
}

/** A server behind a URL. */
export interface McpHttpConfig extends McpOptions {
  /** Default: "websocket" for a ws:// or wss:// URL, otherwise "http". */
  transport?: "http" | "sse" | "websocket" | undefined;
  url: string;
  headers?: Readonly<Record<string, string>> | undefined;
  /** A fixed token, or a login to a server behind OAuth: settings of the default provider, or a provider of your own. */
  auth?: McpToken | McpOAuth | RequestAuth | undefined;
}

/** A fixed token for `auth`. Every request has the header `Authorization: Bearer <token>`. */
export interface McpToken {
  token: string;
}

/** Settings of the default provider of `auth`. */
export interface McpOAuth extends OAuthSettings {
  /** Takes a person to the login page. Without it, a server that needs a login fails with AUTH_REQUIRED. */
  openLoginPage?: OpenLoginPage | undefined;
  /** Shows a device code, which takes the place of the login page where the authorization server offers it. */
  showDeviceCode?: ShowDeviceCode | undefined;
  /** Where tokens are kept. Default: in this process only. */
  store?: CredentialStore | undefined;
}

/** How to reach one server: a program to start, or a URL. */
export type McpConfig = McpStdioConfig | McpHttpConfig;

/** The options of one request: abort signal, timeout and progress. */
export interface RequestOptions {
  /** Aborts the request: it rejects at once with `CANCELLED`, and the server is notified. */
  signal?: AbortSignal | undefined;
  /**
   * Fails when neither the result nor progress arrives for this long, in ms; 0 means no limit. The time stops while a handler of the
   * program answers a server request of this call, and begins anew with the answer. Default: `limits.requestTimeoutMs`.
   */
  timeoutMs?: number | undefined;
  /**
   * Fails after this long, in ms, even if progress is reported or a handler still answers; 0 means no limit. A login that a person
   * has to finish makes both limits begin anew. Default: `limits.maxRequestMs`.
   */
  maxTimeoutMs?: number | undefined;
  /** Receives the progress that the server reports. */
  onProgress?: ((progress: Progress) => void) | undefined;
  /** Sent to the server as `_meta`. */
  meta?: JsonObject | undefined;
}

/** The options of a list. */
export interface ListOptions extends RequestOptions {
  /** Request the list from the server again. Default: only after it has changed. */
  refresh?: boolean | undefined;
}

/** A tool in the form that agent frameworks expect. */
export interface Tool {
  /** The name for a model: prefixed on request, and legal for every provider. */
  readonly name: string;
  readonly description: string;
  /** A Zod view of `inputSchema`, created on first use. Always an object that accepts unknown fields. */
  readonly schema: ZodObject;
  /** The server's JSON Schema, verbatim. */
  readonly inputSchema: JsonSchema;
  readonly outputSchema: JsonSchema | undefined;
  readonly annotations: ToolAnnotations | undefined;
  /**
   * The definition as the server sent it, unknown fields included. In a workspace, its `name` is the full name of the tool;
   * `toolNames()` has the server's own.
   */
  readonly definition: ToolDefinition;
  /** Calls the tool and returns its result as text. Throws TOOL_FAILED when the tool reports an error. */
  readonly execute: ToolExecute;
}

/** Calls a tool. Agent frameworks can take it as it is: the input is checked at run time, and their abort signals work. */
export interface ToolExecute {
  (input?: unknown, options?: ToolCallOptions): Promise<string>;
  /** For frameworks that pass a context of their own before the details of the call. The context is not used. */
  (input: unknown, context: unknown, details: ToolCallOptions | undefined): Promise<string>;
}

/** The options of `execute()`: those of a request, and the abort signal by the name that the AI SDK uses. */
export interface ToolCallOptions extends RequestOptions {
  abortSignal?: AbortSignal | undefined;
}

/** A whole tool result, with its text form beside it. `text` is an inherited getter: a copy such as `{ ...result }` lacks it. */
export type ToolResult = CallToolResult & { readonly text: string };

/** The facts about a server after negotiation: identity, era, revision, transport and capabilities. */
export interface ServerDescription {
  readonly name: string;
  readonly info: Implementation | undefined;
  readonly era: Era;
  /** Protocol revision in use, such as "2025-11-25". */
  readonly revision: string;
  /** The transport in use; "sse" after a fallback. */
  readonly transport: "stdio" | "http" | "sse" | "websocket" | "memory";
  readonly capabilities: ServerCapabilities;
  readonly instructions: string | undefined;
}

/** The events of a connection, with the arguments of their listeners. */
export interface ConnectionEvents {
  toolsChanged: [];
  promptsChanged: [];
  resourcesChanged: [];
  resourceUpdated: [uri: string];
  log: [message: LogMessage];
  /** The connection was lost (with the reason), is being restored, is ready again, or is given up. */
  stateChanged: [state: "ready" | "reconnecting" | "failed" | "closed", reason?: PortolanError];
}

/** A connection to one server. It survives restarts of the server until `close()`. */
export interface McpConnection extends AsyncDisposable {
  readonly server: ServerDescription;
  /** Diagnostics so far: dropped tools, schema fallbacks, noise on stdout. */
  readonly diagnostics: readonly Diagnostic[];
  /** Counters of this connection: requests in flight, late answers, noise, restarts. */
  stats(): UpstreamStats;

  listTools(options?: { prefix?: string | undefined } & ListOptions): Promise<Tool[]>;
  /** The tools as the server defined them, unknown fields included. */
  listToolDefinitions(options?: ListOptions): Promise<ToolDefinition[]>;
  /** Calls a tool by the name that the server gave it. Returns the whole result, also an error result. */
  callTool(name: string, input?: object, options?: RequestOptions): Promise<ToolResult>;

  listResources(options?: ListOptions): Promise<ResourceDefinition[]>;
  listResourceTemplates(options?: ListOptions): Promise<ResourceTemplateDefinition[]>;
  readResource(uri: string, options?: RequestOptions): Promise<ReadResourceResult>;
  /** Emits `resourceUpdated` for this URI until the returned function is called. */
  subscribe(uri: string): Promise<() => Promise<void>>;

  listPrompts(options?: ListOptions): Promise<PromptDefinition[]>;
  getPrompt(name: string, args?: Record<string, string>, options?: RequestOptions): Promise<GetPromptResult>;
  complete(
    ref: { prompt: string } | { resource: string },
    argument: { name: string; value: string },
    context?: Record<string, string>,
    options?: RequestOptions,
  ): Promise<CompleteResult["completion"]>;

  /** Sends a health check to the server. */
  ping(options?: RequestOptions): Promise<void>;
  setLogLevel(level: LogLevel): Promise<void>;
  on<E extends keyof ConnectionEvents>(
    event: E,
    listener: (...args: ConnectionEvents[E]) => void,
  ): () => void;
  close(): Promise<void>;
}
