// HTTP agent of one server: its connection pool, and the headers of every request.

import type { Agent } from "undici";

const CONNECT_TIMEOUT_MS = 10_000;
/** Further simultaneous requests wait for a free connection. */
const MAX_CONNECTIONS = 2_048;

/** Each server has its own pool, so that closing one server closes only its own sockets. */
export async function createAgent(connections: number = MAX_CONNECTIONS): Promise<Agent> {
  // undici is a large module, so it is loaded only for servers that use HTTP.
  const undici = await import("undici");
  return new undici.Agent({
    connect: { timeout: CONNECT_TIMEOUT_MS },
    connections,
    allowH2: false,
  });
}

/** Headers of every request. Credentials in the URL become a header, so that they appear nowhere else. */
export function baseHeaders(
  url: URL,
  declared: Readonly<Record<string, string>> | undefined,
): Record<string, string> {
  const headers: Record<string, string> = {
    accept: "application/json, text/event-stream",
    "accept-encoding": "identity",
    "content-type": "application/json",
  };
  if (url.username !== "" || url.password !== "") {
    const pair = `${decodePart(url.username)}:${decodePart(url.password)}`;
    headers.authorization = `Basic ${Buffer.from(pair).toString("base64")}`;
    url.username = "";
    url.password = "";
  }
  for (const [name, value] of Object.entries(declared ?? {})) headers[name.toLowerCase()] = value;
  return headers;
}

function decodePart(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    // The user typed a bare "%".
    return part;
  }
}
