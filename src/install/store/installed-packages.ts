// The npm packages that Portolan has installed, for all workspaces of the user.

import { defaultStoreRoot, openStore } from "./store.ts";

export interface InstalledPackages {
  /** The store, which Portolan fills again when a server needs a package. */
  readonly folder: string;
  /** Names without versions, sorted. */
  readonly names: readonly string[];
}

export async function installedPackages(): Promise<InstalledPackages> {
  const folder = await defaultStoreRoot();
  const records = await openStore(folder, "npm").list();
  return { folder, names: [...new Set(records.map(({ name }) => name))].toSorted() };
}
