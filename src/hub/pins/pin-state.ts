// Pin state of one server: its tools compared with the approved definitions, and which of them are withheld. Pure functions.

import { PortolanError } from "../../errors/index.ts";
import type { PinMode } from "../../model/index.ts";

/** One tool of a server, compared with its pin. */
export interface ComparedTool {
  readonly name: string;
  /** `unpinnable`: it has no canonical form, or the server lists its name twice. */
  readonly verdict: "same" | "changed" | "new" | "unpinnable";
  /** The hash of the definition as it is now. */
  readonly hash?: string;
  /** The hash that was approved. */
  readonly approved?: string;
  /** The fields that changed, if the approved definition is stored on this machine. */
  readonly fields?: readonly string[];
}

/**
 * Why tools could not be compared: the server has no pins, the lock file cannot be read, or the tools of the server are
 * not known yet.
 */
export type PinObstacle =
  | { readonly kind: "unpinned" }
  | { readonly kind: "unreadable"; readonly reason: string; readonly hint: string }
  | { readonly kind: "unlisted" };

export interface PinState {
  /** `off`: nothing is compared. */
  readonly mode: PinMode;
  readonly obstacle?: PinObstacle;
  readonly tools: ReadonlyMap<string, ComparedTool>;
  /** Approved tools that the server does not have any more. */
  readonly removed: readonly string[];
}

export const NO_PINS: PinState = { mode: "off", tools: new Map(), removed: [] };

/** The lock file as it was read last. */
export type LockState =
  | { readonly kind: "absent" }
  | {
      readonly kind: "read";
      readonly pins: ReadonlyMap<string, Readonly<Record<string, string>>>;
      /** The package of each server that is one, as a text that differs between versions and contents. */
      readonly packages?: ReadonlyMap<string, string>;
    }
  | { readonly kind: "broken"; readonly reason: string; readonly hint: string };

/** A tool and the hash of its definition; null if it has none. */
export type HashedTool = readonly [name: string, hash: string | null];

/** `hashes` is undefined if the tools of the server are not known yet. */
export function comparePins(
  server: string,
  wanted: PinMode | undefined,
  lock: LockState,
  hashes: readonly HashedTool[] | undefined,
): PinState {
  if (wanted === "off") return NO_PINS;
  const mode = wanted ?? "enforce";
  const nothing = { mode, tools: new Map<string, ComparedTool>(), removed: [] };
  if (lock.kind === "broken") {
    const { reason, hint } = lock;
    return { ...nothing, obstacle: { kind: "unreadable", reason, hint } };
  }
  const approved = lock.kind === "read" ? lock.pins.get(server) : undefined;
  if (approved === undefined)
    // Without a setting, a server without pins is not compared.
    return wanted === undefined ? NO_PINS : { ...nothing, obstacle: { kind: "unpinned" } };
  if (hashes === undefined) return { ...nothing, obstacle: { kind: "unlisted" } };
  const tools = new Map<string, ComparedTool>();
  for (const [name, found] of hashes) {
    const pin = Object.hasOwn(approved, name) ? approved[name] : undefined;
    // Of two tools with one name, a caller could get the one that nobody approved.
    const hash = tools.has(name) ? undefined : (found ?? undefined);
    tools.set(name, { name, verdict: verdictOf(hash, pin), hash, approved: pin });
  }
  return { mode, tools, removed: Object.keys(approved).filter((name) => !tools.has(name)) };
}

function verdictOf(hash: string | undefined, approved: string | undefined): ComparedTool["verdict"] {
  if (hash === undefined) return "unpinnable";
  if (approved === undefined) return "new";
  return hash === approved ? "same" : "changed";
}

/** True when the tool must not be offered or called. */
export function isWithheld({ mode, obstacle, tools }: PinState, tool: string): boolean {
  if (mode !== "enforce") return false;
  return obstacle !== undefined || tools.get(tool)?.verdict !== "same";
}

/** The tools whose definition nobody approved, whether they are withheld or only reported. */
export function differencesOf({ tools }: PinState): readonly ComparedTool[] {
  return [...tools.values()].filter(({ verdict }) => verdict !== "same");
}

/** Explains why a tool is withheld, and which command approves it. */
export function withheldError(server: string, tool: string, state: PinState): PortolanError {
  const { message, hint } = explainWithheld(server, tool, state);
  const { verdict, hash, approved, fields } = state.tools.get(tool) ?? {};
  return new PortolanError("TOOL_WITHHELD", message, {
    server,
    tool,
    hint,
    data: { reason: state.obstacle?.kind ?? verdict ?? "new", hash, approved, fields },
  });
}

/** `server` is the word that the commands take. `reason` is the message without the name of the tool. */
export function explainWithheld(
  server: string,
  tool: string,
  state: PinState,
): { readonly message: string; readonly reason: string; readonly hint: string } {
  const { reason, hint } = reasonAndHint(server, tool, state);
  const message = `Portolan withholds the tool ${JSON.stringify(tool.slice(0, 200))}: ${reason}`;
  return { message, reason, hint };
}

function reasonAndHint(
  server: string,
  tool: string,
  { obstacle, tools }: PinState,
): { readonly reason: string; readonly hint: string } {
  if (obstacle !== undefined)
    return { reason: explainObstacle(server, obstacle), hint: hintFor(server, obstacle) };
  const { verdict = "new", fields = [] } = tools.get(tool) ?? {};
  const hint = `See its definition: portolan pins diff ${server}. To approve the tool: portolan pins approve ${server} ${quoteWord(tool)}`;
  switch (verdict) {
    case "changed": {
      const what = fields.length === 0 ? "definition" : fields.join(" and ");
      return { reason: `its ${what} changed since it was approved`, hint };
    }
    case "unpinnable":
      return {
        reason: `its definition is malformed, or ${server} lists two tools of this name`,
        hint: "Report this to the author of the server.",
      };
    case "new":
    case "same":
      return { reason: `nobody has approved this tool of ${server}`, hint };
  }
}

export function explainObstacle(server: string, obstacle: PinObstacle): string {
  switch (obstacle.kind) {
    case "unpinned":
      return `no tool of ${server} is approved yet`;
    case "unreadable":
      return `the approved tools in portolan.lock cannot be read: ${obstacle.reason}`;
    case "unlisted":
      return `the tools of ${server} have not been compared with portolan.lock yet`;
  }
}

export function hintFor(server: string, obstacle: PinObstacle): string {
  switch (obstacle.kind) {
    case "unpinned":
      return `Review the tools of ${server}, and approve them: portolan pin ${server}`;
    case "unreadable":
      return obstacle.hint;
    case "unlisted":
      return `Try again when the server has started. To see its state: portolan why ${server}`;
  }
}

function quoteWord(word: string): string {
  return /^[\w./:-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}
