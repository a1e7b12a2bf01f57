// Why a request got no answer, in words. Neither stacks nor URLs: what a URL was filled with may be secret.

import { PrivateAddress } from "./guard.ts";

const REASONS: Readonly<Record<string, string>> = {
  ECONNREFUSED: "the connection was refused",
  ECONNRESET: "the connection was cut",
  EHOSTUNREACH: "the host cannot be reached",
  ENETUNREACH: "the network cannot be reached",
  ENOTFOUND: "there is no host of that name",
  EAI_AGAIN: "the name of the host could not be looked up",
  EPIPE: "the connection was cut",
  ETIMEDOUT: "the connection took too long",
  UND_ERR_CONNECT_TIMEOUT: "the connection took too long",
  UND_ERR_SOCKET: "the connection was closed before the answer was complete",
};

export function whyItFailed(error: unknown): string {
  const all = error instanceof AggregateError ? (error.errors as unknown[]) : [error];
  const first = all[0] instanceof Error ? all[0] : undefined;
  const cause = first?.cause instanceof Error ? first.cause : first;
  if (cause instanceof PrivateAddress) return cause.message;
  const code = cause !== undefined && "code" in cause ? String(cause.code) : "";
  if (REASONS[code] !== undefined) return REASONS[code];
  // Node's words about certificates are good, and hold nothing of the request.
  if (/CERT|SIGN|TLS|SSL/.test(code)) return `${cause?.message.slice(0, 300) ?? ""} (${code})`;
  if (code.startsWith("HPE_")) return "the answer is not HTTP";
  return code === "" ? "the request could not be sent" : `the request could not be sent (${code})`;
}
