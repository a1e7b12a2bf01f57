// PortolanError, the only error class: a stable code, the server and tool, the message, and a hint. Errors of the operating system
// that are faults of the machine become one.

import { ERROR_CODES, type ErrorCode } from "./codes.ts";

export interface ErrorPlace {
  /** Name of the server: its alias, or its command or URL. */
  readonly server?: string;
  readonly tool?: string;
  /** Next step for the user, if it differs from the hint of the code. */
  readonly hint?: string;
  /** The last lines that the server wrote to stderr. */
  readonly stderr?: string;
  /** Facts for programs, such as an exit code, an HTTP status or a JSON-RPC error. */
  readonly data?: Readonly<Record<string, unknown>>;
  readonly cause?: unknown;
}

const BRAND = Symbol.for("portolan.error");

/** The one error class: a stable code, the place of the failure, and a hint with the next step. */
export class PortolanError extends Error {
  override readonly name = "PortolanError";
  readonly code: ErrorCode;
  readonly server: string | undefined;
  readonly tool: string | undefined;
  readonly hint: string;
  readonly stderr: string | undefined;
  readonly data: Readonly<Record<string, unknown>>;

  constructor(code: ErrorCode, message: string, place: ErrorPlace = {}) {
    super(message, place.cause === undefined ? undefined : { cause: place.cause });
    this.code = code;
    this.server = place.server;
    this.tool = place.tool;
    this.hint = place.hint ?? ERROR_CODES[code].hint;
    this.stderr = place.stderr;
    this.data = place.data ?? {};
    Object.defineProperty(this, BRAND, { value: true });
  }

  /** Returns the JSON that `--json` prints. */
  toJSON(): Record<string, unknown> {
    return {
      code: this.code,
      message: this.message,
      ...(this.server === undefined ? {} : { server: this.server }),
      ...(this.tool === undefined ? {} : { tool: this.tool }),
      hint: this.hint,
      ...(Object.keys(this.data).length === 0 ? {} : { data: this.data }),
      ...(this.stderr ? { stderr: this.stderr } : {}),
    };
  }

  /** Returns the message, the hint, and the last lines of the server's stderr, so that `String(error)` loses none of them. */
  override toString(): string {
    const hint = this.hint === "" ? "" : `\nHint: ${this.hint}`;
    const stderr = this.stderr ? `\nThe last output of the server:\n${this.stderr.trimEnd()}` : "";
    return `${this.name}: ${this.message}${hint}${stderr}`;
  }

  /** Returns the same error with server and tool filled in where they were unknown. */
  at(place: Pick<ErrorPlace, "server" | "tool">): PortolanError {
    if ((this.server ?? place.server) === this.server && (this.tool ?? place.tool) === this.tool) return this;
    return changedError(this, { server: this.server ?? place.server, tool: this.tool ?? place.tool });
  }
}

/** Returns a copy of the error with some fields changed. */
export function changedError(
  error: PortolanError,
  changes: ErrorPlace & { readonly message?: string },
): PortolanError {
  const { code, server, tool, hint, stderr, data, cause, stack } = error;
  const { message = error.message, ...others } = changes;
  const changed = new PortolanError(code, message, { server, tool, hint, stderr, data, cause, ...others });
  if (stack !== undefined) changed.stack = stack;
  return changed;
}

/** Returns the error as one of `server`, for an error of a process that several servers share. */
export function renamedError(error: PortolanError, server: string): PortolanError {
  const { server: other } = error;
  if (other === undefined || other === server) return error;
  const name = other.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&");
  // The word after "portolan" is a command, which may have the name of a server.
  const pattern = new RegExp(`(?<=^|[\\s"'])(?<!portolan )${name}(?=[\\s:;"',.]|$)`, "g");
  const renamed = (text: string): string => text.replaceAll(pattern, () => server);
  return changedError(error, {
    ...{ message: renamed(error.message), hint: renamed(error.hint), server },
    data: withLoginAt(error.data, other, server),
  });
}

/** A login that repairs the error is one at the server that was called. */
function withLoginAt(data: PortolanError["data"], other: string, server: string): PortolanError["data"] {
  const { login } = data;
  const isOther = typeof login === "object" && login !== null && "server" in login && login.server === other;
  return isOther ? { ...data, login: { ...login, server } } : data;
}

/**
 * Tests whether a value is a PortolanError, also one of another copy of this package.
 *
 * @example
 * ```ts
 * import { connectMcp, isPortolanError } from "portolan";
 *
 * const failed = await connectMcp({ transport: "stdio", command: "no-such-program" }).catch((error: unknown) => error);
 * if (isPortolanError(failed)) console.log(failed.code, failed.hint);
 * ```
 */
export function isPortolanError(value: unknown): value is PortolanError {
  return typeof value === "object" && value !== null && BRAND in value;
}

/** Converts anything thrown to a PortolanError. Faults of the machine become FILE_FAILED, unknown errors INTERNAL with their cause. */
export function toPortolanError(thrown: unknown, place: ErrorPlace = {}): PortolanError {
  if (isPortolanError(thrown)) return thrown.at(place);
  const message = thrown instanceof Error ? thrown.message : String(thrown);
  const fault = machineFault(thrown);
  if (fault === undefined) return new PortolanError("INTERNAL", message, { ...place, cause: thrown });
  return new PortolanError("FILE_FAILED", `${fault.what}: ${message}`, {
    hint: fault.hint,
    ...place,
    cause: thrown,
  });
}

interface MachineFault {
  readonly what: string;
  readonly hint: string;
}

const FAULTS: Readonly<Record<string, MachineFault>> = {
  EMFILE: {
    what: "this process has too many open files",
    hint: "Raise the hard limit of open files (ulimit -Hn shows it), or run fewer servers.",
  },
  ENFILE: { what: "this machine has too many open files", hint: "End other programs, and try again." },
  ENOSPC: { what: "the disk is full", hint: "Free some disk space, and try again." },
  EDQUOT: { what: "your quota on the disk is used up", hint: "Free some disk space, and try again." },
  EROFS: {
    what: "the disk is read-only",
    hint: "Make the disk writable. On Linux, XDG_DATA_HOME sets another folder for Portolan's data.",
  },
  LOCK_HELD: {
    what: "another process uses the file",
    hint: "Wait until that process has finished, and try again. If it ended on another machine or in another container, try again after a minute: Portolan then removes its lock.",
  },
  ENOMEM: { what: "there is not enough memory", hint: "End other programs, and try again." },
};

/** Returns undefined for all other errors. */
export function machineFault(thrown: unknown): MachineFault | undefined {
  const code = (thrown as { code?: unknown } | null | undefined)?.code;
  return typeof code === "string" && Object.hasOwn(FAULTS, code) ? FAULTS[code] : undefined;
}
