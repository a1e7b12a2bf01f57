// Runner of CLI invocations: runs the command within its limits and returns the outcome.

import { accessSync, constants, existsSync } from "node:fs";
import { isPortolanError } from "../../errors/index.ts";
import type { CliInvocation, JsonSchema } from "../../model/index.ts";
import { childEnvironment, type Ended, type RunningProgram, startProgram } from "../../process/index.ts";
import { withDeadline } from "../running-requests.ts";
import { replaceVariables } from "../env-references.ts";
import type { Outcome, Run, Runner } from "../types.ts";
import { sandboxCommand, type SandboxContext, type SandboxedCommand } from "./sandboxed.ts";
import { type BuiltCommand, createCommandBuilder, type Place } from "./command.ts";
import { CapturedOutput, OutputProgress } from "./captured-output.ts";

const TIMEOUT_MS = 60_000;
const MAX_BYTES = 1024 * 1024;

export interface CliPlace extends Place, SandboxContext {
  /** Called with every started command, so that closing the server can stop it. */
  readonly started: (running: RunningProgram) => void;
}

/** Throws when the invocation cannot be used. */
export function createCliRunner(given: CliInvocation, schema: JsonSchema, place: CliPlace): Runner {
  const { shell, sandbox, ...rest } = given;
  const invocation: CliInvocation = { ...replaceVariables(rest, place.env), shell, sandbox };
  const build = createCommandBuilder(invocation, schema, place);
  const timeoutMs = invocation.timeoutMs ?? TIMEOUT_MS;
  const maxBytes = invocation.maxOutputBytes ?? MAX_BYTES;
  return {
    async run(run) {
      const command = build(run);
      run.signal.throwIfAborted();
      const output = new Output(maxBytes, run);
      let running: RunningProgram;
      let sandboxed: SandboxedCommand | undefined;
      try {
        sandboxed = sandbox === undefined ? undefined : await sandboxCommand(command, invocation, place);
        running = await startProgram(
          sandboxed?.spawnable ?? {
            ...command,
            ...{ file: command.program, env: childEnvironment(command.env) },
          },
          { stdout: output.stdout, stderr: output.stderr, background: "kill" },
        );
      } catch (error) {
        return { failure: describeStartError(command, error), bytes: Buffer.alloc(0) };
      }
      place.started(running);
      try {
        const inTime = await withDeadline<Ended | undefined>(
          run.signal,
          timeoutMs,
          (signal) => untilEnded(running, signal),
          () => undefined,
        );
        // A command that ran out of time still returns the output that it wrote.
        const ended = output.toOutcome(
          inTime ?? (await running.stop()),
          inTime === undefined ? timeoutMs : undefined,
        );
        const outcome = sandboxed?.explain(ended, run) ?? ended;
        // A sandbox ends as a whole, so Portolan cannot see whether a process was left in it.
        return sandbox !== undefined && shell?.leavesBackground === true && inTime !== undefined
          ? { ...outcome, notes: [...(outcome.notes ?? []), SANDBOX_ENDED] }
          : outcome;
      } finally {
        output.lines.stop();
      }
    },
  };
}

/** Stops the command when the signal aborts, and rejects with the reason of the signal. */
function untilEnded(running: RunningProgram, signal: AbortSignal): Promise<Ended> {
  return new Promise((resolve, reject) => {
    const abort = (): void => {
      void running.stop();
      reject(signal.reason instanceof Error ? signal.reason : new Error("aborted"));
    };
    if (signal.aborted) return abort();
    signal.addEventListener("abort", abort, { once: true });
    void running.ended.then((ended) => {
      signal.removeEventListener("abort", abort);
      resolve(ended);
    });
  });
}

class Output {
  readonly lines: OutputProgress;
  readonly #stdout: CapturedOutput;
  readonly #stderr: CapturedOutput;

  constructor(maxBytes: number, { progress }: Run) {
    this.lines = new OutputProgress(progress);
    this.#stdout = new CapturedOutput(maxBytes);
    this.#stderr = new CapturedOutput(maxBytes);
  }

  readonly stdout = (chunk: Buffer): void => {
    this.#stdout.append(chunk);
    this.lines.append(chunk);
  };

  readonly stderr = (chunk: Buffer): void => {
    this.#stderr.append(chunk);
    this.lines.append(chunk);
  };

  toOutcome({ code, signal, killedOthers }: Ended, lateAfterMs: number | undefined): Outcome {
    const facts = {
      exitCode: code,
      ...(signal === null ? {} : { signal }),
      ...(lateAfterMs === undefined ? {} : { timedOut: true }),
    };
    return {
      failure: describeExit(code, signal, lateAfterMs),
      bytes: this.#stdout.bytes(),
      cut: this.#stdout.cut,
      stderr: this.#stderr.bytes().toString("utf8"),
      notes: killedOthers && lateAfterMs === undefined ? [KILLED_OTHERS] : undefined,
      meta: { "portolan/cli": facts },
    };
  }
}

const KILLED_OTHERS =
  "Note: the command left processes in the background, and Portolan stopped them when the command returned. A command must wait for the processes that it starts.";

const SANDBOX_ENDED =
  "Note: the command starts processes in the background and does not wait for them. They ended with the sandbox when the command returned.";

function describeExit(
  code: Ended["code"],
  signal: Ended["signal"],
  lateAfterMs: number | undefined,
): string | undefined {
  if (lateAfterMs !== undefined)
    return `The command took longer than ${lateAfterMs / 1_000} s and was stopped.`;
  if (signal !== null) return `The command was ended by ${signal}.`;
  return code === 0 ? undefined : `The command failed with exit code ${code}.`;
}

function describeStartError({ program, cwd }: BuiltCommand, error: unknown): string {
  if (isPortolanError(error)) return `The command cannot be started: ${error.message.replace(/\.$/, "")}.`;
  const code = (error as { code?: string }).code;
  if (code === "ENOENT" && !existsSync(cwd))
    return `The command cannot be started: there is no folder "${cwd}".`;
  if (code === "ENOENT") return `The command cannot be started: there is no program "${program}".`;
  if (code === "EACCES" && !canEnter(cwd))
    return `The command cannot be started: there is no permission to enter the folder "${cwd}".`;
  if (code === "EACCES") return `The command cannot be started: "${program}" is not executable.`;
  if (code === "E2BIG") return "The command cannot be started: its arguments are too long.";
  return `The command "${program}" cannot be started (${code ?? "unknown reason"}).`;
}

function canEnter(folder: string): boolean {
  try {
    accessSync(folder, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
