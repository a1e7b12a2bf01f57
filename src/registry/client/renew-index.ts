// Renews the stored index of a registry when it was last checked long ago, so that a start knows recent advisories.

import { defaultStateFolder } from "./cached-advisories.ts";
import { openRegistry, toRegistryUrl } from "./client.ts";
import { openTrust } from "./trust.ts";

export interface RenewOptions {
  /** An index that was checked more recently is not renewed. */
  readonly maxAgeMs: number;
  readonly token?: () => Promise<string | undefined>;
  readonly signal?: AbortSignal;
  readonly stateFolder?: string;
  readonly now?: () => Date;
}

/** Returns true if the index was renewed. A registry that was never used stays unknown. Throws if it cannot be reached. */
export async function renewIndex(registry: string, options: RenewOptions): Promise<boolean> {
  const { maxAgeMs, token, signal, now = () => new Date() } = options;
  const stateFolder = options.stateFolder ?? (await defaultStateFolder());
  const checkedAt = await openTrust(stateFolder, toRegistryUrl(registry).href).checkedAt();
  if (checkedAt === undefined || now().getTime() - checkedAt < maxAgeMs) return false;
  signal?.throwIfAborted();
  const secret = await token?.();
  const settings = { url: registry, token: secret === undefined ? undefined : "token" };
  await openRegistry(settings, { stateFolder, signal, now, resolveSecret: async () => secret }).index();
  return true;
}
