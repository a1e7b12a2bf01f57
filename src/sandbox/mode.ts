// How strictly a server is boxed, and who said so: whoever starts it, its declaration, the owner of the machine, or nobody.

import { PortolanError } from "../errors/index.ts";
import type { LaunchSettings, SandboxMode } from "../model/index.ts";

const VARIABLE = "PORTOLAN_SANDBOX";

export interface ChosenMode {
  readonly mode: SandboxMode;
  /** Who said so. */
  readonly by: "default" | "declaration" | "command line" | "PORTOLAN_SANDBOX";
}

export function chooseMode(settings: LaunchSettings | undefined, env: NodeJS.ProcessEnv): ChosenMode {
  if (settings?.sandboxOverride !== undefined) return { mode: settings.sandboxOverride, by: "command line" };
  if (settings?.sandbox?.mode !== undefined) return { mode: settings.sandbox.mode, by: "declaration" };
  const given = env[VARIABLE];
  if (given === undefined || given === "") return { mode: "enforce", by: "default" };
  if (given === "enforce" || given === "warn" || given === "off") return { mode: given, by: VARIABLE };
  // A typing mistake must not open what was meant to be shut.
  throw new PortolanError("CONFIG_INVALID", `${VARIABLE} is ${JSON.stringify(given)}`, {
    hint: `Set ${VARIABLE} to enforce, warn or off, or leave it out.`,
  });
}
