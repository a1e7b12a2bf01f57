// The logins of this user: a folder of encrypted files in the user's data folder, loaded with the first access.

import type { Report } from "../../errors/index.ts";
import { createKeyring } from "../../secrets/index.ts";
import type { FileStore } from "./file-store.ts";

export interface LoginStoreOptions {
  readonly report: Report;
  /** Default: a folder in the user's data folder. */
  readonly folder?: string;
  readonly keyring?: "auto" | "off";
}

export function createLoginStore({ report, folder, keyring = "auto" }: LoginStoreOptions): FileStore {
  let loading: Promise<FileStore> | undefined;
  let loaded: FileStore | undefined;
  const store = (): Promise<FileStore> => (loading ??= load());

  async function load(): Promise<FileStore> {
    const [{ createFileStore }, path] = await Promise.all([
      import("./file-store.ts"),
      folder ?? defaultFolder(),
    ]);
    loaded = createFileStore(path, keyring === "off" ? undefined : createKeyring({ report }));
    return loaded;
  }

  return {
    read: async (key) => (await store()).read(key),
    update: async (key, change) => (await store()).update(key, change),
    list: async () => (await store()).list(),
    // Before the first access there is nothing in memory that could be out of date.
    version: (key) => loaded?.version(key),
    updateClient: async (name, change) => (await store()).updateClient(name, change),
    describe: async () => (await store()).describe(),
  };
}

async function defaultFolder(): Promise<string> {
  const [{ default: envPaths }, path] = await Promise.all([import("env-paths"), import("node:path")]);
  return path.join(envPaths("portolan", { suffix: "" }).data, "logins");
}
