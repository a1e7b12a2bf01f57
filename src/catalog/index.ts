// Public exports of the catalog room.

export { type FileChange, toFileChange } from "./files/accepted-files.ts";
export { type CatalogChange, type CatalogWatch, watchCatalog, type WatchOptions } from "./watch/watch.ts";
export {
  type Catalog,
  type CatalogFile,
  type CatalogOptions,
  type CatalogSettings,
  fatalErrors,
  type FindPackagedDrivers,
  type LockText,
  OWN_NAMES,
  type PackagedDriver,
  type ParsedFiles,
  USUAL_NAMES,
} from "./types.ts";
export type { ManifestInput, ParseClientFile, ServerFields, WorkspaceInput } from "./formats.ts";
export { isUndeclared, type UsedPaths, usualConfigPaths } from "./files/sources.ts";
export { loadCatalog } from "./load.ts";
export { readProgramConfig } from "./program-config.ts";
export { areToolsNamedByServer, unmatchedPattern, withAbsoluteFolders } from "./settings.ts";
export { type ClientFiles, validateFiles, type Validation } from "./validate.ts";
