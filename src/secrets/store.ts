// Secret store: all sources of secrets in order of precedence, which is environment, keyring, vault, .env file.

import { PortolanError, type Report } from "../errors/index.ts";
import { isReferenceName } from "../model/index.ts";
import { Secret } from "./secret.ts";
import { createDotenvSource } from "./sources/dotenv.ts";
import { createEnvironmentSource, type Environment, isPlainVariable } from "./sources/environment.ts";
import { createKeyring, createKeyringSource } from "./sources/keyring.ts";
import { createProgramSource, type SecretLookup } from "./sources/program.ts";
import type { CheckFile, SecretSource, SourceName, SourceStatus } from "./sources/source.ts";
import type { VaultAgent } from "./agent/client.ts";
import type { NewPassphrase, PromptPassphrase } from "./vault/passphrase.ts";
import type { VaultReaderOptions } from "./vault/vault-reader.ts";
import type { Vault } from "./vault/vault.ts";

export interface SecretStoreOptions {
  readonly env: Environment;
  /** The program's own source, which replaces all others. */
  readonly lookup?: SecretLookup;
  /** The `.env` file that the workspace names. */
  readonly envFile?: string;
  /** Decides whether a file that a config names may be read. Without it, every file may. */
  readonly checkFile?: CheckFile;
  /** The default is a file in the user's data folder. */
  readonly vaultFile?: string;
  readonly keyring?: "auto" | "off";
  /** `off`: the vault counts as locked although the agent has its key, as it is after the next boot. */
  readonly agent?: "auto" | "off";
  readonly promptPassphrase?: PromptPassphrase;
  readonly report: Report;
  /** Ends the lookups that the program's own source has not answered. */
  readonly closed?: AbortSignal;
}

export interface FoundSecret {
  readonly secret: Secret;
  readonly source: SourceName;
}

export type WritableSource = "keyring" | "vault";

export interface SecretStore {
  /** Searches all sources in order, or only `from`. Throws SECRET_STORE_FAILED if the vault exists but cannot be opened. */
  get(name: string, options?: { readonly from?: SourceName }): Promise<FoundSecret | undefined>;
  /** Writes to `to`, or by default to the keyring if it works and otherwise to the vault. Resolves to the source that was written. */
  set(
    name: string,
    value: string | Secret,
    options?: { readonly to?: WritableSource },
  ): Promise<WritableSource>;
  /** Lists names, one entry per source, sorted by name and then by the order of the sources. */
  list(): Promise<{ readonly name: string; readonly source: SourceName }[]>;
  /** Removes a secret from every writable source. Resolves to the sources that had it. */
  remove(name: string): Promise<WritableSource[]>;
  /** Returns one status per source, in the order of the sources. */
  check(): Promise<(SourceStatus & { readonly source: SourceName })[]>;
  /** Stores the passphrase of the vault in the keyring. */
  keepVaultPassphrase(): Promise<void>;
  /** Opens the vault, as the first secret from it does. False if there is none. */
  openVault(): Promise<boolean>;
  /** Encrypts the vault with a new passphrase. False if there is none. */
  changeVaultPassphrase(next: NewPassphrase): Promise<boolean>;
  /** The .env file in use. */
  readonly envFile?: string;
  /** True if a program gives the values, so that a hint names its function in place of a command. */
  readonly ofProgram?: boolean;
  /** Decides whether the file of a `${file:path}` may be read. */
  readonly checkFile?: CheckFile;
}

export function createSecretStore(options: SecretStoreOptions): SecretStore {
  if (options.lookup !== undefined) return programStore(options.lookup, options);
  const { env, envFile, report } = options;
  const access = options.keyring === "off" ? undefined : createKeyring({ report });
  const keyring = access === undefined ? undefined : createKeyringSource(access);
  const vault = createLazyVault(options.vaultFile, {
    env,
    keyring: access,
    promptPassphrase: options.promptPassphrase,
    agent: options.agent === "off" ? undefined : lazyAgent(env),
    report,
  });
  const sources: SecretSource[] = [
    createEnvironmentSource(env),
    ...(keyring === undefined ? [] : [keyring]),
    vault,
    ...(envFile === undefined ? [] : [createDotenvSource(envFile, report, options.checkFile)]),
  ];
  return { ...storeOf(sources, report, vault), checkFile: options.checkFile, envFile };
}

/** The environment is used only for references to it, and for variables that are no secrets, such as `HOME`. */
function programStore(
  lookup: SecretLookup,
  { env, report, checkFile, closed }: SecretStoreOptions,
): SecretStore {
  const environment = createEnvironmentSource(env);
  const own = storeOf([createProgramSource(lookup, closed)], report, NO_VAULT);
  const all = storeOf([environment], report, NO_VAULT);
  return {
    ...own,
    get: async (name, options = {}) => {
      if (options.from === "environment") return all.get(name, options);
      return (await own.get(name, options)) ?? (isPlainVariable(name) ? all.get(name) : undefined);
    },
    checkFile,
    ofProgram: true,
  };
}

type OfVault = Pick<Vault, "keepPassphrase" | "open" | "changePassphrase">;

const NO_VAULT: OfVault = {
  keepPassphrase: async () => {
    throw new PortolanError(
      "SECRET_STORE_FAILED",
      "This program passes its secrets to Portolan itself, so there is no vault.",
      { hint: 'Return the secrets from the function "secrets" of the program.' },
    );
  },
  open: async () => false,
  changePassphrase: async () => false,
};

/** Returns a store over the given sources. */
export function storeOf(
  sources: readonly SecretSource[],
  report: Report,
  vault: OfVault = NO_VAULT,
): SecretStore {
  async function chooseTarget(to: WritableSource | undefined): Promise<SecretSource> {
    for (const source of sources) {
      if (source.set === undefined || (to !== undefined && source.name !== to)) continue;
      // Without `to`, an unusable keyring is skipped. With `to`, its own error gives the reason.
      if (to === undefined && source.name === "keyring" && !(await source.check()).ok) continue;
      return source;
    }
    throw new PortolanError(
      "SECRET_STORE_FAILED",
      `The secret was not saved: there is no ${to ?? "keyring or vault"}.`,
    );
  }

  const warn = (message: string, hint: string): void =>
    report({ code: "SECRET_STORE_FAILED", severity: "warning", message, hint });

  return {
    keepVaultPassphrase: () => vault.keepPassphrase(),
    openVault: () => vault.open(),
    changeVaultPassphrase: (next) => vault.changePassphrase(next),
    async get(name, { from } = {}) {
      for (const source of sources) {
        if (from !== undefined && source.name !== from) continue;
        const secret = await source.get(name);
        if (secret !== undefined) return { secret, source: source.name };
      }
      return undefined;
    },
    async set(name, value, { to } = {}) {
      const secret = checkSecret(name, value);
      const target = await chooseTarget(to);
      await target.set?.(name, secret);
      for (const source of sources) {
        if (source.name === target.name) break;
        if ((await source.get(name)) === undefined) continue;
        if (source.name === "keyring")
          warn(
            `${name} was saved in the ${target.name}, but Portolan uses another value of ${name}, which is in the keyring.`,
            `To use only the value in the ${target.name}: portolan secrets rm ${name}, then portolan secrets set ${name} --to ${target.name}.`,
          );
        else
          warn(
            `${name} was saved in the ${target.name}, but commands that you start in this shell use another value of ${name}, which is in the environment.`,
            `To use the saved value, remove PORTOLAN_SECRET_${name} and ${name} from the environment. A gateway that was started without these variables uses the saved value.`,
          );
      }
      return target.name as WritableSource;
    },
    async list() {
      const found: { name: string; source: SourceName }[] = [];
      for (const source of sources) {
        try {
          for (const name of (await source.list?.()) ?? []) found.push({ name, source: source.name });
        } catch (error) {
          warn(
            `The names in the ${placeOf(source)} cannot be listed: ${error instanceof Error ? error.message : String(error)}`,
            "Run portolan secrets check.",
          );
        }
      }
      // Sorting is stable, so entries of one name keep the order of the sources.
      return found.sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0));
    },
    async remove(name) {
      const removed: WritableSource[] = [];
      const failures: unknown[] = [];
      for (const source of sources) {
        try {
          if (source.remove !== undefined) {
            if (await source.remove(name)) removed.push(source.name as WritableSource);
          } else if ((await source.get(name)) !== undefined) {
            warn(
              `A value of ${name} is in the ${placeOf(source)}, which Portolan does not change.`,
              `Remove it from the ${placeOf(source)} yourself.`,
            );
          }
        } catch (error) {
          failures.push(error);
        }
      }
      if (failures.length > 0) throw failures[0] as Error;
      return removed;
    },
    async check() {
      return await Promise.all(
        sources.map(async (source) => ({ source: source.name, ...(await source.check()) })),
      );
    },
  };
}

/** The source in a sentence, after "the". */
function placeOf({ name }: Pick<SecretSource, "name">): string {
  return name === "dotenv" ? ".env file" : name;
}

function checkSecret(name: string, value: string | Secret): Secret {
  const wrong = (message: string, hint: string): PortolanError =>
    new PortolanError("CONFIG_INVALID", message, { hint });
  if (!isReferenceName(name))
    throw wrong(
      "The name of the secret is not valid.",
      "A name begins with a letter or _, continues with letters, digits, _, . or -, and has at most 256 characters.",
    );
  const secret = typeof value === "string" ? new Secret(value) : value;
  const text = secret.reveal();
  if (text === "")
    throw wrong(`The value for ${name} is empty.`, `To remove the secret: portolan secrets rm ${name}`);
  if (text.includes("\0"))
    throw wrong(
      `The value for ${name} contains a NUL character.`,
      "Headers and environment variables cannot contain NUL.",
    );
  return secret;
}

/** Loads the vault and its cryptography with the first access. Without `file`, the vault is in the user's data folder. */
function createLazyVault(file: string | undefined, options: VaultReaderOptions): Vault {
  let loading: Promise<Vault> | undefined;
  const vault = (): Promise<Vault> => (loading ??= load());

  async function load(): Promise<Vault> {
    const [{ createVault }, path] = await Promise.all([import("./vault/vault.ts"), file ?? defaultFile()]);
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
    open: async () => (await vault()).open(),
    changePassphrase: async (next) => (await vault()).changePassphrase(next),
  };
}

/** The agent of this user, which is asked only when a vault is opened. */
function lazyAgent(env: Environment): Pick<VaultAgent, "get"> {
  return {
    get: async (...words) => (await import("./agent/client.ts")).createVaultAgent(env).get(...words),
  };
}

async function defaultFile(): Promise<string> {
  const [{ default: envPaths }, path] = await Promise.all([import("env-paths"), import("node:path")]);
  return path.join(envPaths("portolan", { suffix: "" }).data, "secrets.vault");
}
