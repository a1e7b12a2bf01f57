// Public exports of the bridge manifest, and of the server fields that portolan.yaml shares with it.

export {
  AUTH as SERVER_AUTH,
  checkAuth as checkServerAuth,
  fixedHeaders,
  toOAuthSettings,
} from "./auth-schema.ts";
export { ALIAS_PATTERN, aliasProblem, MAX_ALIAS, toAlias } from "./alias.ts";
export { definedOnly, filled, withoutUndefined } from "./defined.ts";
export { checkVersionCommand, checkVersionPattern, checkVersionRange } from "./launch-schema.ts";
export { folderOf, toAbsolutePath } from "./paths.ts";
export {
  looksLikeManifest,
  MANIFEST,
  type ManifestInput,
  type ManifestResult,
  type ManifestSettings,
  parseManifest,
  readManifestValue,
  unknownAliasHint,
  withServer,
} from "./read.ts";
export {
  createFsSchema,
  HOST,
  noteRelaxedSandbox,
  type Sandbox,
  SANDBOX,
  SANDBOX_BLOCK,
  SHARED_SANDBOX_FIELDS,
} from "./sandbox-schema.ts";
export { LOCK_NAME, type ServerDefaults, toServerConfig, toDefaults, withDefaults } from "./server-config.ts";
export {
  DEFAULT_FIELDS,
  DESCRIPTION_PREFIX,
  NAMING,
  PINS,
  SERVER,
  type ServerFields,
} from "./server-schema.ts";
export {
  type LaunchFields,
  toDockerFields,
  toLaunchFields,
  toSandboxBlock,
  toSandboxFields,
} from "./write.ts";
