// A program as it is to run, and the process that the operating system is asked for.

import type { ChildProcess } from "node:child_process";

/** A server's program, found and installed, as it is to run: inside of a box or not. */
export interface Program {
  /** An absolute path. */
  readonly file: string;
  readonly args: readonly string[];
  readonly cwd: string | undefined;
  /** All of its environment, values included. */
  readonly env: Readonly<Record<string, string>>;
}

/** The process that came of it. */
export type Spawned = Pick<ChildProcess, "pid" | "exitCode" | "signalCode">;

/** What is handed to the operating system. Descriptors of `fds` become 3, 4, … of the child. */
export interface Spawnable {
  readonly file: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string | undefined;
  readonly fds: readonly number[];
  /** Asks the program to end, where a signal to what was spawned would not reach it. False when there is nobody to ask. */
  ask?: ((spawned: Spawned) => boolean) | undefined;
  /** Gives back what was opened for it. `isStarted` is false where nothing was spawned after all. Default: true. */
  spawned(isStarted?: boolean): void;
  /** Gives back what it needed while it ran. */
  ended(): void;
}
