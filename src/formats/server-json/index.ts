// Public exports of server.json, the document of the official MCP registry: packages, remotes, and their settings.

export { fillOption, type FilledOption } from "./fill.ts";
export {
  type ArgumentTemplate,
  type InstallableOption,
  OPTION_KINDS,
  type OptionKind,
  type Platform,
  preferredOption,
  type ServerOption,
  type ServerSettings,
  toServerOptions,
  usableOptions,
} from "./options.ts";
export {
  looksLikeServerJson,
  parseServerJson,
  type ServerJsonDocument,
  type ServerJsonResult,
} from "./read.ts";
export { SERVER_JSON } from "./schema.ts";
export { fillTemplate, type Template } from "./settings.ts";
