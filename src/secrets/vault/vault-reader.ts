// Vault reader: finds the passphrase once for concurrent readers, and distinguishes a wrong passphrase from a damaged file.

import type { Report } from "../../errors/index.ts";
import type { Environment } from "../sources/environment.ts";
import type { Keyring } from "../sources/keyring.ts";
import { readLimited } from "../../base/files/limited-read.ts";
import type { VaultAgent } from "../agent/client.ts";
import {
  findPassphrase,
  type FoundPassphrase,
  PASSPHRASE_FILE,
  type PromptPassphrase,
} from "./passphrase.ts";
import { Secret } from "../secret.ts";
import { toVaultError, unreadableVault, wrongPassphrase } from "./vault-errors.ts";
import { openVault, readHeader } from "./vault-file.ts";
import { deriveKey, haveSameParameters, type KeyParameters, type VaultKey } from "./vault-key.ts";

export const MAX_VAULT_BYTES: number = 16 * 1024 * 1024;

export interface VaultReaderOptions {
  readonly env: Environment;
  readonly keyring?: Keyring;
  readonly promptPassphrase?: PromptPassphrase;
  /** Has the key of a vault that was unlocked before. */
  readonly agent?: Pick<VaultAgent, "get">;
  readonly report: Report;
}

export interface VaultContent {
  readonly secrets: Map<string, string>;
  readonly parameters: KeyParameters;
  readonly key: Buffer;
}

/** The key to a vault: its passphrase, or the key that was derived from it before. */
export type Unlock = Secret | VaultKey;

export interface VaultReader {
  /** Resolves to undefined if there is no file yet. `asked` means that a person waits, so a declined prompt is shown again. */
  load(vault: string, asked: boolean): Promise<VaultContent | undefined>;
  /** Resolves to what opens an existing vault, or to the passphrase of a new one. */
  unlock(vault: string): Promise<Unlock>;
  /** Resolves to the passphrase itself, which a key of the agent cannot replace. */
  passphrase(vault: string): Promise<Secret>;
  /** Reports a vault that was opened or created, so that a typed passphrase need not be typed again. */
  opened(vault: string, content: VaultContent): Promise<void>;
}

export function createVaultReader(options: VaultReaderOptions): VaultReader {
  let known: Unlock | undefined;
  let finding: Promise<FoundPassphrase> | undefined;
  let declined: Error | undefined;
  let keep: FoundPassphrase["opened"];

  async function find(vault: string, bytes: Buffer | undefined): Promise<Unlock> {
    const opens = async (unlock: Unlock): Promise<boolean> =>
      bytes === undefined || (await openWith(vault, bytes, unlock)) !== undefined;
    if (known !== undefined && (await opens(known))) return known;
    if (bytes !== undefined && !options.env[PASSPHRASE_FILE]) {
      const kept = await keyOfAgent(vault, bytes);
      if (kept !== undefined && (await opens(kept))) return (known = kept);
    }
    return findPassphraseOf(vault, bytes, opens);
  }

  async function keyOfAgent(vault: string, bytes: Buffer): Promise<VaultKey | undefined> {
    const header = readHeader(bytes);
    if (!header.ok) return undefined;
    const key = await options.agent?.get(vault, header.key).catch(() => undefined);
    return key && { parameters: header.key, key };
  }

  async function findPassphraseOf(
    vault: string,
    bytes: Buffer | undefined,
    opens: (passphrase: Secret) => Promise<boolean>,
  ): Promise<Secret> {
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
      const { passphrase, opened } = await finding;
      known = passphrase;
      keep = opened;
      declined = undefined;
      return passphrase;
    } catch (error) {
      // Fifty servers that start one after the other must not prompt fifty times.
      if (options.promptPassphrase !== undefined) declined = error as Error;
      throw error;
    }
  }

  async function opened(vault: string, { parameters, key }: VaultContent): Promise<void> {
    const now = keep;
    keep = undefined;
    // Without an agent, the next process asks again.
    await now?.(vault, { parameters, key }).catch(() => {});
  }

  return {
    async load(vault, asked) {
      const bytes = await readVault(vault);
      if (bytes === undefined) return undefined;
      if (!asked && declined !== undefined) throw declined;
      const content = await openWith(vault, bytes, await find(vault, bytes));
      if (content === undefined) throw wrongPassphrase(vault, "that was entered before");
      await opened(vault, content);
      return content;
    },
    async unlock(vault) {
      return await find(vault, await readVault(vault));
    },
    async passphrase(vault) {
      const bytes = await readVault(vault);
      const opens = async (passphrase: Secret): Promise<boolean> =>
        bytes === undefined || (await openWith(vault, bytes, passphrase)) !== undefined;
      if (known instanceof Secret && (await opens(known))) return known;
      return findPassphraseOf(vault, bytes, opens);
    },
    opened,
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

/** Resolves to undefined for a wrong passphrase, or for the key of another vault. */
export async function openWith(
  vault: string,
  bytes: Buffer,
  unlock: Unlock,
): Promise<VaultContent | undefined> {
  const header = readHeader(bytes);
  if (!header.ok) throw unreadableVault(vault, header.reason, header.detail);
  if (!(unlock instanceof Secret) && !haveSameParameters(unlock.parameters, header.key)) return undefined;
  const key = unlock instanceof Secret ? await deriveKey(unlock, header.key) : unlock.key;
  const opened = openVault(bytes, header.length, key);
  if (opened.ok) return { secrets: opened.secrets, parameters: header.key, key };
  if (opened.reason === "locked") return undefined;
  throw unreadableVault(vault, opened.reason, opened.detail);
}
