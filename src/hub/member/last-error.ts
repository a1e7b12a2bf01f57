// What went wrong with one server: its last error and its last words, without secrets, and how that is told.

import { PortolanError, toPortolanError } from "../../errors/index.ts";
import { type Redactor, withRedactedError } from "../../secrets/index.ts";

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

/** Where the reason is likely to be what the server wrote last. */
const OF_A_PROCESS: ReadonlySet<string> = new Set(["SERVER_CRASHED", "SERVER_START_FAILED"]);

export class Faults {
  /** The last that says something about the server itself. */
  last: PortolanError | undefined;
  /** The end of what it wrote there. */
  stderr = "";
  /** The name in the errors of the session that was opened last. */
  sessionName: string | undefined;
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
    const placed = this.#named(toPortolanError(thrown, { server: this.#alias }));
    const error = withRedactedError(placed, this.#redactor);
    if (!ABOUT_THE_CALL.has(error.code)) this.last = error;
    return error;
  }

  /** The last one as an event tells it. */
  reason(): { code?: PortolanError["code"]; reason?: string } {
    const error = this.last;
    if (error === undefined) return {};
    // The last output of a process that a signal killed does not explain its end.
    const isOwnEnd = OF_A_PROCESS.has(error.code) && typeof error.data.signal !== "string";
    const lastWords = isOwnEnd ? (this.stderr.trim().split("\n").at(-1) ?? "") : "";
    return {
      code: error.code,
      reason: lastWords === "" ? error.message : `${error.message}: ${lastWords.slice(0, REASON_CHARS)}`,
    };
  }

  /** A session that several servers share has the name of the first one in its errors. */
  #named(error: PortolanError): PortolanError {
    const { server } = error;
    const [alias, other] = [this.#alias, this.sessionName];
    if (other === undefined || other === alias || server !== other) return error;
    const { code, tool, hint, stderr, data, cause, stack } = error;
    const message = error.message.replace(
      new RegExp(`(^|[\\s"'])${escapeRegExp(other)}(?=[\\s:"',.]|$)`, "g"),
      `$1${alias}`,
    );
    const named = new PortolanError(code, message, { server: alias, tool, hint, stderr, data, cause });
    if (stack !== undefined) named.stack = stack;
    return named;
  }
}

function escapeRegExp(text: string): string {
  return text.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&");
}
