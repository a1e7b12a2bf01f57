// Public face of the bridge manifest.

export { type ServerDefaults, toDeclaredServer, toDefaults, withDefaults } from "./declared-server.ts";
export { definedOnly, filled, type Loose } from "./defined.ts";
export { type LaunchFields, toDockerFields, toLaunchFields, toSandboxFields } from "./launch-fields.ts";
export { checkNaming, NAMING } from "./naming.ts";
export {
  looksLikeManifest,
  type ManifestResult,
  type ManifestSettings,
  parseManifest,
  unknownAliasHint,
  withServer,
} from "./parse.ts";
export { type SandboxContext, toSandboxDeclaration } from "./sandbox.ts";
export { type CheckedSandbox, SANDBOX_OBJECT, SANDBOX_SHAPE } from "./sandbox-shape.ts";
export {
  type CheckedDefaults,
  type CheckedServer,
  DEFAULT_FIELDS,
  DESCRIPTION_PREFIX,
  SERVER_FIELDS,
} from "./server-fields.ts";
export { MANIFEST_SHAPE } from "./shape.ts";
export { checkVersionCheck } from "./version-check.ts";
