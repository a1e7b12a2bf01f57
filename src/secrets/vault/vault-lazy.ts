// Lazy vault: loads the vault and its cryptography with the first access.

import type { Vault } from "./vault.ts";
import type { VaultReaderOptions } from "./vault-reader.ts";

/** Without `file`, the vault is in the user's data folder. */
export function createLazyVault(file: string | undefined, options: VaultReaderOptions): Vault {
  let loading: Promise<Vault> | undefined;
  const vault = (): Promise<Vault> => (loading ??= load());

  async function load(): Promise<Vault> {
    const [{ createVault }, path] = await Promise.all([import("./vault.ts"), file ?? defaultFile()]);
    return createVault({ ...options, file: path });
  }

  return {
    name: "vault",
    get: async (name) => (await vault()).get(name),
    list: async () => (await vault()).list(),
    set: async (name, value) => (await vault()).set(name, value),
    remove: async (name) => (await vault()).remove(name),
    check: async () => (await vault()).check(),
    keepPassphrase: async () => (await vault()).keepPassphrase(),
  };
}

async function defaultFile(): Promise<string> {
  const [{ default: envPaths }, path] = await Promise.all([import("env-paths"), import("node:path")]);
  return path.join(envPaths("portolan", { suffix: "" }).data, "secrets.vault");
}
