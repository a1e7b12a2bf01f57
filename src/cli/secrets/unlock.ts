// `portolan secrets unlock`, `lock` and `agent`: the vault opened once for several commands, and closed again.

import { PortolanError } from "../../errors/index.ts";
import { createSecretStore, createVaultAgent, serveVaultAgent } from "../../secrets/index.ts";
import type { Cli } from "../context.ts";
import {
  KEEP_HINT,
  AGENT_FAILED,
  keepUnlocked,
  NOT_ON_WINDOWS,
  TIMEOUT_VARIABLE,
  unlockedMs,
} from "../input/keep-unlocked.ts";
import { letGatewaysRead } from "./passphrase.ts";
import { noVault } from "./vault-of-gateway.ts";
import { askPassphrase } from "../input/secret-input.ts";
import { isInteractive } from "../input/handlers.ts";
import { aborted } from "../terminal/interrupt.ts";
import { parseTime } from "../options/parse.ts";
import { formatDuration } from "../terminal/layout.ts";
import { noteDiagnostic } from "../output/diagnostic.ts";

export interface UnlockOptions {
  for?: string;
  keep?: boolean;
}

export async function unlock(cli: Cli, options: UnlockOptions): Promise<number> {
  const { io, output } = cli;
  const ms = options.for === undefined ? unlockedMs(cli) : parseTime(options.for);
  if (ms === undefined)
    throw new PortolanError(
      "USAGE",
      `--for must be a time such as 30m or 8h, not ${JSON.stringify(options.for)}.`,
    );
  if (ms === 0 && options.keep !== true)
    throw new PortolanError(
      "USAGE",
      `The vault was not unlocked: ${describeTimeout(io.env[TIMEOUT_VARIABLE])}, so the vault must not stay unlocked.`,
      {
        hint: "To unlock it nevertheless: portolan secrets unlock --for 15m",
      },
    );
  if (!isInteractive(cli))
    throw new PortolanError("USAGE", "The passphrase can be typed only at a terminal.", {
      hint: "Run this command at a terminal. Without a terminal, do not unlock the vault: write the passphrase to a file that only you can read, and set the environment variable PORTOLAN_VAULT_PASSPHRASE_FILE to its path for the commands that use the vault.",
    });
  const agent = await createVaultAgent(io.env, io.platform);
  if (!agent.isSupported && options.keep !== true)
    throw new PortolanError("NOT_SUPPORTED", NOT_ON_WINDOWS, { hint: KEEP_HINT });
  let isUnlocked = false;
  let isTyped = false;
  // A vault that is unlocked already is asked for again: the time begins anew.
  await agent.lock();
  const store = createSecretStore({
    env: io.env,
    promptPassphrase: async (request) => ({
      passphrase: (await askPassphrase(cli, request)) ?? "",
      opened: async (vault, key) => {
        isTyped = true;
        isUnlocked = ms > 0 && (await keepUnlocked(cli, vault, key, ms));
      },
    }),
    report: (diagnostic) => noteDiagnostic(diagnostic, cli),
  });
  if (!(await store.openVault())) throw noVault();
  if (options.keep === true) await store.keepVaultPassphrase();
  // A gateway would try the vault again only after up to half a minute.
  if (isUnlocked || options.keep === true) await letGatewaysRead(cli);
  if (output.form === "json")
    output.json({ unlocked: isUnlocked, forMs: isUnlocked ? ms : 0, kept: options.keep === true });
  else if (options.keep === true)
    output.print("The passphrase is stored in the keyring. Commands no longer ask for it.");
  else if (!isUnlocked && isTyped) output.print(`${AGENT_FAILED} ${KEEP_HINT}`);
  else if (!isUnlocked)
    output.print(
      "The vault needs no unlocking: Portolan reads its passphrase from the keyring or from a passphrase file.",
    );
  else output.print(`The vault stays unlocked for ${formatDuration(ms)}.`);
  return 0;
}

/** A value of the variable that counts as zero. */
function describeTimeout(text = ""): string {
  return /^0+\D*$/.test(text)
    ? `${TIMEOUT_VARIABLE} is ${text}`
    : `${TIMEOUT_VARIABLE} is ${JSON.stringify(text)}, which is not a time such as 15m`;
}

export async function lock(cli: Cli): Promise<number> {
  const { io, output } = cli;
  const wasUnlocked = await (await createVaultAgent(io.env)).lock();
  if (output.form === "json") output.json({ locked: true, wasUnlocked });
  else output.print(wasUnlocked ? "The vault is locked." : "The vault was already locked.");
  return 0;
}

/** Runs the agent in this process until its last key is forgotten. Commands start it themselves. */
export async function runAgent(cli: Cli): Promise<number> {
  const agent = await serveVaultAgent(cli.io.env);
  if (agent === undefined) return 0;
  await Promise.race([agent.ended, aborted(cli.interrupt.signal)]);
  await agent.close();
  return 0;
}
