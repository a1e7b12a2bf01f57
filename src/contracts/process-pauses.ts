// Processes of drivers that failed, left alone for a while: longer each time, until one works.

import { type DriverProcess, judge, type Registered, type ServerStatus } from "./registered.ts";

const FIRST_MS = 1_000;
const LONGEST_MS = 60_000;

export interface ProcessPausesOptions {
  /** Whether anybody is interested in this driver still. */
  readonly isCurrent: (registered: Registered) => boolean;
  readonly changed: () => void;
}

export class ProcessPauses {
  readonly #options: ProcessPausesOptions;
  readonly #timers = new Set<NodeJS.Timeout>();

  constructor(options: ProcessPausesOptions) {
    this.#options = options;
  }

  /** After it the process may be chosen again, which finds out whether it is well. */
  begin(registered: Registered, process: DriverProcess, held: ServerStatus): void {
    process.failures += 1;
    process.held = held;
    const wait = Math.min(FIRST_MS * 2 ** (process.failures - 1), LONGEST_MS);
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      if (process.held !== held || !this.#options.isCurrent(registered)) return;
      process.held = undefined;
      judge(registered);
      this.#options.changed();
    }, wait).unref();
    this.#timers.add(timer);
    judge(registered);
    this.#options.changed();
  }

  close(): void {
    for (const timer of this.#timers) clearTimeout(timer);
    this.#timers.clear();
  }
}
