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

/** `enforce (by default), enforced by bubblewrap` */
export function sandboxLabel({ mode, by, backend }: { mode: string; by: string; backend: string }): string {
  const setter = by === "config" ? "its config" : by === SANDBOX_VARIABLE ? by : `the ${by}`;
  const who = by === "default" ? "by default" : `set by ${setter}`;
  return `${mode} (${who})${backend === "none" ? ", not enforced" : `, enforced by ${backend}`}`;
}

export function sandboxPaint(mode: string, colors: Colors): Paint {
  return mode === "enforce" ? (text) => text : colors.yellow;
}

export const SANDBOX_VARIABLE = "PORTOLAN_SANDBOX";

interface SandboxedServer {
  readonly alias: string;
  readonly mode: string;
  readonly by: string;
}

/** A note about servers that PORTOLAN_SANDBOX relaxes; undefined when there are none. */
export function describeRelaxedByOwner(servers: readonly SandboxedServer[]): string | undefined {
  const relaxed = servers.filter(({ mode, by }) => mode !== "enforce" && by === SANDBOX_VARIABLE);
  const mode = relaxed[0]?.mode;
  if (mode === undefined) return undefined;
  const which = relaxed.map(({ alias }) => plainLine(alias, 40)).join(", ");
  return `${SANDBOX_VARIABLE} is ${mode}: ${mode === "off" ? "no sandbox" : "rules that cannot be enforced are only reported"} for ${which}.`;
}
