// Public exports of the package format: the metadata of an MCP server in a registry.

export { type LaterField, type PackageMode, settingText, variableOf } from "./check.ts";
export {
  looksLikePackage,
  type PackageMetadata,
  type PackageOptions,
  type PackageResult,
  parsePackage,
} from "./read.ts";
export { DRIVER_FILE, PACKAGE, type PackageValue } from "./schema.ts";
export { packageTemplate } from "./starter.ts";
export {
  type PackageSecurity,
  type PermissionNote,
  type PermissionResult,
  sandboxFromPermissions,
} from "./security.ts";
