// Vault: secrets in one encrypted file. Writes are atomic and locked between processes.

import { shellWord } from "../../base/text/command-line.ts";
import { mkdir, realpath, stat } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { isPortolanError, PortolanError } from "../../errors/index.ts";
import { withFileLock } from "../../base/files/file-lock.ts";
import {
  checkPassphraseFile,
  isPassphraseKept,
  keepPassphrase,
  type NewPassphrase,
  readPassphraseFile,
} from "./passphrase.ts";
import { Secret } from "../secret.ts";
import type { SecretSource } from "../sources/source.ts";
import { toVaultError, vaultFault, wrongPassphrase } from "./vault-errors.ts";
import { readNames, writeNames } from "./vault-names.ts";
import { sealVault } from "./vault-file.ts";
import { deriveKey, KEY_COST, type KeyCost, newParameters } from "./vault-key.ts";
import {
  createVaultReader,
  MAX_VAULT_BYTES,
  openWith,
  readVault,
  type VaultContent,
  type VaultReaderOptions,
} from "./vault-reader.ts";
import { removeLeftovers, writeAtomic, type WriteOptions } from "../../base/files/atomic-write.ts";

export interface VaultOptions extends VaultReaderOptions {
  readonly file: string;
  /** Tests use a cheaper key derivation. */
  readonly cost?: KeyCost;
  readonly lockWaitMs?: number;
  readonly write?: Omit<WriteOptions, "mode">;
}

export interface Vault extends Required<SecretSource> {
  /** Stores the passphrase in the keyring, so that later runs do not prompt for it. */
  keepPassphrase(): Promise<void>;
  /** Opens the vault, which prompts for its passphrase if nothing else opens it. False if there is no vault yet. */
  open(): Promise<boolean>;
  /**
   * Encrypts the vault with a new passphrase and a new salt. The keyring gets the new passphrase if it has the old one. False if there is
   * no vault yet.
   */
  changePassphrase(next: NewPassphrase): Promise<boolean>;
}

export function createVault(options: VaultOptions): Vault {
  const reader = createVaultReader(options);
  const warned = new Set<string>();

  function warn(path: string, message: string, hint: string): void {
    if (warned.has(path)) return;
    warned.add(path);
    options.report({ code: "SECRET_STORE_FAILED", severity: "warning", message, file: path, hint });
  }

  async function load(asked: boolean): Promise<VaultContent | undefined> {
    const vault = await locate(options.file);
    const content = await reader.load(vault, asked);
    if (content !== undefined) await checkModes(vault, warn);
    return content;
  }

  /** The names that were kept beside the vault; undefined if the passphrase is needed to know them. */
  async function knownNames(): Promise<readonly string[] | undefined> {
    const vault = await locate(options.file);
    const bytes = await readVault(vault).catch(() => undefined);
    if (bytes === undefined) return undefined;
    const names = await readNames(vault, bytes);
    if (names !== undefined) await checkModes(vault, warn);
    return names;
  }

  /** Changes the content under the lock. `change` returns false if there is nothing to write. `next` is a new passphrase. */
  async function update(change: (secrets: Map<string, string>) => boolean, next?: Secret): Promise<void> {
    await mkdir(dirname(resolve(options.file)), { recursive: true, mode: 0o700 });
    const vault = await locate(options.file);
    // This may prompt a person and take a minute, so it happens before the lock is taken.
    const unlock = await reader.unlock(vault);
    let content: VaultContent | undefined;
    const write = async (): Promise<void> => {
      const bytes = await readVault(vault);
      // A key fits only the vault that it was derived for, and that one is gone.
      const start = async () => (unlock instanceof Secret ? startContent(unlock) : undefined);
      const old = bytes === undefined ? await start() : await openWith(vault, bytes, unlock);
      if (old === undefined) throw wrongPassphrase(vault, "that was entered before");
      if (!change(old.secrets)) return;
      content = next === undefined ? old : { ...(await startContent(next)), secrets: old.secrets };
      const sealed = sealVault(content.secrets, content.parameters, content.key);
      if (sealed.length > MAX_VAULT_BYTES)
        throw new Error(`it would be larger than ${MAX_VAULT_BYTES} bytes`);
      await removeLeftovers(vault);
      await writeAtomic(vault, sealed, { ...options.write, mode: 0o600 });
      await writeNames(vault, sealed, [...content.secrets.keys()].sort());
    };
    await withFileLock(vault, write, { waitMs: options.lockWaitMs });
    if (content !== undefined) await reader.opened(vault, content);
  }

  async function startContent(passphrase: Secret): Promise<VaultContent> {
    const parameters = newParameters(options.cost ?? KEY_COST);
    return { secrets: new Map(), parameters, key: await deriveKey(passphrase, parameters) };
  }

  const writing = async (work: () => Promise<void>): Promise<void> => {
    await work().catch((error: unknown) => {
      throw toVaultError(options.file, "written", error);
    });
  };

  return {
    name: "vault",
    async get(name) {
      const value = (await load(false))?.secrets.get(name);
      return value ? new Secret(value) : undefined;
    },
    async list() {
      const known = await knownNames();
      if (known !== undefined) return [...known];
      return [...((await load(true))?.secrets.keys() ?? [])].sort();
    },
    async set(name, value) {
      await writing(() => update((secrets) => Boolean(secrets.set(name, value.reveal()))));
    },
    async remove(name) {
      if ((await load(true))?.secrets.has(name) !== true) return false;
      let removed = false;
      await writing(() => update((secrets) => (removed = secrets.delete(name))));
      return removed;
    },
    async check() {
      try {
        const content = await load(true);
        if (content === undefined) {
          await checkPassphraseFile(options.env, options.report);
          return { ok: true, note: `it does not exist yet; its path would be ${options.file}` };
        }
        const count = content.secrets.size;
        return { ok: true, note: `${count} ${count === 1 ? "secret" : "secrets"} in ${options.file}` };
      } catch (error) {
        const note = error instanceof Error ? error.message : String(error);
        const hint = isPortolanError(error) ? error.hint : undefined;
        return { ok: false, note, hint, reason: vaultFault(error) };
      }
    },
    open: async () => (await load(true)) !== undefined,
    async keepPassphrase() {
      const vault = await locate(options.file);
      if (options.keyring === undefined)
        throw new PortolanError(
          "SECRET_STORE_FAILED",
          "The passphrase was not saved, because the keyring is turned off.",
          { hint: "Unlock the vault for a limited time instead: portolan secrets unlock" },
        );
      await keepPassphrase(options.keyring, vault, await reader.passphrase(vault));
    },
    async changePassphrase(next) {
      const vault = await locate(options.file);
      if ((await readVault(vault)) === undefined) return false;
      // The key of the agent is not enough: whoever changes the passphrase must know it.
      await reader.passphrase(vault);
      const passphrase =
        "file" in next
          ? await readPassphraseFile(next.file, vault, options.report, next.option)
          : new Secret(await next.choose(vault));
      const { keyring } = options;
      const isKept = keyring !== undefined && (await isPassphraseKept(keyring, vault));
      await writing(() => update(() => true, passphrase));
      if (isKept)
        await keepPassphrase(keyring, vault, passphrase).catch((error: unknown) =>
          options.report({
            code: "SECRET_STORE_FAILED",
            severity: "warning",
            message: `The keyring still has the old passphrase of the vault ${vault}: ${error instanceof Error ? error.message : String(error)}`,
            hint: "Store the new passphrase in the keyring: portolan secrets unlock --keep",
          }),
        );
      return true;
    },
  };
}

/** Returns one path for one file. The lock and the keyring entry depend on it. */
async function locate(file: string): Promise<string> {
  const path = resolve(file);
  const real = await realpath(path).catch(() => undefined);
  if (real !== undefined) return real;
  const folder = await realpath(dirname(path)).catch(() => dirname(path));
  return join(folder, basename(path));
}

type Warn = (path: string, message: string, hint: string) => void;

async function checkModes(vault: string, warn: Warn): Promise<void> {
  if (process.platform === "win32") return;
  const [file, folder] = await Promise.all([stat(vault), stat(dirname(vault))]).catch(() => []);
  if (file !== undefined && (file.mode & 0o077) !== 0)
    warn(
      vault,
      `Other users have access to the vault ${vault}.`,
      `Let only yourself use the vault: chmod 600 ${shellWord(vault)}`,
    );
  if (folder !== undefined && (folder.mode & 0o022) !== 0 && (folder.mode & 0o1000) === 0)
    warn(
      dirname(vault),
      `Other users can replace files in ${dirname(vault)}.`,
      `Let only yourself use the folder: chmod 700 ${shellWord(dirname(vault))}`,
    );
}
