// Labels for the state of a server and for its sandbox.

import { ERROR_CODES, type ErrorCode } from "../../errors/index.ts";
import type { ServerHealth, ServerState } from "../../hub/index.ts";
import type { Colors, Paint } from "../terminal/colors.ts";
import { count } from "../terminal/layout.ts";
import { plainLine } from "../terminal/safe-text.ts";

export function stateLabel(state: ServerState, colors: Colors): string {
  return statePaint(state, colors)(state);
}

/** `failed, trying again` */
export function healthLabel({ state, retrying }: ServerHealth, colors: Colors): string {
  return `${stateLabel(state, colors)}${retrying === true ? ", trying again" : ""}`;
}

export function statePaint(state: ServerState, colors: Colors): Paint {
  if (state === "ready") return colors.green;
  if (state === "idle" || state === "disabled" || state === "stopped") return colors.dim;
  return state === "failed" || state === "blocked" ? colors.red : colors.yellow;
}

/** The message, code and hint of a failed server as one line. The usual hint of a code says nothing about the server. */
export function errorLine(
  { message, code, hint = "" }: { readonly message: string; readonly code: string; readonly hint?: string },
  paint: Paint = (text) => text,
): string {
  return [plainLine(message, 500), paint(`[${code}]`), specificHint(code, hint)].filter(Boolean).join(" ");
}

export function specificHint(code: string | undefined, hint: string): string {
  const usual = Object.hasOwn(ERROR_CODES, code ?? "") ? ERROR_CODES[code as ErrorCode].hint : "";
  return plainLine(hint.startsWith(usual) ? hint.slice(usual.length).trim() : hint, 1_000);
}

/** True when a server does not run with its present configuration, because it could not start or is starting again. */
export function hasFailed({ state, error, failedReplacement }: ServerHealth): boolean {
  if (failedReplacement !== undefined || state === "failed" || state === "blocked") return true;
  return error !== undefined && state !== "disabled";
}

/** `files ready: 3 tools, 1 withheld`, or its error. */
export function serverLine(health: ServerHealth, colors: Colors): string {
  const { alias, tools, withheld = 0, error, failedReplacement } = health;
  const offered = `${count(tools, "tool")}${withheld === 0 ? "" : `, ${withheld} withheld`}`;
  const what = error === undefined ? offered : `${plainLine(error.message, 500)} [${error.code}]`;
  const line = `${colors.bold(plainLine(alias, 60))} ${healthLabel(health, colors)}: ${what}`;
  return failedReplacement === undefined
    ? line
    : `${line}\n  ${colors.yellow(replacementLine(failedReplacement))}`;
}

/** Why a server runs with an earlier configuration, process or secret. */
export function replacementLine({ code, message }: NonNullable<ServerHealth["failedReplacement"]>): string {
  return `${plainLine(message, 700)} [${code}]`;
}

/** The command that shows more about a server that failed or withholds tools. */
export function nextCommand({
  alias,
  withheld = 0,
  error,
  failedReplacement,
  pins,
}: ServerHealth): string | undefined {
  if (error !== undefined || failedReplacement !== undefined)
    return `More about this error: portolan why ${alias}`;
  const isUnpinned = pins?.problem?.kind === "unpinned";
  return withheld === 0
    ? undefined
    : isUnpinned
      ? `Review the withheld tools, and approve them: portolan pin ${alias}`
      : `See the withheld tools: portolan pins diff ${alias}`;
}

/** The state of a server, the hint of its error, and the next command. */
export function describeHealth(health: ServerHealth, colors: Colors): string {
  const hint = plainLine((health.error ?? health.failedReplacement)?.hint ?? "", 1_000);
  const next = nextCommand(health);
  return [
    serverLine(health, colors),
    ...(hint === "" ? [] : [`  ${colors.cyan("hint")} ${hint}`]),
    ...(next === undefined ? [] : [next]),
  ].join("\n");
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
  const effect = mode === "off" ? "run without a sandbox" : "start even if sandbox rules cannot be enforced";
  return `${SANDBOX_VARIABLE} is ${mode}, so these servers ${effect}: ${which}.`;
}
