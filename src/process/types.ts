// A program to run, and the process that the operating system is asked for.

import type { ChildProcess } from "node:child_process";

/** A server's program, found and installed, inside of a sandbox or not. */
export interface Program {
  /** An absolute path. */
  readonly file: string;
  readonly args: readonly string[];
  readonly cwd: string | undefined;
  /** The whole environment, with values. */
  readonly env: Readonly<Record<string, string>>;
}

/** The process that was started. */
export type Spawned = Pick<ChildProcess, "pid" | "exitCode" | "signalCode">;

/** A program to start, with or without a sandbox around it. */
export type Startable = Program & Partial<Pick<Spawnable, "fds" | "terminate" | "spawned" | "ended">>;

/** The process as the operating system starts it. The descriptors in `fds` become 3, 4, … of the child. */
export interface Spawnable {
  readonly file: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string | undefined;
  readonly fds: readonly number[];
  /**
   * Sends SIGTERM to the program where a signal to the spawned process would not reach it. False if there is no
   * such program.
   */
  terminate?: (spawned: Spawned) => boolean;
  /** Releases what was opened for the start. `isStarted` is false if nothing was spawned. Default: true. */
  spawned(isStarted?: boolean): void;
  /** Releases what the program needed while it ran. */
  ended(): void;
}
