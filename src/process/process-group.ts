// Process group of one program: started without a shell and without Portolan's open files, signalled as a whole, and
// killed when this process exits.

import { type ChildProcess, spawn, type SpawnOptions } from "node:child_process";
import type { Readable, Writable } from "node:stream";
import { PortolanError } from "../errors/index.ts";
import { atExit } from "./at-exit.ts";
import { processes, stateOf } from "./proc.ts";
import { stdioOf } from "./stdio.ts";
import type { Program, Startable } from "./types.ts";

export interface Exit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

export interface GroupOptions {
  readonly stdin: "pipe" | "ignore";
  /** Replaces the environment of the program. */
  readonly env?: Readonly<Record<string, string>>;
}

export class ProcessGroup {
  readonly pid: number;
  /** Undefined without a pipe. */
  readonly stdin: Writable | undefined;
  readonly stdout: Readable;
  readonly stderr: Readable;
  readonly exited: Promise<Exit>;
  /** The program has ended, and its output has been read. */
  readonly closed: Promise<Exit>;
  /** Takes the group out of those that are killed when this process exits. */
  readonly release: () => void;
  readonly #child: ChildProcess;
  readonly #terminateInside: Startable["terminate"];

  private constructor(child: ChildProcess, pid: number, terminateInside: Startable["terminate"]) {
    this.#child = child;
    this.pid = pid;
    this.#terminateInside = terminateInside;
    this.stdin = child.stdin ?? undefined;
    // Both are pipes, so that they exist.
    this.stdout = child.stdout as Readable;
    this.stderr = child.stderr as Readable;
    this.exited = new Promise((resolve) => child.once("exit", (code, signal) => resolve({ code, signal })));
    this.closed = new Promise((resolve) => child.once("close", (code, signal) => resolve({ code, signal })));
    this.release = atExit(() => this.signal("SIGKILL"));
    child.on("error", () => {});
    // A write to a program that has ended is reported by its exit, not by the pipe.
    this.stdin?.on("error", () => {});
  }

  /** Resolves when the operating system has started the program. Rejects with the error of the system. */
  static async start(program: Startable, { stdin, env = program.env }: GroupOptions): Promise<ProcessGroup> {
    const spawnHere = await spawnOfPlatform();
    return new Promise<ProcessGroup>((resolve, reject) => {
      const child = spawnHere(program.file, [...program.args], {
        env,
        cwd: program.cwd,
        stdio: stdioOf(stdin, "pipe", "pipe", ...(program.fds ?? [])),
        shell: false,
        windowsHide: true,
        // The program leads a group of its own, so that its helpers can be stopped with it.
        detached: process.platform !== "win32",
      });
      child.once("error", reject);
      if (child.pid === undefined) return;
      const group = new ProcessGroup(child, child.pid, program.terminate);
      program.spawned?.();
      void group.exited.then(() => program.ended?.());
      resolve(group);
    }).catch((error: unknown) => {
      program.spawned?.(false);
      program.ended?.();
      throw error;
    });
  }

  signal(signal: NodeJS.Signals): void {
    try {
      if (process.platform === "win32") this.#child.kill(signal);
      else process.kill(-this.pid, signal);
    } catch {
      // The group is already empty.
    }
  }

  /** Sends SIGTERM to the program, also inside of a sandbox. */
  terminate(): void {
    if (this.#terminateInside?.(this.#child) !== true) this.signal("SIGTERM");
  }

  /** A survivor outside of the group may keep the pipes open, which would keep this process alive. */
  destroyPipes(): void {
    for (const pipe of [this.stdin, this.stdout, this.stderr]) pipe?.destroy();
  }

  /** Returns true if the group still has a running process after its leader has ended. Zombies do not count. */
  hasMembers(): boolean {
    if (process.platform === "win32") return false;
    try {
      process.kill(-this.pid, 0);
    } catch {
      return false;
    }
    if (process.platform !== "linux") return true;
    return processes().some((pid) => {
      const state = stateOf(pid);
      return state !== undefined && state.group === this.pid && !state.isDead;
    });
  }
}

export function startError(
  { file, cwd }: Pick<Program, "file" | "cwd">,
  cause: unknown,
  server?: string,
): PortolanError {
  const { code, message } = cause as NodeJS.ErrnoException;
  const missing = code === "ENOENT";
  const reason = missing ? `no such program${cwd === undefined ? "" : `, or no folder ${cwd}`}` : message;
  return new PortolanError("SERVER_START_FAILED", `cannot start "${file}": ${reason}`, {
    server,
    cause,
    data: { command: file, reason: code ?? "unknown" },
    hint: missing ? "Check the spelling, install the program, or give its full path." : undefined,
  });
}

type Spawn = (file: string, args: string[], options: SpawnOptions) => ChildProcess;

/** Windows itself starts no scripts, and no programs that are named without their extension. */
async function spawnOfPlatform(): Promise<Spawn> {
  return process.platform === "win32" ? (await import("cross-spawn")).default : spawn;
}
