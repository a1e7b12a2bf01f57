// Chooses the sandbox mode of a server: from the command line, the server config, PORTOLAN_SANDBOX, or the default
// `enforce`.

import { PortolanError } from "../errors/index.ts";
import type { LaunchSettings, SandboxMode } from "../model/index.ts";

const VARIABLE = "PORTOLAN_SANDBOX";

export interface ChosenMode {
  readonly mode: SandboxMode;
  /** The source of the mode. */
  readonly by: "default" | "declaration" | "command line" | "PORTOLAN_SANDBOX";
}

export function chooseMode(settings: LaunchSettings | undefined, env: NodeJS.ProcessEnv): ChosenMode {
  if (settings?.sandboxOverride !== undefined) return { mode: settings.sandboxOverride, by: "command line" };
  if (settings?.sandbox?.mode !== undefined) return { mode: settings.sandbox.mode, by: "declaration" };
  const given = env[VARIABLE];
  if (given === undefined || given === "") return { mode: "enforce", by: "default" };
  if (given === "enforce" || given === "warn" || given === "off") return { mode: given, by: VARIABLE };
  // A misspelt value must not switch the sandbox off.
  throw new PortolanError("CONFIG_INVALID", `${VARIABLE} is ${JSON.stringify(given)}`, {
    hint: `Set ${VARIABLE} to enforce, warn or off, or leave it out.`,
  });
}
