// How much servers are asked to log: as much as the most curious client wants. Each client then gets what it asked for.

import type { Hub } from "../../hub/index.ts";
import type { LogLevel } from "../../model/index.ts";
import { pause } from "./pause.ts";

const LEVELS: readonly LogLevel[] = [
  "debug",
  "info",
  "notice",
  "warning",
  "error",
  "critical",
  "alert",
  "emergency",
];

export function isLogLevel(value: unknown): value is LogLevel {
  return LEVELS.includes(value as LogLevel);
}

/** Whether a message of this level is wanted by who asked for that one. */
export function isWanted(level: unknown, wanted: LogLevel): boolean {
  return !isLogLevel(level) || LEVELS.indexOf(level) >= LEVELS.indexOf(wanted);
}

const PATIENCE_MS = 1_000;

export class LogLevels {
  readonly #hub: Hub;
  #lowest = LEVELS.length;

  constructor(hub: Hub) {
    this.#hub = hub;
  }

  /** Resolves when the servers have been told, where that is needed. */
  async want(level: LogLevel): Promise<void> {
    const rank = LEVELS.indexOf(level);
    if (rank >= this.#lowest) return;
    this.#lowest = rank;
    // A server that does not answer must not keep a call of another waiting.
    await Promise.race([this.#hub.setLogLevel(level), pause(PATIENCE_MS)]);
  }
}
