// A command that comes to an end by itself, in the box of whoever it is run for: a login, a check, a refresh.

import { runAttached, runPlain, type RunResult } from "../process/index.ts";
import { type LaunchRequest, prepare } from "./prepare.ts";

interface RunCommandOptions {
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  /** It gets this program's own terminal, so that somebody can answer it. */
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
    : runPlain(spawnable, { timeoutMs, signal });
}
