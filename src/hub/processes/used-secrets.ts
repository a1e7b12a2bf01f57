// Secrets with which the last session of a server was opened, so that a reload finds the servers whose secrets changed.

import { hash } from "node:crypto";

export interface UsedSecrets {
  /** A digest of the config with its values; undefined before the first session, and for contracts. */
  digest?: string;
  /** Of contracts: true if a server of a driver was started with other values. Throws if one cannot be read again. */
  hasNew?: () => Promise<boolean>;
}

/** Values of secrets are not kept for the comparison. */
export function digestOf(resolved: unknown): string {
  return hash("sha256", JSON.stringify(resolved));
}
