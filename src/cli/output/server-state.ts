// Labels for the state of a server and for its sandbox.

import type { ServerState } from "../../hub/index.ts";
import type { Colors, Paint } from "../terminal/colors.ts";
import { plainLine } from "../terminal/safe-text.ts";

export function stateLabel(state: ServerState, colors: Colors): string {
  return statePaint(state, colors)(state);
}

export function statePaint(state: ServerState, colors: Colors): Paint {
  if (state === "ready") return colors.green;
  if (state === "idle" || state === "disabled" || state === "stopped") return colors.dim;
  return state === "failed" || state === "blocked" ? colors.red : colors.yellow;
}

/** `enforce (by default), held by bubblewrap` */
export function sandboxLabel({ mode, by, backend }: { mode: string; by: string; backend: string }): string {
  const who = by === "default" ? "by default" : `said by ${by === "PORTOLAN_SANDBOX" ? by : `the ${by}`}`;
  return `${mode} (${who})${backend === "none" ? ", nothing is held" : `, held by ${backend}`}`;
}

export function sandboxPaint(mode: string, colors: Colors): Paint {
  return mode === "enforce" ? (text) => text : colors.yellow;
}

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
