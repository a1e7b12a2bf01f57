// Runs a program to its end: with its output captured, on Portolan's own terminal, or without waiting for it.

import { spawn } from "node:child_process";
import { setTimeout as delay } from "node:timers/promises";
import { atExit } from "./at-exit.ts";
import { type Exit, ProcessGroup, startError } from "./process-group.ts";
import { stdioOf } from "./stdio.ts";
import type { Program, Spawnable, Startable } from "./types.ts";

/** Time between SIGTERM and SIGKILL. */
const TERM_GRACE_MS = 2_000;
/** The time that a killed program needs to end. */
const KILL_MS = 5_000;
/** How long background processes of a program may keep its output open. */
const DRAIN_MS = 500;
const MOST_OUTPUT = 64 * 1024;

export interface StartOptions {
  readonly stdout?: (chunk: Buffer) => void;
  readonly stderr?: (chunk: Buffer) => void;
  /** `open` keeps stdin open until the program ends, so that it can notice the end of this process. A text is written to it. Default: closed. */
  readonly stdin?: "open" | { readonly text: string };
  /**
   * Processes that the program leaves in its group: `wait` until they close its output, or `kill` them soon after
   * its end. Default: wait.
   */
  readonly background?: "wait" | "kill";
}

export interface Ended extends Exit {
  /** Processes that the program left in the background were killed. */
  readonly killedOthers: boolean;
}

export interface RunOptions {
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
}

export class RunningProgram {
  /** Resolves when the program has ended and all its output has been read. */
  readonly ended: Promise<Ended>;
  readonly pid: number;
  readonly #group: ProcessGroup;
  #stopping: Promise<Ended> | undefined;

  constructor(group: ProcessGroup, killsBackground: boolean) {
    this.#group = group;
    this.pid = group.pid;
    this.ended = killsBackground
      ? this.#endWithBackground()
      : group.closed.then((exit) => ({ ...exit, killedOthers: false }));
    void this.ended.then(group.release);
  }

  /** Sends SIGTERM, and SIGKILL after a grace period. */
  stop(): Promise<Ended> {
    if (this.#stopping === undefined) {
      this.#group.terminate();
      const force = setTimeout(() => this.#group.signal("SIGKILL"), TERM_GRACE_MS);
      this.#stopping = this.ended.finally(() => clearTimeout(force));
    }
    return this.#stopping;
  }

  /** Kills the group at once, and waits for no more output. */
  kill(): void {
    this.#group.signal("SIGKILL");
    this.#group.destroyPipes();
  }

  /** Waits for the end. The time limit and the signal kill the group; the signal also rejects with its reason. */
  async wait({ timeoutMs, signal }: RunOptions): Promise<Ended> {
    const kill = (): void => this.kill();
    const timer = timeoutMs === undefined ? undefined : setTimeout(kill, timeoutMs);
    if (signal?.aborted === true) kill();
    signal?.addEventListener("abort", kill, { once: true });
    const ended = await this.ended;
    clearTimeout(timer);
    signal?.removeEventListener("abort", kill);
    signal?.throwIfAborted();
    return ended;
  }

  async #endWithBackground(): Promise<Ended> {
    const group = this.#group;
    let killedOthers = false;
    let drain: NodeJS.Timeout | undefined;
    const killOthers = (): void => {
      killedOthers = group.hasMembers() || killedOthers;
      group.signal("SIGKILL");
    };
    void group.exited.then(() => {
      // A background process must not delay the result; by then the output in the pipes has been read.
      drain = setTimeout(() => {
        killOthers();
        drain = setTimeout(() => group.destroyPipes(), DRAIN_MS);
      }, DRAIN_MS);
    });
    const exit = await group.closed;
    clearTimeout(drain);
    killOthers();
    return { ...exit, killedOthers };
  }
}

/** Starts a program in a process group of its own. Rejects with the error of the system. */
export async function startProgram(program: Startable, options: StartOptions = {}): Promise<RunningProgram> {
  const group = await ProcessGroup.start(program, { stdin: options.stdin === undefined ? "ignore" : "pipe" });
  if (typeof options.stdin === "object") group.stdin?.end(options.stdin.text);
  for (const name of ["stdout", "stderr"] as const) group[name].on("data", options[name] ?? (() => {}));
  return new RunningProgram(group, options.background === "kill");
}

export interface RunResult {
  readonly stdout: string;
  readonly stderr: string;
  readonly code: number | null;
}

/** Runs a program to its end. The caller decides where, and in which sandbox. */
export type RunProgram = (
  program: Program,
  options: RunOptions & { readonly timeoutMs: number; readonly input?: string },
) => Promise<RunResult>;

/** Resolves with the output, cut off at a bound; the time limit kills the program. */
export async function runProgram(program: Startable, options: Parameters<RunProgram>[1]): Promise<RunResult> {
  const [stdout, stderr] = [createCapture(), createCapture()];
  const stdin = options.input === undefined ? undefined : { text: options.input };
  const running = await startProgram(program, { stdout: stdout.add, stderr: stderr.add, stdin }).catch(
    (cause: unknown) => {
      throw startError(program, cause);
    },
  );
  const { code } = await running.wait(options);
  return { stdout: stdout.text(), stderr: stderr.text(), code };
}

function createCapture(): { readonly add: (chunk: Buffer) => void; readonly text: () => string } {
  const chunks: Buffer[] = [];
  let size = 0;
  return {
    add: (chunk) => {
      if (size < MOST_OUTPUT) chunks.push(chunk);
      size += chunk.length;
    },
    text: () => Buffer.concat(chunks).toString("utf8"),
  };
}

/**
 * Runs a program on Portolan's own terminal, so that the user can answer its prompts. Returns the exit code; null
 * if a signal ended the program.
 */
export async function runAttached(
  spawnable: Spawnable,
  { timeoutMs, signal }: Parameters<RunProgram>[1],
): Promise<number | null> {
  const { file, args, env, cwd, fds } = spawnable;
  const late = AbortSignal.timeout(timeoutMs);
  const stop = signal === undefined ? late : AbortSignal.any([signal, late]);
  let kill: NodeJS.Timeout | undefined;
  // The program stays in Portolan's process group, so that Ctrl-C reaches both.
  const child = spawn(file, args, { cwd, env, stdio: stdioOf("inherit", "inherit", "inherit", ...fds) });
  const end = (): void => {
    if (spawnable.terminate?.(child) !== true) child.kill("SIGTERM");
    kill = setTimeout(() => child.kill("SIGKILL"), TERM_GRACE_MS);
  };
  stop.addEventListener("abort", end, { once: true });
  try {
    return await new Promise<number | null>((resolve, reject) => {
      child.once("error", (cause) => reject(startError(spawnable, cause)));
      child.once("exit", resolve);
      spawnable.spawned();
    });
  } finally {
    clearTimeout(kill);
    stop.removeEventListener("abort", end);
    spawnable.ended();
  }
}

export interface BackgroundProgram {
  readonly pid: number;
  /** Resolves with the exit code when it has ended; null after a signal. */
  readonly ended: Promise<number | null>;
  /** Sends SIGTERM, and after `graceMs` SIGKILL to the process group. Returns true if the program has ended. */
  stop(graceMs: number): Promise<boolean>;
  /** Lets this process end before it. */
  release(): void;
}

/** Starts a program in a session of its own. Its output goes to the file descriptor. Throws if it cannot be started. */
export function startBackground(
  { file, args, env, cwd }: Pick<Program, "file" | "args"> & { env: NodeJS.ProcessEnv; cwd: string },
  output: number,
): Promise<BackgroundProgram> {
  return new Promise((resolve, reject) => {
    const child = spawn(file, args, {
      ...{ env, cwd, detached: true, windowsHide: true },
      stdio: ["ignore", output, output],
    });
    const ended = new Promise<number | null>((exited) => void child.once("exit", (code) => exited(code)));
    const stop = async (graceMs: number): Promise<boolean> => {
      const isOver = (ms: number): Promise<boolean> =>
        Promise.race([ended.then(() => true), delay(ms, false, { ref: false })]);
      const kill = (): void => {
        try {
          if (process.platform === "win32") child.kill("SIGKILL");
          else process.kill(-(child.pid ?? 0), "SIGKILL");
        } catch {
          // It has ended since.
        }
      };
      // A second Ctrl-C ends this process while it waits.
      const release = atExit(kill);
      try {
        child.kill("SIGTERM");
        if (await isOver(graceMs)) return true;
        // A program that is busy in a system call never handles SIGTERM.
        kill();
        return await isOver(KILL_MS);
      } finally {
        release();
      }
    };
    child.once("error", reject);
    child.once("spawn", () => resolve({ pid: child.pid ?? 0, ended, stop, release: () => child.unref() }));
  });
}

/**
 * Starts a program that may outlive this process, and does not wait for it. It is spawned at once, also while this
 * process exits. Resolves with false if it cannot be started.
 */
export function startDetached({
  file,
  args,
  env,
}: Pick<Program, "file" | "args"> & Partial<Pick<Program, "env">>): Promise<boolean> {
  return new Promise<boolean>((resolve, reject) => {
    const stdio = stdioOf("ignore", "ignore", "ignore");
    const child = spawn(file, args, { env, stdio, detached: true, windowsHide: true });
    child.once("error", reject).once("spawn", () => resolve(true));
    child.unref();
  }).catch(() => false);
}
