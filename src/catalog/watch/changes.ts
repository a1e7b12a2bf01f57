// Differences between two states of a catalog.

import { isDeepStrictEqual } from "node:util";
import { sameDefinition } from "../merge.ts";
import type { Catalog } from "../types.ts";

export interface CatalogChange {
  readonly catalog: Catalog;
  /** Sorted aliases. All three lists are empty if only settings, positions or diagnostics changed. */
  readonly added: readonly string[];
  readonly removed: readonly string[];
  readonly changed: readonly string[];
  readonly settingsChanged: boolean;
}

/** Returns undefined if both are equal, including line numbers. */
export function compareCatalogs(before: Catalog, after: Catalog): CatalogChange | undefined {
  if (isDeepStrictEqual(before, after)) return undefined;
  const old = new Map(before.servers.map((server) => [server.alias, server]));
  const added: string[] = [];
  const changed: string[] = [];
  for (const server of after.servers) {
    const known = old.get(server.alias);
    old.delete(server.alias);
    if (known === undefined) added.push(server.alias);
    else if (!sameDefinition(known, server)) changed.push(server.alias);
  }
  const settingsChanged = !isDeepStrictEqual(before.settings, after.settings);
  return { catalog: after, added, removed: [...old.keys()], changed, settingsChanged };
}
