// Public exports of the catalog room.

export type { CatalogChange } from "./watch/changes.ts";
export { fatalErrors } from "./fatal-errors.ts";
export type { ParseClientFile } from "./formats.ts";
export { type UsedPaths, usualConfigPaths } from "./files/config-paths.ts";
export { loadCatalog } from "./load.ts";
export type { Catalog, CatalogFile, CatalogOptions, CatalogSettings } from "./types.ts";
export { isUndeclared } from "./files/sources.ts";
export { type ClientFiles, validateFiles, type Validation } from "./validate.ts";
export { type CatalogWatch, watchCatalog, type WatchOptions } from "./watch/watch.ts";
