// Reports about pins: the event and the plain data of one server.

import type { JsonObject, PinMode } from "../../model/index.ts";
import type { PinsComparedEvent } from "../events.ts";
import {
  type ComparedTool,
  differencesOf,
  explainObstacle,
  explainWithheld,
  hintFor,
  isWithheld,
  type PinState,
} from "./pin-state.ts";

/** A tool that is not offered, or would not be with `pins: enforce`, and the reason. */
export interface PinDifference {
  readonly tool: string;
  readonly verdict: Exclude<ComparedTool["verdict"], "same">;
  readonly reason: string;
  readonly hint: string;
  readonly fields?: readonly string[];
}

/** The pins of a server in `health()`. */
export interface PinHealth {
  readonly mode: "enforce" | "warn";
  /** Why no tool could be compared, and all are withheld in the mode `enforce`. */
  readonly problem?: {
    readonly kind: "unpinned" | "unreadable" | "unlisted";
    readonly message: string;
    readonly hint: string;
  };
  /** The tools whose definition nobody approved. */
  readonly differences: readonly PinDifference[];
  /** Approved tools that the server does not have any more. */
  readonly removed: readonly string[];
}

/** A tool of a server as `workspace.pins()` returns it. */
export interface LivePin extends ComparedTool {
  /** The definition that the pin covers, without secrets. */
  readonly definition: JsonObject;
}

/** The tools of one server or driver beside its pins. */
export interface ServerPins {
  /** The alias of the server, or the id of the driver. */
  readonly server: string;
  /** The key of its pins in the lock file. */
  readonly key: string;
  readonly kind: "server" | "driver";
  /** Absent if nothing is compared: the server has no pins, or `pins` is `off`. */
  readonly mode?: PinMode;
  readonly tools: readonly LivePin[];
  readonly removed: readonly string[];
  readonly problem?: PinHealth["problem"];
}

/** Undefined when nothing is compared. */
export function pinHealth(server: string, state: PinState): PinHealth | undefined {
  const { mode, removed } = state;
  if (mode === "off") return undefined;
  return { mode, problem: problemOf(server, state), differences: toDifferences(server, state), removed };
}

export function problemOf(server: string, { obstacle }: PinState): PinHealth["problem"] {
  if (obstacle === undefined) return undefined;
  return {
    kind: obstacle.kind,
    message: explainObstacle(server, obstacle),
    hint: hintFor(server, obstacle),
  };
}

function toDifferences(server: string, state: PinState): PinDifference[] {
  return differencesOf(state).flatMap(({ name, verdict, fields }) => {
    if (verdict === "same") return [];
    const { reason, hint } = explainWithheld(server, name, state);
    return [{ tool: name, verdict, reason, hint, fields }];
  });
}

/** The event about the differences; undefined when there are none. `names` are the tools of the server. */
export function comparedEvent(
  server: string,
  state: PinState,
  names: readonly string[],
): Omit<PinsComparedEvent, "time"> | undefined {
  const { mode, obstacle, removed } = state;
  const differences = differencesOf(state);
  // Lists that are on their way are no difference.
  if (obstacle?.kind === "unlisted" || mode === "off") return undefined;
  if (obstacle === undefined && differences.length === 0 && removed.length === 0) return undefined;
  const named = (...verdicts: ComparedTool["verdict"][]): string[] =>
    differences.filter(({ verdict }) => verdicts.includes(verdict)).map(({ name }) => name);
  return {
    type: "mcp.pins_compared",
    server,
    mode,
    changed: named("changed", "unpinnable"),
    added: named("new"),
    removed,
    withheld: names.filter((name) => isWithheld(state, name)).length,
    reason: obstacle === undefined ? undefined : explainObstacle(server, obstacle),
    hint:
      obstacle === undefined
        ? `Review the differences: portolan pins diff ${server}`
        : hintFor(server, obstacle),
  };
}
