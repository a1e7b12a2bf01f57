// Vault reader: finds the passphrase once for concurrent readers, and distinguishes a wrong passphrase from a damaged file.

import type { Report } from "../../errors/index.ts";
import type { Environment } from "../sources/environment.ts";
import type { Keyring } from "../sources/keyring.ts";
import { readLimited } from "../../base/files/limited-read.ts";
import { findPassphrase, type PromptPassphrase } from "./passphrase.ts";
import type { Secret } from "../secret.ts";
import { toVaultError, unreadableVault, wrongPassphrase } from "./vault-errors.ts";
import { openVault, readHeader } from "./vault-file.ts";
import { deriveKey, type KeyParameters } from "./vault-key.ts";

export const MAX_VAULT_BYTES: number = 16 * 1024 * 1024;

export interface VaultReaderOptions {
  readonly env: Environment;
  readonly keyring?: Keyring;
  readonly promptPassphrase?: PromptPassphrase;
  readonly report: Report;
}

export interface VaultContent {
  readonly secrets: Map<string, string>;
  readonly parameters: KeyParameters;
  readonly key: Buffer;
}

export interface VaultReader {
  /** Resolves to undefined if there is no file yet. `asked` means that a person waits, so a declined prompt is shown again. */
  load(vault: string, asked: boolean): Promise<VaultContent | undefined>;
  /** Resolves to the passphrase of an existing or a new vault. */
  passphrase(vault: string): Promise<Secret>;
}

export function createVaultReader(options: VaultReaderOptions): VaultReader {
  let known: Secret | undefined;
  let finding: Promise<Secret> | undefined;
  let declined: Error | undefined;

  async function find(vault: string, bytes: Buffer | undefined): Promise<Secret> {
    const opens = async (passphrase: Secret): Promise<boolean> =>
      bytes === undefined || (await openWith(vault, bytes, passphrase)) !== undefined;
    if (known !== undefined && (await opens(known))) return known;
    finding ??= findPassphrase(
      {
        vault,
        env: options.env,
        keyring: options.keyring,
        prompt: options.promptPassphrase,
        report: options.report,
      },
      bytes === undefined ? "create" : "open",
      opens,
    ).finally(() => {
      finding = undefined;
    });
    try {
      known = await finding;
      declined = undefined;
      return known;
    } catch (error) {
      // Fifty servers that start one after the other must not prompt fifty times.
      if (options.promptPassphrase !== undefined) declined = error as Error;
      throw error;
    }
  }

  return {
    async load(vault, asked) {
      const bytes = await readVault(vault);
      if (bytes === undefined) return undefined;
      if (!asked && declined !== undefined) throw declined;
      const content = await openWith(vault, bytes, await find(vault, bytes));
      if (content === undefined) throw wrongPassphrase(vault, "the one given before");
      return content;
    },
    async passphrase(vault) {
      return await find(vault, await readVault(vault));
    },
  };
}

/** Resolves to undefined if there is no vault. An empty file counts as damaged. */
export async function readVault(vault: string): Promise<Buffer | undefined> {
  try {
    return await readLimited(vault, MAX_VAULT_BYTES);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw toVaultError(vault, "read", error);
  }
}

/** Resolves to undefined for a wrong passphrase. */
export async function openWith(
  vault: string,
  bytes: Buffer,
  passphrase: Secret,
): Promise<VaultContent | undefined> {
  const header = readHeader(bytes);
  if (!header.ok) throw unreadableVault(vault, header.reason, header.detail);
  const key = await deriveKey(passphrase, header.key);
  const opened = openVault(bytes, header.length, key);
  if (opened.ok) return { secrets: opened.secrets, parameters: header.key, key };
  if (opened.reason === "locked") return undefined;
  throw unreadableVault(vault, opened.reason, opened.detail);
}
