// Public exports of the client room: `connectMcp()` and the connection that it returns.

export { connectMcp, connectServer } from "./connect-mcp.ts";
export { toSandbox, type TransportConfig } from "./config.ts";
export { Connection } from "./connection.ts";
export { rootFolders, toServerRequestHandler, toCapabilities } from "./handlers.ts";
export { checkRequestOptions, HANDLERS_KIND, REQUEST_OPTIONS } from "./options.ts";
export { exposedName, exposedNames } from "./names.ts";
export { blockText, resultText } from "./result-text.ts";
export type {
  ConnectionEvents,
  HandlerContext,
  McpConfig,
  McpConnection,
  McpHandlers,
  McpHttpConfig,
  McpOAuth,
  McpOptions,
  McpStdioConfig,
  McpToken,
  RequestOptions,
  ServerDescription,
  Tool,
  ToolCallOptions,
  ToolExecute,
  ToolResult,
} from "./types.ts";
export { VERSION } from "./version.ts";
export { createWarner } from "./warnings.ts";
