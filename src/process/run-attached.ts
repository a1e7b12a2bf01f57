// Runs a program to its end on Portolan's own terminal, so that the user can answer its prompts.

import { spawn } from "node:child_process";
import { PortolanError } from "../errors/index.ts";
import type { RunOptions } from "./run.ts";
import { stdioOf } from "./stdio.ts";
import type { Spawnable } from "./types.ts";

/** Time between SIGTERM and SIGKILL. */
const GRACE_MS = 2_000;

/** The exit code; null if a signal ended the program. */
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
