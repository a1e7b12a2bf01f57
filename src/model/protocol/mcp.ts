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

/** One block of a tool result or prompt message. Later protocol revisions may add values of `type`. */
export interface ContentBlock extends JsonObject {
  type: string;
}

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
