// The system's keyring as a source of secrets: loaded when first used, pinned to a persistent store, and tested before it is trusted.

import { type Diagnostic, PortolanError, type Report } from "../../errors/index.ts";
import { withDeadline } from "../../base/time/deadline.ts";
import { Secret } from "../secret.ts";
import type { SecretSource, SourceStatus } from "./source.ts";

interface KeyringEntry {
  getPassword(): Promise<string | null | undefined>;
  setPassword(value: string): Promise<void>;
  deletePassword(): Promise<boolean>;
}

/** The part of `@napi-rs/keyring` that is used. */
export interface KeyringModule {
  readonly AsyncEntry: new (
    service: string,
    account: string,
    options: { linux: { store: "secret-service" } },
  ) => KeyringEntry;
  readonly findCredentialsAsync: (service: string) => Promise<readonly { readonly account: string }[]>;
}

/** Reads of an unusable keyring return undefined and report the reason once, unless the machine has no keyring. Writes fail. */
export interface Keyring {
  get(service: string, account: string): Promise<string | undefined>;
  set(service: string, account: string, value: string): Promise<void>;
  remove(service: string, account: string): Promise<boolean>;
  accounts(service: string): Promise<string[]>;
  check(): Promise<SourceStatus>;
}

export interface KeyringOptions {
  readonly report: Report;
  readonly load?: () => Promise<KeyringModule>;
  /** A locked keyring may ask its owner to unlock it. */
  readonly waitMs?: number;
  readonly now?: () => number;
}

// Without this pin, Linux without a desktop session uses the kernel's keyring, which does not persist.
const PINNED = { linux: { store: "secret-service" } } as const;
/** Secrets are stored under this service, with one account per name. */
const SERVICE = "portolan";
const PROBE_SERVICE = "portolan-probe";
const WAIT_MS = 30_000;
/** Time until an unusable keyring is tried again, because the user may have unlocked it. */
const TRY_AGAIN_MS = 30_000;

const VAULT_HINT =
  "Make the keyring usable, or store the secret in the vault: portolan secrets set NAME --to vault.";
/** For what is not a secret of the user, such as the passphrase of the vault, which cannot be stored in the vault. */
const OTHER_HINT = "Check the keyring: portolan secrets check.";
/** Errors of D-Bus on a machine without a session bus, or without a program that offers a keyring on it. */
const ABSENT =
  /\bDBUS_SESSION_BUS_ADDRESS\b|autolaunch|\bX11\b.*\bDISPLAY\b|D-?Bus error:? .*(?:no such file|not provided by any)/i;

interface Unusable {
  readonly why: string;
  readonly at: number;
  /** This machine has no keyring, such as one without a desktop session. */
  readonly isAbsent?: boolean;
}
type Probed = { readonly module: KeyringModule } | Unusable;
/** Each process probes a keyring once, however many stores are open. */
const probes = new Map<() => Promise<KeyringModule>, Promise<Probed>>();

export function createKeyring(options: KeyringOptions): Keyring {
  const load = options.load ?? loadPackage;
  const waitMs = options.waitMs ?? WAIT_MS;
  const now = options.now ?? (() => performance.now());
  let told: string | undefined;

  async function open(): Promise<Probed> {
    const before = probes.get(load);
    const known = await before;
    if (known !== undefined && ("module" in known || now() - known.at < TRY_AGAIN_MS)) return known;
    // Another caller may have started a new probe in the meantime.
    if (probes.get(load) === before) probes.set(load, probe(load, waitMs, now));
    return (await probes.get(load)) as Probed;
  }

  function tell(message: string, severity: Diagnostic["severity"]): void {
    if (told === message) return;
    told = message;
    options.report({ code: "SECRET_STORE_FAILED", severity, message, hint: VAULT_HINT });
  }

  /** Reads from the keyring, or returns `otherwise` if it cannot be used. */
  async function read<T>(work: (module: KeyringModule) => Promise<T>, otherwise: T): Promise<T> {
    const probed = await open();
    if (!("module" in probed)) {
      if (probed.isAbsent !== true)
        tell(
          `The system's keyring cannot be used: ${probed.why}. Portolan looks for secrets in the other stores only.`,
          "info",
        );
      return otherwise;
    }
    try {
      return await withDeadline(work(probed.module), waitMs, "it did not respond");
    } catch (error) {
      tell(
        `The system's keyring could not be read: ${reason(error)}. Portolan looked for secrets in the other stores only.`,
        "warning",
      );
      return otherwise;
    }
  }

  return {
    get: (service, account) =>
      read(
        async ({ AsyncEntry }) => (await new AsyncEntry(service, account, PINNED).getPassword()) ?? undefined,
        undefined,
      ),
    accounts: (service) =>
      read(async (module) => {
        const found = await module.findCredentialsAsync(service);
        return found.map(({ account }) => account).sort();
      }, []),
    remove: (service, account) =>
      read(({ AsyncEntry }) => new AsyncEntry(service, account, PINNED).deletePassword(), false),
    async set(service, account, value) {
      const probed = await open();
      if (!("module" in probed))
        throw keyringError(service, `Nothing was saved. The system's keyring cannot be used: ${probed.why}.`);
      let isPending = true;
      try {
        const { AsyncEntry } = probed.module;
        const saving = new AsyncEntry(service, account, PINNED).setPassword(value);
        await withDeadline(
          saving.finally(() => (isPending = false)),
          waitMs,
          "it did not respond",
        );
      } catch (cause) {
        // The account of other services is the path of a file or folder.
        const what = service === SERVICE ? account : "the value";
        if (isPending)
          throw keyringError(
            service,
            `The system's keyring did not confirm within ${waitMs / 1_000} s that it saved ${what}; it may still save it.`,
            cause,
          );
        throw keyringError(service, `The system's keyring did not save ${what}: ${reason(cause)}.`, cause);
      }
    },
    async check() {
      const probed = await open();
      return "module" in probed
        ? { ok: true, note: "the system's keyring works" }
        : { ok: false, note: probed.why };
    },
  };
}

/** Writes a value, reads it back through a second handle and removes it. A keyring that loses or changes values is not used. */
async function probe(load: () => Promise<KeyringModule>, waitMs: number, now: () => number): Promise<Probed> {
  let module: KeyringModule;
  try {
    module = await load();
    if (typeof module.AsyncEntry !== "function") throw new Error("it has no AsyncEntry");
  } catch {
    return { why: "the package @napi-rs/keyring is not installed for this system", at: now() };
  }
  try {
    const account = globalThis.crypto.randomUUID();
    const value = globalThis.crypto.randomUUID();
    const entry = (): KeyringEntry => new module.AsyncEntry(PROBE_SERVICE, account, PINNED);
    const trial = async (): Promise<string | null | undefined> => {
      await entry().setPassword(value);
      try {
        return await entry().getPassword();
      } finally {
        await entry().deletePassword();
      }
    };
    const back = await withDeadline(trial(), waitMs, "it did not respond");
    if (back === value) return { module };
    return { why: "it does not return the values that are saved in it", at: now() };
  } catch (error) {
    const why = reason(error);
    const isAbsent = ABSENT.test(why);
    return { why: isAbsent ? `no keyring service runs for this user (${why})` : why, at: now(), isAbsent };
  }
}

async function loadPackage(): Promise<KeyringModule> {
  return await import("@napi-rs/keyring");
}

function keyringError(service: string, message: string, cause?: unknown): PortolanError {
  return new PortolanError("SECRET_STORE_FAILED", message, {
    hint: service === SERVICE ? VAULT_HINT : OTHER_HINT,
    data: { source: "keyring" },
    cause,
  });
}

function reason(error: unknown): string {
  return (error instanceof Error ? error.message : String(error)).replace(/[.\s]+$/, "");
}

export function createKeyringSource(keyring: Keyring): Required<SecretSource> {
  return {
    name: "keyring",
    async get(name) {
      const value = await keyring.get(SERVICE, name);
      return value ? new Secret(value) : undefined;
    },
    list: () => keyring.accounts(SERVICE),
    set: (name, value) => keyring.set(SERVICE, name, value.reveal()),
    remove: (name) => keyring.remove(SERVICE, name),
    check: () => keyring.check(),
  };
}
