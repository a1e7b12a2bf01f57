// Types of MCP messages, as far as Portolan reads them, and names of the HTTP headers. Every type is open: unknown fields pass
// unchanged.

import type { JsonObject } from "../json/json.ts";

/** The protocol era of a session: `legacy` (handshake, to 2025-11-25) or `modern` (stateless, 2026-07-28). */
export type Era = "legacy" | "modern";

/** Name and version of a client or a server. */
export interface Implementation extends JsonObject {
  name: string;
  version: string;
  title?: string;
}

/** Claims of a server about a tool. Portolan does not check them. */
export interface ToolAnnotations extends JsonObject {
  title?: string;
  readOnlyHint?: boolean;
  destructiveHint?: boolean;
  idempotentHint?: boolean;
  openWorldHint?: boolean;
}

/** A JSON Schema object as the server wrote it. */
export type JsonSchema = JsonObject;

/** A tool as its server lists it, with unknown fields. */
export interface ToolDefinition extends JsonObject {
  name: string;
  title?: string;
  description?: string;
  inputSchema: JsonSchema;
  outputSchema?: JsonSchema;
  annotations?: ToolAnnotations;
}

/** A resource as its server lists it. */
export interface ResourceDefinition extends JsonObject {
  uri: string;
  name: string;
  title?: string;
  description?: string;
  mimeType?: string;
  size?: number;
}

/** A resource template as its server lists it. */
export interface ResourceTemplateDefinition extends JsonObject {
  uriTemplate: string;
  name: string;
  title?: string;
  description?: string;
  mimeType?: string;
}

/** One argument of a prompt. */
export interface PromptArgument extends JsonObject {
  name: string;
  title?: string;
  description?: string;
  required?: boolean;
}

/** A prompt as its server lists it. */
export interface PromptDefinition extends JsonObject {
  name: string;
  title?: string;
  description?: string;
  arguments?: PromptArgument[];
}

/** Hints for clients about the use of a block. */
export interface ContentAnnotations extends JsonObject {
  audience?: string[];
  priority?: number;
  lastModified?: string;
}

interface ContentBase extends JsonObject {
  annotations?: ContentAnnotations;
}

export interface TextContent extends ContentBase {
  type: "text";
  text: string;
}

export interface ImageContent extends ContentBase {
  type: "image";
  /** Base64. */
  data: string;
  mimeType: string;
}

export interface AudioContent extends ContentBase {
  type: "audio";
  /** Base64. */
  data: string;
  mimeType: string;
}

/** A link to a resource that the client can read. */
export interface ResourceLink extends ContentBase {
  type: "resource_link";
  uri: string;
  name: string;
  title?: string;
  description?: string;
  mimeType?: string;
  size?: number;
}

/** The contents of a resource. */
export interface EmbeddedResource extends ContentBase {
  type: "resource";
  resource: ResourceContents;
}

/**
 * A block of a type that this version does not know, passed on unchanged. At run time `type` is the string of the server. Its
 * TypeScript type is a pattern that no known type matches, because beside a plain `string` a comparison such as
 * `block.type === "image"` would not narrow the union. To compare it with a new type, write `String(block.type) === "video"`.
 */
export interface UnknownContent extends ContentBase {
  type: `unknown ${string}`;
}

/** One block of a tool result or a prompt message. `type` tells the kinds apart; servers may send types that are not listed here. */
export type ContentBlock =
  | TextContent
  | ImageContent
  | AudioContent
  | ResourceLink
  | EmbeddedResource
  | UnknownContent;

/** The text or the base64 data of one resource. */
export interface ResourceContents extends JsonObject {
  uri: string;
  mimeType?: string;
  text?: string;
  blob?: string;
}

/** One message of a prompt, with its role. */
export interface PromptMessage extends JsonObject {
  role: string;
  content: ContentBlock;
}

/** The result of `tools/call`, as the server sent it. */
export interface CallToolResult extends JsonObject {
  content?: ContentBlock[];
  structuredContent?: unknown;
  isError?: boolean;
}

/** The result of `resources/read`. */
export interface ReadResourceResult extends JsonObject {
  contents: ResourceContents[];
}

/** The result of `prompts/get`: the messages of a prompt. */
export interface GetPromptResult extends JsonObject {
  description?: string;
  messages: PromptMessage[];
}

/** The result of `completion/complete`: proposed values of an argument. */
export interface CompleteResult extends JsonObject {
  completion: { values: string[]; total?: number; hasMore?: boolean };
}

/** The capabilities that a server declared. */
export interface ServerCapabilities extends JsonObject {
  tools?: JsonObject & { listChanged?: boolean };
  prompts?: JsonObject & { listChanged?: boolean };
  resources?: JsonObject & { listChanged?: boolean; subscribe?: boolean };
  completions?: JsonObject;
  logging?: JsonObject;
}

/** The severity of a log message, as in syslog. */
export type LogLevel = "debug" | "info" | "notice" | "warning" | "error" | "critical" | "alert" | "emergency";

/** A log message that a server sent. */
export interface LogMessage extends JsonObject {
  level: LogLevel;
  logger?: string;
  data: unknown;
}

/** Progress of a running call, as the server reports it. */
export interface Progress {
  progress: number;
  total?: number;
  message?: string;
}

/** A server request for input of the user: a form, or a link to open. */
export interface ElicitRequest extends JsonObject {
  message: string;
  /** The default is "form". */
  mode?: "form" | "url";
  requestedSchema?: JsonSchema;
  url?: string;
}

/** The answer to an elicitation: accepted with content, declined, or cancelled. */
export interface ElicitResult extends JsonObject {
  action: "accept" | "decline" | "cancel";
  content?: JsonObject;
}

/** A folder that a client offers to servers. */
export interface Root extends JsonObject {
  uri: string;
  name?: string;
}

/** Names of the HTTP headers that MCP defines, in lower case as Node.js delivers them. */
export const HEADER = {
  SESSION_ID: "mcp-session-id",
  PROTOCOL_VERSION: "mcp-protocol-version",
  METHOD: "mcp-method",
  NAME: "mcp-name",
  LAST_EVENT_ID: "last-event-id",
} as const;
