// What the owner of the machine says about sandboxes, said once: it is the same for all servers that do not say it themselves.

import { plainLine } from "./plain-text.ts";

export const OWNER = "PORTOLAN_SANDBOX";

interface Boxed {
  readonly alias: string;
  readonly mode: string;
  readonly by: string;
}

/** Nothing where every server is boxed, or says for itself that it is not. */
export function describeRelaxedByOwner(servers: readonly Boxed[]): string | undefined {
  const relaxed = servers.filter(({ mode, by }) => mode !== "enforce" && by === OWNER);
  const mode = relaxed[0]?.mode;
  if (mode === undefined) return undefined;
  const which = relaxed.map(({ alias }) => plainLine(alias, 40)).join(", ");
  return `${OWNER} is ${mode}: ${mode === "off" ? "no sandbox" : "what cannot be held is only said"} for ${which}.`;
}
