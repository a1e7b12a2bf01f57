// Vault of a gateway that runs in the background, where nobody can type the passphrase: unlocked or checked before it starts.

import { isReadableByOthers } from "../../base/files/limited-read.ts";
import { shellWord } from "../../base/text/command-line.ts";
import { changedError, isPortolanError, PortolanError } from "../../errors/index.ts";
import { createSecretStore, type Environment } from "../../secrets/index.ts";
import type { Cli } from "../context.ts";
import { createPassphrasePrompt } from "../input/secret-input.ts";
import { plainLine } from "../terminal/safe-text.ts";
import { envFileOf } from "../workspace/folder.ts";
import { findNeeds, type NeedingConfig, type SecretNeed } from "./needs.ts";

/** A gateway that starts reads its secrets within this time, also if the vault must not stay unlocked. */
export const START_MS = 60_000;

/** The end of the reason why a secret of a locked vault cannot be read. */
const TO_UNLOCK = / Unlock it at a terminal: .*$/;

/** Names a file with the passphrase of the vault. */
export const PASSPHRASE_FILE = "PORTOLAN_VAULT_PASSPHRASE_FILE";

/** The error of a command that needs a vault. */
export function noVault(): PortolanError {
  return new PortolanError("SECRET_STORE_FAILED", "There is no vault yet.", {
    hint: "To create the vault, store a first secret in it: portolan secrets set <NAME> --to vault",
  });
}

type Config = NeedingConfig & { readonly envFile?: string };

/** Asks for the passphrase if the config needs a secret of a locked vault; the vault agent gives the key to the gateway. */
export async function unlockForGateway(
  cli: Cli,
  config: Config,
  only: readonly string[] | undefined,
): Promise<void> {
  const passphrase = createPassphrasePrompt(cli, undefined, START_MS);
  const { prompt } = passphrase;
  // The gateway reports it only in its log.
  await notePassphraseFile(cli, cli.io.env);
  // Without a terminal, the servers concerned say what is missing.
  if (prompt === undefined) return;
  const envFile = envFileOf(cli) ?? config.envFile;
  const store = createSecretStore({ env: cli.io.env, envFile, promptPassphrase: prompt, report: () => {} });
  const needs = await findNeeds(config, store);
  try {
    passphrase.throwIfCancelled();
  } catch (thrown) {
    throw withOtherServers(thrown, needs, config, only);
  }
}

/** Names the options that start the gateway without the servers whose secrets are in the locked vault. */
function withOtherServers(
  thrown: unknown,
  needs: readonly SecretNeed[],
  { servers }: Config,
  only: readonly string[] | undefined,
): unknown {
  const enabled = servers.filter((server) => server.enabled);
  const used = enabled.map(({ alias }) => alias);
  const aliasOf = new Map(used.map((alias) => [alias, alias]));
  // A driver's secret is recorded under the id of the driver.
  for (const { alias, endpoint } of enabled)
    if (endpoint.transport === "contracts")
      for (const { driver } of endpoint.drivers) aliasOf.set(driver.id, alias);
  // Tokens of callers and of registries are needed whichever servers start.
  aliasOf.delete("gateway");
  const owners = needs.flatMap(({ state, neededBy }) => (state === "unknown" ? neededBy : []));
  if (!owners.every(({ server }) => aliasOf.has(server))) return thrown;
  const locked = new Set(owners.map(({ server }) => aliasOf.get(server)));
  const others = used.filter((alias) => !locked.has(alias));
  if (!isPortolanError(thrown) || others.length === 0 || others.length === used.length) return thrown;
  const without = plainLine(used.filter((alias) => locked.has(alias)).join(", "), 300);
  const options = others.map((alias) => `--only ${shellWord(alias)}`).join(" ");
  const change =
    only === undefined
      ? "add these options to your command"
      : "replace --only in your command by these options";
  return changedError(thrown, { hint: `To start the gateway without ${without}, ${change}: ${options}` });
}

/** Whether the vault must be unlocked before a client starts these servers: nobody can type its passphrase there. */
export async function needsUnlockedVault(config: Config, env: Environment): Promise<boolean> {
  const store = createSecretStore({ env, envFile: config.envFile, agent: "off", report: () => {} });
  const needs = await findNeeds(config, store);
  return needs.some(({ reason = "" }) => TO_UNLOCK.test(reason));
}

/** Warns about a passphrase file that other users can read. */
export async function notePassphraseFile({ output }: Pick<Cli, "output">, env: Environment): Promise<void> {
  const file = env[PASSPHRASE_FILE] ?? "";
  if (file !== "" && (await isReadableByOthers(file)))
    output.note(
      `${output.noteColors.yellow("warning")} Other users can read the passphrase file ${plainLine(file, 300)}. Make it private: chmod 600 ${plainLine(shellWord(file), 300)}`,
    );
}

/** Secrets that a service would not have: it gets only `env`, and nobody unlocks the vault for it. */
export async function missingForService(
  config: Config,
  env: Environment,
): Promise<{ readonly locked?: PortolanError; readonly missing: readonly SecretNeed[] }> {
  const store = createSecretStore({ env, envFile: config.envFile, agent: "off", report: () => {} });
  const needs = await findNeeds(config, store);
  const reason = needs.find(({ state }) => state === "unknown")?.reason;
  return {
    locked:
      reason === undefined ? undefined : lockedError(reason, needs, (env[PASSPHRASE_FILE] ?? "") !== ""),
    missing: needs.filter(({ state }) => state === "missing"),
  };
}

function lockedError(reason: string, needs: readonly SecretNeed[], hasFile: boolean): PortolanError {
  const names = needs.filter(({ state }) => state === "unknown").map(({ name }) => plainLine(name, 80));
  // A vault that is unlocked for some time is locked again when the service starts.
  const why = reason.replace(TO_UNLOCK, "");
  const isLocked = why !== reason;
  return new PortolanError(
    "SECRET_STORE_FAILED",
    `The service would not be able to read these secrets: ${names.join(", ")}. ${isLocked ? "A service cannot ask you for the passphrase of the vault." : why}`,
    {
      hint: isLocked
        ? "Write the passphrase of the vault to a file that only you can read: portolan service install --passphrase-file <file>. Or, if this computer has a keyring, store it there: portolan secrets unlock --keep"
        : reason.includes("passphrase")
          ? hasFile
            ? `Write the right passphrase into the passphrase file. Or use the keyring instead: unset ${PASSPHRASE_FILE}, run portolan secrets unlock --keep, and run portolan service install without --passphrase-file.`
            : "Store the right passphrase in the keyring: portolan secrets unlock --keep"
          : "Find the cause: portolan secrets check",
    },
  );
}
