// End of a process in words, and the line of its stderr that explains it.

import { constants } from "node:os";
import { isCrashTrailer } from "../base/text/crash-line.ts";

/** The sandbox and shells report the signal that ended a program as 128 plus its number. Programs use other codes above 128 themselves. */
const ENDING = ["SIGILL", "SIGTRAP", "SIGABRT", "SIGBUS", "SIGFPE", "SIGKILL", "SIGSEGV", "SIGTERM"] as const;

export interface ExitFacts {
  readonly code?: unknown;
  readonly signal?: unknown;
}

/** The signal that ended the program, if one did. */
export function endingSignal({ code, signal }: ExitFacts): string | undefined {
  if (typeof signal === "string") return signal;
  return ENDING.find((name) => typeof code === "number" && code === 128 + constants.signals[name]);
}

export function describeExit({ code, signal }: ExitFacts): string {
  const by = endingSignal({ code, signal });
  if (by === undefined) return `exited with code ${String(code)}`;
  return signal === by ? `was ended by ${by}` : `was ended by ${by} (exit code ${String(code)})`;
}

const ERROR_LINE = /^(?:Uncaught )?[\w.]*(?:Error|Exception)\b.{0,100}?: ?\S/;

const NPM = /^npm (?:error|ERR!|warn|WARN)/;
/** npm prints facts before the reason of its failure, and the path of its log after it. */
const NPM_REASON =
  /^npm (?:error|ERR!) (?!A complete log|(?:code|path|errno|syscall|command|cwd|workspace|location) )\S/;

/**
 * The line of stderr that explains the end of a program: its last error, or else its last line. Of npm's own lines, it is the first
 * one with a reason. Undefined if a signal ended the program, because its last output is about something else then.
 */
export function explainingLine(stderr: string, exit: ExitFacts): string | undefined {
  if (endingSignal(exit) !== undefined) return undefined;
  const lines = stderr.split("\n").map((line) => line.trimEnd());
  const line =
    lines.findLast((line) => ERROR_LINE.test(line)) ??
    lines.findLast((line) => !isCrashTrailer(line) && !NPM.test(line)) ??
    lines.find((line) => NPM_REASON.test(line)) ??
    lines.findLast((line) => !isCrashTrailer(line));
  // Some programs write the reason into the next line: "Transform failed with 1 error:".
  const next = line?.endsWith(":") === true ? lines[lines.lastIndexOf(line) + 1]?.trim() : undefined;
  return next ? `${line} ${next}` : line;
}
