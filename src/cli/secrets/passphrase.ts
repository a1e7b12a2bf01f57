// `portolan secrets passphrase`: encrypts the vault with a new passphrase.

import { PortolanError, toPortolanError } from "../../errors/index.ts";
import { createSecretStore, createVaultAgent } from "../../secrets/index.ts";
import type { Cli } from "../context.ts";
import { withGateway } from "../control/find.ts";
import { isInteractive } from "../input/handlers.ts";
import { keepUnlockedAndSay } from "../input/keep-unlocked.ts";
import { askPassphrase, choosePassphrase } from "../input/secret-input.ts";
import { noteDiagnostic } from "../output/diagnostic.ts";
import { plainLine } from "../terminal/safe-text.ts";
import { type GatewayField, toGatewayField } from "../workspace/running.ts";
import { noVault, PASSPHRASE_FILE, START_MS } from "./vault-of-gateway.ts";

const NEW_FILE = "--new-passphrase-file";

export interface PassphraseOptions {
  newPassphraseFile?: string;
}

export async function changePassphrase(cli: Cli, options: PassphraseOptions): Promise<number> {
  const { io, output } = cli;
  const warn = (text: string): void => output.note(`${output.noteColors.yellow("warning")} ${text}`);
  const newFile = options.newPassphraseFile;
  if (newFile === undefined && !isInteractive(cli))
    throw new PortolanError("USAGE", "The new passphrase can be typed only at a terminal.", {
      hint: `Without a terminal, write the new passphrase to a file: portolan secrets passphrase ${NEW_FILE} <file>. Portolan takes the old passphrase from the file that ${PASSPHRASE_FILE} names, or without this variable from the keyring.`,
    });
  let isUnlocked = false;
  const store = createSecretStore({
    env: io.env,
    promptPassphrase: !isInteractive(cli)
      ? undefined
      : async (request) => ({
          passphrase: (await askPassphrase(cli, request)) ?? "",
          // Running gateways get the new key from the agent.
          opened: async (vault, key) => {
            isUnlocked = await keepUnlockedAndSay(cli, vault, key, START_MS);
          },
        }),
    report: (diagnostic) => noteDiagnostic(diagnostic, cli),
  });
  const isChanged = await store.changeVaultPassphrase(
    newFile === undefined
      ? { choose: (vault) => choosePassphrase(cli, "the new passphrase of the vault", vault) }
      : { file: newFile, option: NEW_FILE },
  );
  if (!isChanged) throw noVault();
  // The new key has replaced the old one in the agent, or the old one goes with the agent.
  if (!isUnlocked) await (await createVaultAgent(io.env, io.platform)).lock();
  const oldFile = io.env[PASSPHRASE_FILE] ?? "";
  // Gateways cannot open the vault with this file before it has the new passphrase, which they read when they need it.
  const gateways = oldFile === "" ? await letGatewaysRead(cli) : [];
  if (output.form === "json") output.json({ changed: true, gateways });
  else output.print("The passphrase of the vault was changed.");
  if (oldFile !== "")
    warn(
      `${plainLine(oldFile, 300)} still has the old passphrase. Write the new passphrase into this file, so that commands and gateways can open the vault.`,
    );
  for (const { pid, problems = [] } of gateways)
    for (const problem of problems)
      warn(`The gateway with the process id ${pid}: ${plainLine(problem, 1_000)}`);
  return 0;
}

/**
 * A gateway keeps the key that it opens the vault with, so it must read the vault while the agent has the key. It also starts the
 * servers again that could not start because the vault was locked.
 */
export async function letGatewaysRead({ io, interrupt }: Cli): Promise<readonly GatewayField[]> {
  const gateways = await io.findAllGateways();
  return Promise.all(
    gateways.map(async (gateway) => {
      try {
        const { problems, serverProblems = [] } = await withGateway(gateway, (client) =>
          client.reload({}, interrupt.signal),
        );
        return toGatewayField(gateway, { problems: [...problems, ...serverProblems] });
      } catch (thrown) {
        return toGatewayField(gateway, { problems: [toPortolanError(thrown).message] });
      }
    }),
  );
}
