// What every place that holds secrets can do.

import type { Secret } from "../secret.ts";

export type SourceName = "environment" | "keyring" | "vault" | "dotenv";

/** Why a file must not be read, as the rest of "it cannot be used: …"; undefined when it may be. `isCovered`: no server can write it. */
export type CheckFile = (
  path: string,
  use?: { readonly isCovered?: boolean | undefined },
) => Promise<{ readonly reason: string; readonly hint: string } | undefined>;

export interface SourceStatus {
  readonly ok: boolean;
  /** One line for people: what was found, or what is wrong. Never a value. */
  readonly note: string;
}

export interface SecretSource {
  readonly name: SourceName;
  /** An empty value counts as none, in every source. */
  get(name: string): Promise<Secret | undefined>;
  list?(): Promise<string[]>;
  set?(name: string, value: Secret): Promise<void>;
  /** False when there was nothing to remove. */
  remove?(name: string): Promise<boolean>;
  check(): Promise<SourceStatus>;
}
