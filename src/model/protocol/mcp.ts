// Types of MCP messages, as far as Portolan reads them. Every type is open: unknown fields pass unchanged.

import type { JsonObject } from "../json/json.ts";

export type Era = "legacy" | "modern";

export interface Implementation extends JsonObject {
  name: string;
  version: string;
  title?: string;
}

export interface ToolAnnotations extends JsonObject {
  title?: string;
  readOnlyHint?: boolean;
  destructiveHint?: boolean;
  idempotentHint?: boolean;
  openWorldHint?: boolean;
}

/** A JSON Schema object as the server wrote it. */
export type JsonSchema = JsonObject;

export interface ToolDefinition extends JsonObject {
  name: string;
  title?: string;
  description?: string;
  inputSchema: JsonSchema;
  outputSchema?: JsonSchema;
  annotations?: ToolAnnotations;
}

export interface ResourceDefinition extends JsonObject {
  uri: string;
  name: string;
  title?: string;
  description?: string;
  mimeType?: string;
  size?: number;
}

export interface ResourceTemplateDefinition extends JsonObject {
  uriTemplate: string;
  name: string;
  title?: string;
  description?: string;
  mimeType?: string;
}

export interface PromptArgument extends JsonObject {
  name: string;
  title?: string;
  description?: string;
  required?: boolean;
}

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

export interface ResourceContents extends JsonObject {
  uri: string;
  mimeType?: string;
  text?: string;
  blob?: string;
}

export interface PromptMessage extends JsonObject {
  role: string;
  content: ContentBlock;
}

export interface CallToolResult extends JsonObject {
  content?: ContentBlock[];
  structuredContent?: unknown;
  isError?: boolean;
}

export interface ReadResourceResult extends JsonObject {
  contents: ResourceContents[];
}

export interface GetPromptResult extends JsonObject {
  description?: string;
  messages: PromptMessage[];
}

export interface CompleteResult extends JsonObject {
  completion: { values: string[]; total?: number; hasMore?: boolean };
}

export interface ServerCapabilities extends JsonObject {
  tools?: JsonObject & { listChanged?: boolean };
  prompts?: JsonObject & { listChanged?: boolean };
  resources?: JsonObject & { listChanged?: boolean; subscribe?: boolean };
  completions?: JsonObject;
  logging?: JsonObject;
}

export type LogLevel = "debug" | "info" | "notice" | "warning" | "error" | "critical" | "alert" | "emergency";

export interface LogMessage extends JsonObject {
  level: LogLevel;
  logger?: string;
  data: unknown;
}

export interface Progress {
  progress: number;
  total?: number;
  message?: string;
}

export interface ElicitRequest extends JsonObject {
  message: string;
  /** The default is "form". */
  mode?: "form" | "url";
  requestedSchema?: JsonSchema;
  url?: string;
}

export interface ElicitResult extends JsonObject {
  action: "accept" | "decline" | "cancel";
  content?: JsonObject;
}

export interface Root extends JsonObject {
  uri: string;
  name?: string;
}
