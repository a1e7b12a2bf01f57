// Public face of the package format.

export {
  type PackageSecurity,
  type PermissionNote,
  type PermissionResult,
  sandboxFromPermissions,
} from "./security.ts";
