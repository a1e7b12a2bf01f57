// Starts the program of a server definition, or another command in its sandbox. No other code of Portolan starts a
// server.

import type { ParsedProgram } from "../model/index.ts";
import { ChildGroup, runAttached, runProgram, type RunResult } from "../process/index.ts";
import {
  type LaunchRequest,
  parseProgramOf,
  planned,
  prepare,
  prepareProgram,
  resolveProgram,
} from "./prepare.ts";
import type { LaunchPlan } from "./types.ts";

export interface StartRequest extends LaunchRequest {
  readonly onStderr?: (text: string) => void;
}

export async function launch(request: StartRequest): Promise<ChildGroup> {
  const prepared = await prepare(request);
  const { spawnable } = prepared;
  request.onLaunch?.(planned(prepared, request.settings?.sandbox?.fs));
  const child = await ChildGroup.start(spawnable, request.server, request.onStderr);
  request.onLaunch?.({ type: "started", pid: child.pid });
  return child;
}

/**
 * Installs what is missing, so that the start that follows need not wait for it. Undefined if the program is never
 * installed.
 */
export function install(
  request: LaunchRequest,
  program: ParsedProgram = parseProgramOf(request),
): Promise<unknown> | undefined {
  if (program.kind === "package")
    return resolveProgram(request).then((found) => install(found.request, found.program));
  if (program.kind === "docker") return import("./image.ts").then(({ pull }) => pull(program, request));
  const fetched = program.kind === "npm" || (request.settings?.install?.length ?? 0) > 0;
  return fetched ? prepareProgram(request, program) : undefined;
}

/** The launch plan of a server, without starting it. */
export async function planLaunch(request: LaunchRequest): Promise<LaunchPlan> {
  const { plan, spawnable } = await prepare({ ...request, dryRun: true });
  spawnable.spawned(false);
  spawnable.ended();
  return plan;
}

interface RunCommandOptions {
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  /** Gives the command Portolan's own terminal, so that the user can answer its prompts. */
  readonly terminal: boolean;
  /** The standard input of a command without a terminal. */
  readonly input?: string;
}

/** Runs a command to its end in a server's sandbox: a login, a health check, a token refresh. */
export async function runCommand(
  request: LaunchRequest,
  { timeoutMs, signal, terminal, input }: RunCommandOptions,
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
    : runProgram(spawnable, { timeoutMs, signal, input });
}
