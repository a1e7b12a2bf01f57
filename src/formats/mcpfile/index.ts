// Public exports of the mcpfile: tools as HTTP requests and commands.

export { type BesideFile, readMcpfile, isMcpfile, isMcpfileName, looksLikeMcpfile } from "./declared.ts";
export { type McpfileEntry, type McpfileResult, type McpServerConfig, parseMcpfile } from "./read/parse.ts";
export { renderMcpfile, renderServerConfig } from "./write/render.ts";
export type {
  ClientTlsConfig,
  LoggingConfig,
  McpRuntime,
  StreamableHttpConfig,
} from "./schema/runtime-schema.ts";
export { toClientTls } from "./read/server.ts";
export { MCPFILE_TEMPLATE } from "./write/starter.ts";
export { type McpfileUpgrade, upgradeMcpfile, type UpgradedFile } from "./write/upgrade.ts";
export type { Version } from "./schema/versions.ts";
