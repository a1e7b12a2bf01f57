// Public face of the model room.

export { isObject, type Json, type JsonObject } from "./json.ts";
export type {
  CallToolResult,
  CompleteResult,
  ContentBlock,
  ElicitRequest,
  ElicitResult,
  Era,
  GetPromptResult,
  Implementation,
  JsonSchema,
  LogLevel,
  LogMessage,
  Progress,
  PromptArgument,
  PromptDefinition,
  PromptMessage,
  ReadResourceResult,
  ResourceContents,
  ResourceDefinition,
  ResourceTemplateDefinition,
  Root,
  ServerCapabilities,
  ToolAnnotations,
  ToolDefinition,
} from "./mcp.ts";
export {
  DEFAULT_LIMITS,
  type Endpoint,
  type EraPin,
  type Limits,
  type ServerDefinition,
  type StdioEndpoint,
  type UrlEndpoint,
} from "./server-definition.ts";
