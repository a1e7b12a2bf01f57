// Runs a program to its end: with its output captured, or on Portolan's own terminal.

import { spawn } from "node:child_process";
import { PortolanError } from "../errors/index.ts";
import { stdioOf } from "./stdio.ts";
import type { Program, Spawnable } from "./types.ts";

export interface RunResult {
  readonly stdout: string;
  readonly stderr: string;
  readonly code: number | null;
}

export interface RunOptions {
  readonly timeoutMs: number;
  readonly signal?: AbortSignal;
}

/** Runs a program to its end. The caller decides where, and in which sandbox. */
export type RunProgram = (program: Program, options: RunOptions) => Promise<RunResult>;

const MOST_OUTPUT = 64 * 1024;

/** The part of a Spawnable that a sandbox needs to release. */
type Opened = Partial<Pick<Spawnable, "fds" | "spawned" | "ended">>;

/** Resolves with the output, cut off at a bound; the time limit kills the program. */
export function runProgram(program: Program & Opened, { timeoutMs, signal }: RunOptions): Promise<RunResult> {
  const { file, args, env, cwd, fds = [] } = program;
  return new Promise<RunResult>((resolve, reject) => {
    const grouped = process.platform !== "win32";
    const child = spawn(file, args, {
      cwd,
      env,
      stdio: stdioOf("ignore", "pipe", "pipe", ...fds),
      windowsHide: true,
      detached: grouped,
    });
    program.spawned?.();
    const texts = { stdout: "", stderr: "" };
    for (const name of ["stdout", "stderr"] as const)
      child[name]?.on("data", (chunk: Buffer) => {
        if (texts[name].length < MOST_OUTPUT) texts[name] += chunk.toString("utf8");
      });
    const kill = (): void => {
      try {
        if (grouped && child.pid !== undefined) process.kill(-child.pid, "SIGKILL");
        else child.kill("SIGKILL");
      } catch {
        // The process has ended.
      }
      // A survivor outside of the group may keep the pipes open.
      child.stdout?.destroy();
      child.stderr?.destroy();
    };
    const timer = setTimeout(kill, timeoutMs);
    signal?.addEventListener("abort", kill, { once: true });
    child.once("error", (cause) => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", kill);
      reject(
        new PortolanError("SERVER_START_FAILED", `cannot start "${file}": ${cause.message}`, {
          cause,
          data: { command: file, reason: (cause as NodeJS.ErrnoException).code ?? "unknown" },
        }),
      );
    });
    child.once("close", (code) => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", kill);
      if (signal?.aborted === true) reject(signal.reason as Error);
      else resolve({ ...texts, code });
    });
  }).finally(() => program.ended?.());
}

/** Time between SIGTERM and SIGKILL. */
const GRACE_MS = 2_000;

/**
 * Runs a program on Portolan's own terminal, so that the user can answer its prompts. Returns The exit code; null
 * if a signal ended the program.
 */
export async function runAttached(
  spawnable: Spawnable,
  { timeoutMs, signal }: RunOptions,
): Promise<number | null> {
  const { file, args, env, cwd, fds } = spawnable;
  const late = AbortSignal.timeout(timeoutMs);
  const stop = signal === undefined ? late : AbortSignal.any([signal, late]);
  let kill: NodeJS.Timeout | undefined;
  // The program stays in Portolan's process group, so that Ctrl-C reaches both.
  const child = spawn(file, args, { cwd, env, stdio: stdioOf("inherit", "inherit", "inherit", ...fds) });
  const end = (): void => {
    if (spawnable.terminate?.(child) !== true) child.kill("SIGTERM");
    kill = setTimeout(() => child.kill("SIGKILL"), GRACE_MS);
  };
  stop.addEventListener("abort", end, { once: true });
  try {
    return await new Promise<number | null>((resolve, reject) => {
      child.once("error", (cause) =>
        reject(
          new PortolanError("SERVER_START_FAILED", `cannot start "${file}": ${cause.message}`, {
            cause,
            data: { command: file },
          }),
        ),
      );
      child.once("exit", resolve);
      spawnable.spawned();
    });
  } finally {
    clearTimeout(kill);
    stop.removeEventListener("abort", end);
    spawnable.ended();
  }
}
