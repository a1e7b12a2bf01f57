// Log levels: servers get the lowest level that any client requested, and each client gets the messages of its own level.

import type { Hub } from "../../hub/index.ts";
import type { LogLevel } from "../../model/index.ts";
import { setTimeout as delay } from "node:timers/promises";

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

/** True if a message of this level goes to a client that requested `wanted`. */
export function isWanted(level: unknown, wanted: LogLevel): boolean {
  return !isLogLevel(level) || LEVELS.indexOf(level) >= LEVELS.indexOf(wanted);
}

const SET_LEVEL_MS = 1_000;

export class LogLevels {
  readonly #hub: Hub;
  #lowest = LEVELS.length;

  constructor(hub: Hub) {
    this.#hub = hub;
  }

  /** Lowers the level of the servers if needed. Resolves when they have it, or after a second. */
  async request(level: LogLevel): Promise<void> {
    const rank = LEVELS.indexOf(level);
    if (rank >= this.#lowest) return;
    this.#lowest = rank;
    // A server that does not respond must not delay calls of other servers.
    await Promise.race([this.#hub.setLogLevel(level), delay(SET_LEVEL_MS, undefined, { ref: false })]);
  }
}
