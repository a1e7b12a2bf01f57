// Runs a command to its end in a server's sandbox: a login, a health check, a token refresh.

import { runAttached, runProgram, type RunResult } from "../process/index.ts";
import { type LaunchRequest, prepare } from "./prepare.ts";

interface RunCommandOptions {
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  /** Gives the command Portolan's own terminal, so that the user can answer its prompts. */
  readonly terminal: boolean;
}

export async function runCommand(
  request: LaunchRequest,
  { timeoutMs, signal, terminal }: RunCommandOptions,
): Promise<RunResult> {
  signal.throwIfAborted();
  const { spawnable } = await prepare({ ...request, signal });
  if (signal.aborted) {
    spawnable.spawned(false);
    spawnable.ended();
    signal.throwIfAborted();
  }
  return terminal
    ? { code: await runAttached(spawnable, { timeoutMs, signal }), stdout: "", stderr: "" }
    : runProgram(spawnable, { timeoutMs, signal });
}
