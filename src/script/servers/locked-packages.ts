// Packages of a workspace by the lock file: the name of each server's package, and the variables of its settings.

import { lockFileOf, parseDocument, readDocument, readLock } from "../../packages/index.ts";

/** The package that a server of the workspace was installed from. */
export interface LockedServerPackage {
  readonly name: string;
  /** The environment variables of settings, where the metadata of the package names others than the usual ones. */
  readonly variables?: Readonly<Record<string, string>>;
}

/**
 * The packages by the alias of their server. Throws if the lock file is broken. A document that is not in the store has no
 * variables here; the start of its server reports that it is missing.
 */
export async function readLockedPackages(
  folder: string,
  options: { readonly root?: string } = {},
): Promise<ReadonlyMap<string, LockedServerPackage>> {
  const { servers } = await readLock(lockFileOf(folder));
  const found = new Map<string, LockedServerPackage>();
  for (const [alias, { package: locked }] of Object.entries(servers)) {
    if (locked === undefined) continue;
    const { name, version, metadata } = locked;
    const bytes = metadata === undefined ? undefined : await readDocument(metadata, options);
    const document = bytes && parseDocument(bytes, `${name}@${version}`);
    found.set(alias, { name, variables: document?.mcp.configuration?.env });
  }
  return found;
}
