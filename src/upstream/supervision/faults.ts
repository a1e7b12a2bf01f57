// Error rules of a server's lifecycle: errors that block it, errors that count as failures, repeatable requests.

import {
  changedError,
  ERROR_CODES,
  isPortolanError,
  PortolanError,
  renamedError,
} from "../../errors/index.ts";
import type { Call } from "../upstream.ts";
import type { Fault } from "./instance.ts";

/** Errors that do not go away by trying again soon. */
const BLOCKING: ReadonlySet<string> = new Set([
  "PLATFORM_UNSUPPORTED",
  "SANDBOX_UNAVAILABLE",
  "SECRET_MISSING",
  "SECRET_STORE_FAILED",
  "VERSION_MISMATCH",
]);

/** Requests that change nothing, so that they may be repeated when it is not known whether they arrived. */
const HARMLESS = new Set([
  "completion/complete",
  "logging/setLevel",
  "ping",
  "prompts/get",
  "prompts/list",
  "resources/list",
  "resources/read",
  "resources/subscribe",
  "resources/templates/list",
  "resources/unsubscribe",
  "server/discover",
  "tools/list",
]);

/** `permanent`: for instance a package that its registry does not have. */
export function isBlocking({ code, data }: PortolanError): boolean {
  return BLOCKING.has(code) || data.permanent === true;
}

export function toFault(error: PortolanError): Fault {
  return { kind: isBlocking(error) ? "blocking" : "transient", error };
}

/** True for failures of the server, as opposed to failures of one request. */
export function isServerFailure({ code, data }: PortolanError): boolean {
  if (code === "HTTP_ERROR") return Number(data.status) >= 500;
  return code === "CONNECTION_LOST" || code === "SERVER_CRASHED";
}

export function mayRepeat({ data }: PortolanError, call: Call): boolean {
  // Such a caller may have another use for a call that was never sent.
  if (call.repeats === false) return false;
  return call.repeatable === true || HARMLESS.has(call.method) || data.neverRan === true;
}

/** True when a request that failed in one process may be sent to another one. */
export function mayRepeatElsewhere(thrown: unknown, call: Call): boolean {
  // A call that waited too long for one process has no time left for another one.
  if (!isPortolanError(thrown) || thrown.code === "TIMEOUT") return false;
  return (isServerFailure(thrown) || thrown.data.neverRan === true) && mayRepeat(thrown, call);
}

export function closedError(server: string): PortolanError {
  return new PortolanError("CONNECTION_CLOSED", `the connection to ${server} is closed`, { server });
}

/** The error of a call that arrived when the instance had stopped. */
export function neverSentError(server: string): PortolanError {
  return new PortolanError("CONNECTION_CLOSED", `the call was not sent: Portolan has stopped ${server}`, {
    server,
    hint: "If Portolan still runs, call again.",
    data: { neverRan: true },
  });
}

/** The error of a call that failed for good. If it was not sent, its code says so. */
export function finalError(error: PortolanError, server: string): PortolanError {
  if (error.data.neverRan !== true || !isServerFailure(error)) return error;
  const named = renamedError(error, server);
  const { tool, stderr, data } = named;
  // The usual hint of these codes is about a call that was sent.
  const hint = named.hint === ERROR_CODES[named.code].hint ? "Call again." : named.hint;
  return new PortolanError("SERVER_UNAVAILABLE", `${server} is not available: ${named.message}`, {
    ...{ server, tool, stderr, data, hint, cause: named },
  });
}

/** The error of a call whose time ended before the server had started. `fault` is why Portolan starts it again. */
export function lateStartError(late: PortolanError, server: string, fault: Fault | undefined): PortolanError {
  if (fault === undefined) return late;
  const last = renamedError(fault.error, server);
  const failed = last.code === "SERVER_CRASHED" ? "crashed" : "failed";
  // The hint of a lost server begins with advice about the call that it interrupted; this call was not sent.
  const ofCall = ERROR_CODES[last.code].hint;
  const more = last.hint.startsWith(ofCall) ? last.hint.slice(ofCall.length).trim() : last.hint;
  return changedError(late, {
    message: `${server}: the call was not sent: the server ${failed} (${last.message}), and Portolan was still restarting it after ${String(late.data.timeoutMs)} ms`,
    stderr: last.stderr,
    hint: `${more} Call again when the server has started.`.trimStart(),
    cause: last,
  });
}

/** The error of a call that was not sent. `retryMs` is the time until the next attempt to start the server. */
export function unavailableError(server: string, fault: Fault | undefined, retryMs: number): PortolanError {
  const last = fault === undefined ? undefined : renamedError(fault.error, server);
  if (last !== undefined && fault?.kind === "blocking") return last;
  const data = { retryAfterMs: Math.max(0, Math.round(retryMs)) };
  // A login repairs it, so that the call fails as the start did.
  if (last?.code === "AUTH_REQUIRED")
    return changedError(last, { data: { ...last.data, ...data }, cause: last });
  const seconds = Math.max(1, Math.ceil(retryMs / 1_000));
  // The hint of a crash is about the call that it interrupted; this call was not sent.
  const isAboutCall = last?.hint === ERROR_CODES.SERVER_CRASHED.hint;
  const hint = `${last === undefined || isAboutCall ? "" : `${last.hint} `}Call again in ${seconds} s.`;
  const reason = last === undefined ? "" : `: ${last.message}`;
  return new PortolanError("SERVER_UNAVAILABLE", `${server} is not available${reason}`, {
    server,
    stderr: last?.stderr,
    data,
    hint,
    cause: last,
  });
}
