// Keeps the key of a vault in the vault agent, so that the passphrase is typed once for several commands.

import process from "node:process";
import { setTimeout as delay } from "node:timers/promises";
import { startDetached } from "../../process/index.ts";
import { createVaultAgent, type VaultKey } from "../../secrets/index.ts";
import type { Cli } from "../context.ts";
import { parseTime } from "../options/parse.ts";
import { formatDuration } from "../terminal/layout.ts";

/** How long a vault stays unlocked: a time such as 15m; 0 for not at all. */
export const TIMEOUT_VARIABLE = "PORTOLAN_VAULT_TIMEOUT";
const DEFAULT_MS = 15 * 60_000;
const START_MS = 5_000;
const POLL_MS = 25;

/** There is no vault agent on Windows. */
export const NOT_ON_WINDOWS =
  "On Windows, the vault does not stay unlocked, so every command that reads the vault asks for the passphrase.";
export const KEEP_HINT =
  "To store the passphrase in the keyring of the system: portolan secrets unlock --keep";

/** The agent has no terminal for its error, so the text names the command that starts it in one. */
export const AGENT_FAILED =
  "The vault does not stay unlocked: the background process that keeps its key did not start. Other commands ask for the passphrase again, and a gateway in the background cannot read the vault. To see the reason: portolan secrets agent.";

/** Zero if the vault must not stay unlocked. A wrong value counts as zero, because it is about security. */
export function unlockedMs({ io }: Pick<Cli, "io">): number {
  const text = io.env[TIMEOUT_VARIABLE];
  return text === undefined || text === "" ? DEFAULT_MS : (parseTime(text) ?? 0);
}

/** Gives the key to the agent, which is started if none runs. */
export async function keepUnlocked(
  cli: Pick<Cli, "io">,
  vault: string,
  key: VaultKey,
  ms: number,
): Promise<boolean> {
  if (ms === 0) return false;
  const agent = await createVaultAgent(cli.io.env, cli.io.platform);
  if (!agent.isSupported) return false;
  const put = (): Promise<boolean> => agent.put(vault, key, ms);
  return (await put()) || (await startAgent(cli, put));
}

/** The same for the time of the user's setting, and says so. */
export async function keepUnlockedAndSay(
  cli: Pick<Cli, "io" | "output">,
  vault: string,
  key: VaultKey,
  leastMs: number,
): Promise<boolean> {
  const { output } = cli;
  const ms = Math.max(unlockedMs(cli), leastMs);
  if (ms === 0) return false;
  const { isSupported } = await createVaultAgent(cli.io.env, cli.io.platform);
  const isKept = await keepUnlocked(cli, vault, key, ms);
  const note = isKept
    ? `The vault stays unlocked for ${formatDuration(ms)}. To lock it now: portolan secrets lock`
    : isSupported
      ? `${AGENT_FAILED} ${KEEP_HINT}`
      : `${NOT_ON_WINDOWS} ${KEEP_HINT}`;
  output.note(output.noteColors.dim(note));
  return isKept;
}

/** The key goes through the socket of the agent, never through its command line or environment. */
async function startAgent({ io }: Pick<Cli, "io">, put: () => Promise<boolean>): Promise<boolean> {
  const [script = ""] = process.argv.slice(1, 2);
  // The agent belongs to no other Portolan process, which would end it with its own servers.
  const { PORTOLAN_OWNER: _owner, ...given } = io.env;
  const env = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
  const args = [...process.execArgv, script, "secrets", "agent"];
  if (!(await startDetached({ file: process.execPath, args, env: env as Record<string, string> })))
    return false;
  const deadline = performance.now() + START_MS;
  while (performance.now() < deadline) {
    if (await put()) return true;
    await delay(POLL_MS);
  }
  return false;
}
