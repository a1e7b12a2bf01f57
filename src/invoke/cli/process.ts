// Process group of one command: stopped as a whole when the command ends, runs out of time, or this program exits.

import type { ChildProcess } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import spawn from "cross-spawn";
import { stdioOf } from "../../process/index.ts";

const TERM_GRACE_MS = 2_000;
/** How long background processes of the command may keep its output open. */
const DRAIN_MS = 500;

export interface Command {
  readonly program: string;
  readonly args: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  /** File descriptors that the command gets as 3, 4, … */
  readonly fds?: readonly number[];
  /** Requests the end of a command that a signal to the started process would not reach. False when it cannot. */
  terminate?: (started: ChildProcess) => boolean;
  /** Releases resources that were opened for the start. */
  spawned?(): void;
  ended?(): void;
}

export interface Ended {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  /** Processes that the command left in the background were killed. */
  readonly killedOthers: boolean;
}

export interface Listeners {
  stdout(chunk: Buffer): void;
  stderr(chunk: Buffer): void;
}

/** Groups that the one exit handler of this process kills. */
const live = new Set<Group>();
let watchingExit = false;

/** Rejects when the program cannot be started. */
export function startGroup(command: Command, listeners: Listeners): Promise<Group> {
  if (!watchingExit) {
    watchingExit = true;
    process.on("exit", () => {
      for (const group of live) group.signal("SIGKILL");
    });
  }
  return new Promise<Group>((resolve, reject) => {
    const child = spawn(command.program, [...command.args], {
      cwd: command.cwd,
      env: command.env,
      stdio: stdioOf("ignore", "pipe", "pipe", ...(command.fds ?? [])),
      shell: false,
      windowsHide: true,
      // Its own group, so that helpers which it starts can be stopped with it.
      detached: process.platform !== "win32",
    });
    child.once("error", reject);
    const { pid } = child;
    if (pid === undefined) return;
    child.off("error", reject);
    child.on("error", () => {});
    child.stdout?.on("data", (chunk: Buffer) => listeners.stdout(chunk));
    child.stderr?.on("data", (chunk: Buffer) => listeners.stderr(chunk));
    resolve(new Group(child, pid, command.terminate));
  })
    .finally(() => command.spawned?.())
    .then(
      (group) => {
        void group.ended.then(() => command.ended?.());
        return group;
      },
      (error: unknown) => {
        command.ended?.();
        throw error;
      },
    );
}

export class Group {
  /** Resolves when the command and its background processes have ended and all output has been read. */
  readonly ended: Promise<Ended>;
  readonly #child: ChildProcess;
  readonly #pid: number;
  readonly #terminate: Command["terminate"];
  #stopping: Promise<unknown> | undefined;

  constructor(child: ChildProcess, pid: number, terminate: Command["terminate"]) {
    this.#child = child;
    this.#pid = pid;
    this.#terminate = terminate;
    live.add(this);
    this.ended = this.#watch();
  }

  /** Sends SIGTERM, and SIGKILL after a grace period. */
  stop(): Promise<unknown> {
    if (this.#stopping === undefined) {
      if (this.#terminate?.(this.#child) !== true) this.signal("SIGTERM");
      const force = setTimeout(() => this.signal("SIGKILL"), TERM_GRACE_MS);
      this.#stopping = this.ended.finally(() => clearTimeout(force));
    }
    return this.#stopping;
  }

  signal(signal: NodeJS.Signals): void {
    try {
      if (process.platform === "win32") this.#child.kill(signal);
      else process.kill(-this.#pid, signal);
    } catch {
      // The group is already empty.
    }
  }

  /** Kills background processes of the command; true when there were any. */
  #killOthers(): boolean {
    const found = hasMembers(this.#pid);
    this.signal("SIGKILL");
    return found;
  }

  #watch(): Promise<Ended> {
    const child = this.#child;
    return new Promise((resolve) => {
      let drain: NodeJS.Timeout | undefined;
      let killedOthers = false;
      child.once("exit", () => {
        // A background process must not delay the result; by then the output in the pipes has been read.
        drain = setTimeout(() => {
          killedOthers = this.#killOthers();
          // A process outside of the group may still keep the pipes open.
          drain = setTimeout(() => {
            child.stdout?.destroy();
            child.stderr?.destroy();
          }, DRAIN_MS);
        }, DRAIN_MS);
      });
      child.once("close", (code: number | null, signal: NodeJS.Signals | null) => {
        clearTimeout(drain);
        killedOthers = this.#killOthers() || killedOthers;
        live.delete(this);
        resolve({ code, signal, killedOthers });
      });
    });
  }
}

/** True if a process group whose leader has ended still has a running process. Zombies do not count. */
function hasMembers(group: number): boolean {
  if (process.platform === "win32") return false;
  try {
    process.kill(-group, 0);
  } catch {
    return false;
  }
  if (process.platform !== "linux") return true;
  try {
    return readdirSync("/proc").some((name) => /^\d+$/.test(name) && isMember(name, group));
  } catch {
    return true;
  }
}

function isMember(pid: string, group: number): boolean {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
    // The program name in parentheses may hold any character, so the fields are read after the last one.
    const [state = "", , processGroup = ""] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return processGroup === String(group) && state !== "Z" && state !== "X";
  } catch {
    return false;
  }
}
