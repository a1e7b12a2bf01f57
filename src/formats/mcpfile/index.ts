// Public face of the mcpfile: tools as HTTP requests and commands.

export { type BesideFile, declareMcpfile } from "./declared.ts";
export { isMcpfile, isMcpfileName, looksLikeMcpfile } from "./detect.ts";
export { type McpfileEntry, type McpfileResult, parseMcpfile } from "./parse.ts";
export { renderMcpfile, renderServerConfig } from "./render.ts";
export {
  type ClientTlsConfig,
  type LoggingConfig,
  type McpRuntime,
  type McpServerConfig,
  type StreamableHttpConfig,
  toClientTls,
} from "./runtime.ts";
export { MCPFILE_TEMPLATE } from "./starter.ts";
export { type McpfileUpgrade, upgradeMcpfile, type UpgradedFile } from "./upgrade.ts";
export type { Version } from "./versions.ts";
