// Secrets of a script: found in the environment and the secret store, or typed at the terminal. Values are never printed.

import { type Diagnostic, missingSecrets } from "../../errors/index.ts";
import type { Script, SettingSecret } from "../../script/index.ts";
import { createSecretStore, Secret, type SecretStore } from "../../secrets/index.ts";
import type { Cli } from "../context.ts";
import { answersRequests } from "../input/handlers.ts";
import { createPassphrasePrompt, readSecretValue } from "../input/secret-input.ts";
import { noteDiagnostic } from "../output/diagnostic.ts";
import type { Source } from "../workspace/source.ts";
import { scriptError } from "./script-error.ts";

/** Finds all secrets before the script runs, so that a missing one stops it before its first call. */
export async function findSecrets(
  cli: Cli,
  { names, source: text }: Script,
  source: Source | undefined,
  written: string,
): Promise<ReadonlyMap<string, SettingSecret>> {
  const found = new Map<string, SettingSecret>();
  if (names.secrets.length === 0) return found;
  const passphrase = createPassphrasePrompt(cli);
  let wasPrompted = false;
  const store = createSecretStore({
    env: cli.io.env,
    envFile: source?.config.envFile,
    promptPassphrase:
      passphrase.prompt &&
      (async (request) => {
        wasPrompted = true;
        return passphrase.prompt?.(request);
      }),
    report: (diagnostic) => noteDiagnostic(diagnostic, cli),
  });
  const missing = new Map<string, Diagnostic>();
  for (const { name, at, server, variable } of names.secrets) {
    if (found.has(name) || missing.has(name)) continue;
    const stored = await store.get(name);
    // A vault that was opened by a prompt would prompt again if the hub looked the secret up itself.
    const isStored = stored !== undefined && !(stored.source === "vault" && wasPrompted);
    if (stored !== undefined) found.set(name, { name, secret: stored.secret, isStored });
    else if (answersRequests(cli, false))
      found.set(name, await askSecret(cli, name, store, () => !wasPrompted));
    else {
      const places = [`${variable} of ${server.label}`];
      const { message, hint } = missingSecrets([{ name, places }]);
      missing.set(name, text.diagnostic("SECRET_MISSING", at, message, hint));
    }
  }
  if (missing.size > 0) throw scriptError(cli, [...missing.values()], written);
  return found;
}

async function askSecret(
  cli: Cli,
  name: string,
  store: SecretStore,
  isReadable: () => boolean,
): Promise<SettingSecret> {
  const secret = new Secret(await readSecretValue(cli, name));
  const prompter = await cli.io.createPrompter(cli.output.noteColors.enabled);
  const choice = await prompter.select({
    message: `Store ${name} for later runs?`,
    options: [
      { value: "no", label: "No, only for this run" },
      { value: "yes", label: "Yes, in the keyring or the encrypted vault" },
    ],
    initial: "no",
    signal: cli.interrupt.signal,
  });
  cli.interrupt.signal.throwIfAborted();
  if (choice !== "yes") return { name, secret, isStored: false };
  const source = await store.set(name, secret);
  cli.output.note(`${name} was stored in the ${source}.`);
  return { name, secret, isStored: isReadable() };
}
