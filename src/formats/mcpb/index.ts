// Public exports of the MCPB format: the manifest.json of a bundle, its settings, and its program on one machine.

export type { McpbValue } from "./check.ts";
export {
  type McpbPlace,
  type McpbProgram,
  mcpbProgram,
  type McpbProgramResult,
  mcpbRequirements,
  type McpbRequirements,
} from "./command.ts";
export { type Configuration, mcpbConfiguration, mcpbSettings, type SettingsResult } from "./configuration.ts";
export { looksLikeMcpbManifest, type McpbManifest, type McpbResult, parseMcpbManifest } from "./read.ts";
export { MANIFEST, MANIFEST_VERSIONS } from "./schema.ts";
