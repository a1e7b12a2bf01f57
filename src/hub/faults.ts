// What went wrong with one server: its last error and its last words, without secrets, and how that is told.

import { PortolanError, toPortolanError } from "../errors/index.ts";
import { type Redactor, withRedactedError } from "../secrets/index.ts";

const STDERR_CHARS = 4_096;
const REASON_CHARS = 200;

/** Errors that say nothing about the server's health. */
const ABOUT_THE_CALL: ReadonlySet<string> = new Set([
  "CANCELLED",
  "CONNECTION_CLOSED",
  "FORBIDDEN",
  "INPUT_INVALID",
  "PROMPT_NOT_FOUND",
  "RESOURCE_NOT_FOUND",
  "RPC_ERROR",
  "SANDBOX_DENIED",
  "TOOL_NOT_FOUND",
]);

/** What does not go away by trying again. */
const BLOCKING: ReadonlySet<string> = new Set([
  "PLATFORM_UNSUPPORTED",
  "SANDBOX_UNAVAILABLE",
  "SECRET_MISSING",
  "SECRET_STORE_FAILED",
  "VERSION_MISMATCH",
]);

/** Where the reason is likely to be what the server wrote last. */
const OF_A_PROCESS: ReadonlySet<string> = new Set(["SERVER_CRASHED", "SERVER_START_FAILED"]);

/** `permanent`: for instance a package that its registry does not have. */
export function isBlocking({ code, data }: PortolanError): boolean {
  return BLOCKING.has(code) || data.permanent === true;
}

export class Faults {
  /** The last that says something about the server itself. */
  last: PortolanError | undefined;
  /** The end of what it wrote there. */
  stderr = "";
  readonly #alias: string;
  readonly #redactor: Redactor;

  constructor(alias: string, redactor: Redactor) {
    this.#alias = alias;
    this.#redactor = redactor;
  }

  wrote(text: string): void {
    // Redacted after joining: a secret may come in two pieces.
    this.stderr = this.#redactor.redactText(this.stderr + text).slice(-STDERR_CHARS);
  }

  /** The error with its place and without secrets; remembered when it says something about the server. */
  note(thrown: unknown): PortolanError {
    const error = withRedactedError(toPortolanError(thrown, { server: this.#alias }), this.#redactor);
    if (!ABOUT_THE_CALL.has(error.code)) this.last = error;
    return error;
  }

  /** Why the server cannot be used, to whoever wants to. */
  unavailable(): PortolanError {
    const { last } = this;
    if (last !== undefined && isBlocking(last)) return last;
    return new PortolanError(
      "SERVER_UNAVAILABLE",
      `${this.#alias} is not running${last === undefined ? "" : `: ${last.message}`}`,
      {
        server: this.#alias,
        stderr: last?.stderr,
        hint: last?.hint,
        cause: last,
      },
    );
  }

  /** The last one as an event tells it. */
  reason(): { code?: PortolanError["code"]; reason?: string } {
    const error = this.last;
    if (error === undefined) return {};
    const lastWords = OF_A_PROCESS.has(error.code) ? (this.stderr.trim().split("\n").at(-1) ?? "") : "";
    return {
      code: error.code,
      reason: lastWords === "" ? error.message : `${error.message}: ${lastWords.slice(0, REASON_CHARS)}`,
    };
  }
}
