// Types of MCP messages, as far as Portolan reads them, and names of the HTTP headers. Unknown fields pass unchanged.
// Most types are aliases, not interfaces: an alias is assignable to JsonObject without an index signature of its own, with which
// the compiler would accept every misspelt field.

import type { JsonObject } from "../json/json.ts";

/** The protocol era of a session: `legacy` (handshake, to 2025-11-25) or `modern` (stateless, 2026-07-28). */
export type Era = "legacy" | "modern";

/** Name and version of a client or a server. */
export type Implementation = {
  name: string;
  version: string;
  title?: string;
};

/** Claims of a server about a tool. Portolan does not check them. */
export type ToolAnnotations = {
  title?: string;
  readOnlyHint?: boolean;
  destructiveHint?: boolean;
  idempotentHint?: boolean;
  openWorldHint?: boolean;
};

/** A JSON Schema object as the server wrote it. */
export type JsonSchema = JsonObject;

/** A tool as its server lists it, with unknown fields. */
export type ToolDefinition = {
  name: string;
  title?: string;
  description?: string;
  inputSchema: JsonSchema;
  outputSchema?: JsonSchema;
  annotations?: ToolAnnotations;
  _meta?: JsonObject;
};

/** A resource as its server lists it. */
export type ResourceDefinition = {
  uri: string;
  name: string;
  title?: string;
  description?: string;
  mimeType?: string;
  size?: number;
  _meta?: JsonObject;
};

/** A resource template as its server lists it. */
export type ResourceTemplateDefinition = {
  uriTemplate: string;
  name: string;
  title?: string;
  description?: string;
  mimeType?: string;
  _meta?: JsonObject;
};

/** One argument of a prompt. */
export type PromptArgument = {
  name: string;
  title?: string;
  description?: string;
  required?: boolean;
};

/** A prompt as its server lists it. */
export type PromptDefinition = {
  name: string;
  title?: string;
  description?: string;
  arguments?: PromptArgument[];
  _meta?: JsonObject;
};

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
export type ResourceContents = {
  uri: string;
  mimeType?: string;
  text?: string;
  blob?: string;
  _meta?: JsonObject;
};

/** One message of a prompt, with its role. */
export type PromptMessage = {
  role: string;
  content: ContentBlock;
};

/** The result of `tools/call`, as the server sent it. */
export type CallToolResult = {
  content?: ContentBlock[];
  structuredContent?: unknown;
  isError?: boolean;
  /** Absent or `complete`, unless an extension such as tasks answers with another kind of result. */
  resultType?: string;
  _meta?: JsonObject;
};

/** The result of `resources/read`. */
export type ReadResourceResult = {
  contents: ResourceContents[];
  _meta?: JsonObject;
};

/** The result of `prompts/get`: the messages of a prompt. */
export type GetPromptResult = {
  description?: string;
  messages: PromptMessage[];
  _meta?: JsonObject;
};

/** The result of `completion/complete`: proposed values of an argument. */
export type CompleteResult = {
  completion: { values: string[]; total?: number; hasMore?: boolean };
  _meta?: JsonObject;
};

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
export type LogMessage = {
  level: LogLevel;
  logger?: string;
  data: unknown;
};

/** Progress of a running call, as the server reports it. */
export interface Progress {
  progress: number;
  total?: number;
  message?: string;
}

/** The fields of a form: one JSON Schema for each property, without nested objects. */
export type FormSchema = JsonSchema & {
  properties?: Record<string, JsonSchema>;
  required?: string[];
};

/** Metadata of an elicitation. `portolan/approval` marks Portolan's own request to approve a call of this contract. */
export type ElicitMeta = JsonObject & { "portolan/approval"?: { tool: string } };

/** A server request for input of the user, as a form. */
export type ElicitFormRequest = {
  mode: "form";
  message: string;
  requestedSchema: FormSchema;
  _meta?: ElicitMeta;
};

/** A server request that the user opens a page. */
export type ElicitUrlRequest = {
  mode: "url";
  message: string;
  url: string;
  elicitationId?: string;
  _meta?: ElicitMeta;
};

/** A server request for input of the user: a form, or a page to open. `mode` tells them apart. */
export type ElicitRequest = ElicitFormRequest | ElicitUrlRequest;

/** The answer to an elicitation: accepted with content, declined, or cancelled. */
export type ElicitResult = {
  action: "accept" | "decline" | "cancel";
  content?: JsonObject;
  _meta?: JsonObject;
};

/** One block of a message of a sampling request. */
export type SampleContent = TextContent | ImageContent | AudioContent | UnknownContent;

/** One message of a sampling request. */
export type SampleMessage = {
  role: "user" | "assistant";
  /** Servers since 2025-11-25 may send several blocks. */
  content: SampleContent | SampleContent[];
  _meta?: JsonObject;
};

/** A server request for a completion by the model of the client: the parameters of `sampling/createMessage`. */
export type SampleRequest = {
  messages: SampleMessage[];
  maxTokens: number;
  systemPrompt?: string;
  modelPreferences?: {
    hints?: { name?: string }[];
    costPriority?: number;
    speedPriority?: number;
    intelligencePriority?: number;
  };
  includeContext?: "none" | "thisServer" | "allServers";
  temperature?: number;
  stopSequences?: string[];
  metadata?: JsonObject;
  _meta?: JsonObject;
};

/** The answer to a sampling request: the message of the model. */
export type SampleResult = {
  role: "user" | "assistant";
  content: SampleContent | SampleContent[];
  /** The name of the model that answered. */
  model: string;
  /** Such as `endTurn`, `stopSequence` or `maxTokens`. */
  stopReason?: string;
  _meta?: JsonObject;
};

/** A folder that a client offers to servers. */
export type Root = {
  uri: string;
  name?: string;
  _meta?: JsonObject;
};

/** Names of the HTTP headers that MCP defines, in lower case as Node.js delivers them. */
export const HEADER = {
  SESSION_ID: "mcp-session-id",
  PROTOCOL_VERSION: "mcp-protocol-version",
  METHOD: "mcp-method",
  NAME: "mcp-name",
  LAST_EVENT_ID: "last-event-id",
} as const;
