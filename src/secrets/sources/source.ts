// Interface of a source of secrets.

import type { Secret } from "../secret.ts";
import type { VaultFault } from "../vault/vault-errors.ts";

export type SourceName = "environment" | "keyring" | "vault" | "dotenv" | "program";

/** Returns the reason why a file must not be read, or undefined if it may be. `isCovered` says that no server can write the file. */
export type CheckFile = (
  path: string,
  use?: { readonly isCovered?: boolean },
) => Promise<{ readonly reason: string; readonly hint: string } | undefined>;

export interface SourceStatus {
  readonly ok: boolean;
  /** One line for people: the number of secrets or the problem, never a value. */
  readonly note: string;
  /** The next step for a source that does not work. */
  readonly hint?: string;
  /** Why the vault cannot be used. */
  readonly reason?: VaultFault;
}

export interface SecretSource {
  readonly name: SourceName;
  /** An empty value counts as missing in every source. */
  get(name: string): Promise<Secret | undefined>;
  list?(): Promise<string[]>;
  set?(name: string, value: Secret): Promise<void>;
  /** Resolves to false if the secret did not exist. */
  remove?(name: string): Promise<boolean>;
  check(): Promise<SourceStatus>;
}
