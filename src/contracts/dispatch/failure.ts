// Failures of contract calls: converts every thrown error to one of the error codes of contracts, and these to the error codes of the
// library.

import {
  ERROR_CODES,
  type ErrorCode,
  isPortolanError,
  MAY_HAVE_RUN,
  NOT_MADE,
  PortolanError,
  toPortolanError,
} from "../../errors/index.ts";
import type { DriverError, DriverErrorCode } from "../../model/index.ts";
import type { Dispatched } from "./contract-call.ts";

/** Thrown inside of this room; `dispatch` converts it to a result. */
export class Failure extends Error {
  readonly error: DriverError;
  /** The request cannot have reached the server, so that it may be sent again. */
  readonly neverSent: boolean;

  constructor(error: DriverError, neverSent = false) {
    super(error.message, error.cause === undefined ? undefined : { cause: error.cause });
    this.error = error;
    this.neverSent = neverSent;
  }
}

export function fail(
  code: DriverErrorCode,
  message: string,
  more: Omit<DriverError, "code" | "message"> = {},
): Failure {
  return new Failure({ code, message, ...more });
}

/** The failure of a function in the code of a driver. An error of Portolan says what it means itself. */
export function hookFailed(hook: string, driver: string, thrown: unknown): Failure {
  if (isPortolanError(thrown)) return toFailure(thrown);
  const reason = thrown instanceof Error ? thrown.message : String(thrown);
  const message = `${hook} in the code of the driver ${driver} failed${placeOf(thrown)}: ${reason}`;
  const hint = "Correct the function; the stack is in the cause of the error.";
  const cause = new PortolanError("CALLBACK_FAILED", message, { server: driver, cause: thrown, hint });
  return fail("internal", message, { cause, retryable: false });
}

/** File and line of the exception, such as ` at driver.ts:8`. */
function placeOf(thrown: unknown): string {
  const frame = thrown instanceof Error ? /\n\s+at .*/.exec(thrown.stack ?? "")?.[0] : undefined;
  const [, file, line] = /([^/\\\s(]+\.[cm]?[jt]s)(?:\?[^:)]*)?:(\d+):\d+\)?$/.exec(frame ?? "") ?? [];
  return file === undefined ? "" : ` at ${file}:${line}`;
}

/** Converts any thrown value to a failure. */
export function toFailure(thrown: unknown): Failure {
  if (thrown instanceof Failure) return thrown;
  const error = toPortolanError(thrown);
  const { code, retryable } = codeOf(error);
  const neverSent = error.data.neverRan === true || BEFORE_SENDING.has(error.code);
  // The command for a login is the answer to this failure, so that it belongs to the message.
  const isLogin = error.code === "AUTH_REQUIRED" && error.data.login !== undefined;
  const message = isLogin ? `${error.message}. ${error.hint}` : error.message;
  return new Failure({ code, message, retryable, cause: error }, neverSent);
}

/** The result of a call that failed: by default, of one that could not be made at all. */
export function failedCall(
  thrown: unknown,
  started = performance.now(),
  driver?: string,
  neverRan = true,
): Dispatched {
  const { error } = toFailure(thrown);
  const result = { ok: false as const, error, ms: performance.now() - started };
  return neverRan ? { result, driver, neverRan } : { result, driver };
}

/** The error code of the library that means the same as a code of contracts. */
export const ERROR_CODE_OF: Readonly<Record<string, ErrorCode>> = {
  auth_required: "AUTH_REQUIRED",
  auth_failed: "AUTH_REQUIRED",
  unauthorised: "FORBIDDEN",
  policy_violation: "FORBIDDEN",
  install_failed: "INSTALL_FAILED",
  version_mismatch: "VERSION_MISMATCH",
  rate_limited: "RATE_LIMITED",
  timeout: "TIMEOUT",
  cancelled: "CANCELLED",
  input_invalid: "INPUT_INVALID",
  input_unsupported: "INPUT_INVALID",
  not_found: "TOOL_NOT_FOUND",
  no_route: "SERVER_UNAVAILABLE",
  tool_unavailable: "SERVER_UNAVAILABLE",
  pinned_provider_unavailable: "SERVER_UNAVAILABLE",
  region_mismatch: "SERVER_UNAVAILABLE",
  output_parse_failed: "OUTPUT_INVALID",
};

/** These codes promise that the tool did not run. */
const NOT_RUN: ReadonlySet<ErrorCode> = new Set(["INPUT_INVALID", "TOOL_NOT_FOUND", "SERVER_UNAVAILABLE"]);

/** The code and the hint of the library for a failed contract call, and the output of a server that crashed. */
export function libraryErrorOf(
  { code, cause }: DriverError,
  neverRan: boolean,
): Pick<PortolanError, "code" | "hint" | "stderr"> {
  // A hook of a driver may return an error whose cause has another meaning.
  const own = isPortolanError(cause) && codeOf(cause).code === code ? cause : undefined;
  const same = own?.code ?? ERROR_CODE_OF[code] ?? "TOOL_FAILED";
  // An earlier attempt, or a hook that checks the result of the tool: the call may have run.
  if (!neverRan && NOT_RUN.has(same)) return { code: "TOOL_FAILED", hint: MAY_HAVE_RUN, stderr: own?.stderr };
  const usual = neverRan && same !== "INPUT_INVALID" ? NOT_MADE : ERROR_CODES[same].hint;
  const isFalse = neverRan ? own?.hint.includes(MAY_HAVE_RUN) : own?.data.neverRan;
  return { code: same, hint: isFalse === true ? usual : (own?.hint ?? usual), stderr: own?.stderr };
}

const BEFORE_SENDING: ReadonlySet<string> = new Set([
  "SERVER_START_FAILED",
  "SERVER_UNAVAILABLE",
  "SERVER_DISABLED",
  "BUSY",
  "RATE_LIMITED",
]);

function codeOf(error: PortolanError): { code: DriverErrorCode; retryable: boolean } {
  const status = Number(error.data.status);
  switch (error.code) {
    case "TIMEOUT":
      return { code: "timeout", retryable: true };
    case "CANCELLED":
      return { code: "cancelled", retryable: false };
    case "AUTH_REQUIRED":
    case "SECRET_MISSING":
      return { code: "auth_required", retryable: false };
    case "FORBIDDEN":
      return { code: status === 403 ? "auth_required" : "unauthorised", retryable: false };
    case "RATE_LIMITED":
      return { code: "rate_limited", retryable: true };
    case "INSTALL_FAILED":
    case "PACKAGE_NOT_FOUND":
      return { code: "install_failed", retryable: false };
    case "VERSION_MISMATCH":
      return { code: "version_mismatch", retryable: false };
    case "TOOL_NOT_FOUND":
    case "SERVER_START_FAILED":
    case "SERVER_UNAVAILABLE":
    case "SERVER_DISABLED":
    case "SERVER_UNKNOWN":
    case "SANDBOX_UNAVAILABLE":
    case "CONFIG_INVALID":
    case "PLATFORM_UNSUPPORTED":
    case "CONNECTION_CLOSED":
      return { code: "tool_unavailable", retryable: error.code === "SERVER_UNAVAILABLE" };
    case "SANDBOX_DENIED":
      return { code: "policy_violation", retryable: false };
    case "HTTP_ERROR":
      return httpCode(status);
    case "CONNECTION_LOST":
    case "SERVER_CRASHED":
    case "SESSION_LOST":
    case "BUSY":
      return { code: "upstream_error", retryable: true };
    case "CALLBACK_FAILED":
    case "INTERNAL":
      return { code: "internal", retryable: false };
    default:
      return { code: "upstream_error", retryable: false };
  }
}

function httpCode(status: number): { code: DriverErrorCode; retryable: boolean } {
  if (status === 401 || status === 403) return { code: "auth_required", retryable: false };
  if (status === 429) return { code: "rate_limited", retryable: true };
  return { code: "upstream_error", retryable: status >= 500 };
}
