// Last error and stderr output of one server, redacted.

import { renamedError, type PortolanError, toPortolanError } from "../../errors/index.ts";
import { explainingLine } from "../../process/index.ts";
import { type Redactor, withRedactedError } from "../../secrets/index.ts";

const STDERR_CHARS = 4_096;
const REASON_CHARS = 200;

/** Errors about one call, not about the server. */
const ABOUT_THE_CALL: ReadonlySet<string> = new Set([
  "CANCELLED",
  "CONNECTION_CLOSED",
  "FORBIDDEN",
  "INPUT_INVALID",
  "PROMPT_NOT_FOUND",
  "RESOURCE_NOT_FOUND",
  "RPC_ERROR",
  "SANDBOX_DENIED",
  // Its reason was remembered before.
  "SERVER_UNAVAILABLE",
  "TOOL_NOT_FOUND",
  "TOOL_WITHHELD",
]);

/** Errors whose reason is probably the last line of stderr. */
const OF_A_PROCESS: ReadonlySet<string> = new Set(["SERVER_CRASHED", "SERVER_START_FAILED"]);

export class LastError {
  /** The last error about the server itself. */
  error: PortolanError | undefined;
  /** The end of the stderr output since the last start. */
  stderr = "";
  /** The server name in the errors of the open session, which another alias may have opened. */
  sessionName: string | undefined;
  readonly #alias: string;
  readonly #redactor: Redactor;

  constructor(alias: string, redactor: Redactor) {
    this.#alias = alias;
    this.#redactor = redactor;
  }

  /** A process or session is opened: the output of an earlier one explains nothing about it. */
  begins(): void {
    this.stderr = "";
  }

  wrote(text: string): void {
    // Redacted after joining, because a secret may arrive in two pieces.
    this.stderr = endOf(this.#redactor.redactText(this.stderr + text));
  }

  /** The error with the alias of this server and without secrets. It is remembered if it is about the server. */
  note(thrown: unknown): PortolanError {
    const placed = this.#named(toPortolanError(thrown, { server: this.#alias }));
    const error = withRedactedError(placed, this.#redactor);
    // A server that answers 403 refuses Portolan's credential, not this call.
    if (!ABOUT_THE_CALL.has(error.code) || error.data.status === 403) this.error = error;
    return error;
  }

  /** The last error in the fields of an event. */
  reason(): { code?: PortolanError["code"]; reason?: string; hint?: string } {
    const error = this.error;
    if (error === undefined) return {};
    const exit = { code: error.data.exitCode, signal: error.data.signal };
    // A process that Portolan stopped because it did not answer says nothing about it on stderr.
    const isSilent = error.data.timeouts !== undefined;
    const line =
      OF_A_PROCESS.has(error.code) && !isSilent
        ? explainingLine(error.stderr || this.stderr, exit)?.slice(0, REASON_CHARS)
        : undefined;
    // The message of a failed start may contain the line already.
    const isNew = line !== undefined && !error.message.includes(line);
    return {
      code: error.code,
      reason: isNew ? `${error.message}: ${line}` : error.message,
      hint: error.hint,
    };
  }

  /** Replaces the server name in the errors of a shared session, which are those of its first user. */
  #named(error: PortolanError): PortolanError {
    return error.server === this.sessionName ? renamedError(error, this.#alias) : error;
  }
}

/** The last lines, without the part of a line that does not fit. */
function endOf(text: string): string {
  if (text.length <= STDERR_CHARS) return text;
  const end = text.slice(-STDERR_CHARS);
  const isWhole = text.at(-STDERR_CHARS - 1) === "\n";
  const next = end.indexOf("\n") + 1;
  return isWhole || next === end.length ? end : end.slice(next);
}
