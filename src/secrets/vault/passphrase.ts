// Passphrase of a vault: from a file that the environment names, from the keyring, or from a prompt.

import type { PortolanError, Report } from "../../errors/index.ts";
import { withDeadline } from "../../base/time/deadline.ts";
import { shellWord } from "../../base/text/command-line.ts";
import { isAgentSupported } from "../agent/socket.ts";
import type { Environment } from "../sources/environment.ts";
import type { Keyring } from "../sources/keyring.ts";
import { isReadableByOthers, readLimited } from "../../base/files/limited-read.ts";
import { Secret } from "../secret.ts";
import type { VaultKey } from "./vault-key.ts";
import { vaultError, wrongPassphrase } from "./vault-errors.ts";

export interface PassphraseRequest {
  readonly vault: string;
  /** `create` is for a new vault, so the prompt asks twice. `wrong` means that the last passphrase did not open the vault. */
  readonly reason: "open" | "create" | "wrong";
}

/** Prompts a person. Resolves to undefined if they decline. */
export type PromptPassphrase = (request: PassphraseRequest) => Promise<string | TypedPassphrase | undefined>;

export interface TypedPassphrase {
  readonly passphrase: string;
  /** Called with the key of the vault that the passphrase has opened, for example to keep it for the next process. */
  readonly opened: (vault: string, key: VaultKey) => Promise<void>;
}

export interface FoundPassphrase {
  readonly passphrase: Secret;
  /** Set if a person has typed it. */
  readonly opened?: TypedPassphrase["opened"];
}

export interface PassphraseOptions {
  readonly vault: string;
  readonly env: Environment;
  readonly keyring: Keyring | undefined;
  readonly prompt: PromptPassphrase | undefined;
  readonly report: Report;
}

/** A new passphrase: in a file that `option` of the command line names, or chosen by a person. */
export type NewPassphrase =
  | { readonly file: string; readonly option: string }
  | { readonly choose: (vault: string) => Promise<string> };

export const PASSPHRASE_FILE = "PORTOLAN_VAULT_PASSPHRASE_FILE";
/** The account is the path of the vault, because each vault has its own passphrase. */
const SERVICE = "portolan-vault";
const MAX_BYTES = 64 * 1024;
const FILE_WAIT_MS = 10_000;
const MAX_ATTEMPTS = 3;

/**
 * Returns the first passphrase that opens the vault. A passphrase file is the only source if it is named. The keyring may be out of date,
 * so the prompt follows. This function neither generates nor stores a passphrase.
 */
export async function findPassphrase(
  options: PassphraseOptions,
  reason: "open" | "create",
  opens: (passphrase: Secret) => Promise<boolean>,
): Promise<FoundPassphrase> {
  const { vault, env, keyring, prompt } = options;
  const file = env[PASSPHRASE_FILE];
  if (file) {
    const passphrase = await readPassphraseFile(file, vault, options.report);
    if (await opens(passphrase)) return { passphrase };
    throw wrongPassphrase(
      vault,
      `in ${file}`,
      `Write the right passphrase of the vault into ${file}, or remove ${PASSPHRASE_FILE} from the environment.`,
    );
  }
  let wrong: string | undefined;
  const remembered = await keyring?.get(SERVICE, vault);
  if (remembered) {
    const passphrase = new Secret(remembered);
    if (await opens(passphrase)) return { passphrase };
    wrong = "in the keyring";
  }
  for (let attempt = 0; prompt !== undefined && attempt < MAX_ATTEMPTS; attempt += 1) {
    const answer = await prompt({ vault, reason: wrong === undefined ? reason : "wrong" });
    if (!answer) break;
    const typed = typeof answer === "string" ? { passphrase: answer } : answer;
    const passphrase = new Secret(typed.passphrase);
    if (await opens(passphrase)) return { ...typed, passphrase };
    wrong = "that was typed";
  }
  if (wrong === "in the keyring")
    throw wrongPassphrase(
      vault,
      wrong,
      "Store the right passphrase in the keyring, at a terminal: portolan secrets unlock --keep",
    );
  if (wrong !== undefined) throw wrongPassphrase(vault, wrong);
  throw noPassphrase(vault, reason);
}

/** Stores a passphrase in the keyring. This happens only on request. */
export async function keepPassphrase(keyring: Keyring, vault: string, passphrase: Secret): Promise<void> {
  await keyring.set(SERVICE, vault, passphrase.reveal());
}

export async function isPassphraseKept(keyring: Keyring, vault: string): Promise<boolean> {
  return Boolean(await keyring.get(SERVICE, vault));
}

function noPassphrase(vault: string, reason: "open" | "create"): PortolanError {
  const [message, hint] =
    reason === "open"
      ? [
          // Clients show only the message of an error.
          `The vault ${vault} is locked. Unlock it at a terminal: portolan secrets unlock${isAgentSupported() ? "" : " --keep"}.`,
          `Without a terminal, set ${PASSPHRASE_FILE} to the path of a file that contains the passphrase.`,
        ]
      : [
          `The vault ${vault} was not created, because no passphrase was given. Nothing was saved.`,
          `Run the command at a terminal: Portolan asks for a passphrase there. Without a terminal, write a passphrase into a file that only you can read. Then set ${PASSPHRASE_FILE} to the path of the file, and run the command again.`,
        ];
  return vaultError(vault, "no-passphrase", message, hint);
}

/** `setting` names the file. */
export async function readPassphraseFile(
  file: string,
  vault: string,
  report: Report,
  setting: string = PASSPHRASE_FILE,
): Promise<Secret> {
  const unusable = (why: string, cause?: unknown): PortolanError =>
    vaultError(
      vault,
      "no-passphrase",
      `The passphrase file ${file} cannot be used: ${why}.`,
      `Set ${setting} to the path of a file that contains the passphrase.`,
      cause,
    );
  let text: string;
  try {
    // Pipes are allowed, because a shell passes a passphrase that way without a file.
    const bytes = await withDeadline(
      readLimited(file, MAX_BYTES, { pipes: true }),
      FILE_WAIT_MS,
      "no passphrase arrived",
    );
    text = bytes.toString("utf8").replace(/\r?\n$/, "");
  } catch (cause) {
    throw unusable(cause instanceof Error ? cause.message : "unknown", cause);
  }
  if (text === "") throw unusable("it is empty");
  await warnIfReadable(file, report);
  return new Secret(text);
}

/** Warns about a passphrase file that other users can read, also before there is a vault. */
export async function checkPassphraseFile(env: Environment, report: Report): Promise<void> {
  const file = env[PASSPHRASE_FILE];
  if (file) await warnIfReadable(file, report);
}

async function warnIfReadable(file: string, report: Report): Promise<void> {
  if (await isReadableByOthers(file))
    report({
      code: "SECRET_STORE_FAILED",
      severity: "warning",
      message: `Other users can read the passphrase file ${file}.`,
      file,
      hint: `Let only yourself read the file: chmod 600 ${shellWord(file)}`,
    });
}
