// Processes of drivers that failed, left alone for a while: longer each time, until one works.

import {
  type DriverProcess,
  judge,
  type Registered,
  type ServerStatus,
} from "../driver/registered-driver.ts";

const FIRST_MS = 1_000;
const LONGEST_MS = 60_000;
/** Looking whether somebody has set a secret since costs little. */
const LONGEST_FOR_KEYS_MS = 4_000;

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

  /** After it somebody may look whether it is well by now; one that nothing changes is left alone for good. */
  begin(registered: Registered, process: DriverProcess, held: ServerStatus): void {
    process.failures += 1;
    process.held = held;
    if (held.final !== true) this.#wait(registered, process, held);
    judge(registered);
    this.#options.changed();
  }

  close(): void {
    for (const timer of this.#timers) clearTimeout(timer);
    this.#timers.clear();
  }

  #wait(registered: Registered, process: DriverProcess, held: ServerStatus): void {
    const longest = held.code === "auth_required" ? LONGEST_FOR_KEYS_MS : LONGEST_MS;
    const wait = Math.min(FIRST_MS * 2 ** (process.failures - 1), longest);
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      if (process.held !== held || !this.#options.isCurrent(registered)) return;
      process.held = { ...held, server: "unchecked", again: true };
      judge(registered);
      this.#options.changed();
    }, wait).unref();
    this.#timers.add(timer);
  }
}
