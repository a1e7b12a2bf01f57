// Request guard of the console's API: only the console's own page may use it, not a page of another site or another port.

import type { IncomingHttpHeaders } from "node:http";
import { isLoopbackAddress, isLoopbackHost } from "../base/net/addresses.ts";
import type { HttpRequest } from "../gateway/index.ts";

const DEFAULT_PORTS: Readonly<Record<string, string>> = { "http:": "80", "https:": "443" };

/** Why the request is refused; undefined if it comes from the console's own page, or from no browser. */
export function findForeignOrigin(method: string, headers: IncomingHttpHeaders): string | undefined {
  const site = headers["sec-fetch-site"];
  // Another port of this host is the same site, so the browser sends the cookie. Only Sec-Fetch-Site and Origin identify such a request.
  if (site !== undefined && site !== "same-origin")
    return `the request does not come from a page of the console (Sec-Fetch-Site: ${site})`;
  const { origin, host } = headers;
  if (origin === undefined)
    return method === "GET" || method === "HEAD" ? undefined : "the request has no Origin header";
  return isOwnOrigin(origin, host) ? undefined : "the Origin header does not match the Host header";
}

/** Headers of a proxy, whose clients may be elsewhere. */
const FORWARDED = ["forwarded", "via", "x-forwarded-for", "x-forwarded-host", "x-real-ip"];

/** True if the request comes from a browser or program of this computer, and not through a proxy. */
export function isLocal({ headers, socket }: Pick<HttpRequest, "headers" | "socket">): boolean {
  const { host = "" } = headers;
  if (!isLoopbackAddress(socket?.remoteAddress ?? "") || !URL.canParse(`http://${host}`)) return false;
  return (
    isLoopbackHost(new URL(`http://${host}`).hostname) &&
    FORWARDED.every((name) => headers[name] === undefined)
  );
}

function isOwnOrigin(origin: string, host: string | undefined): boolean {
  if (host === undefined || !URL.canParse(origin)) return false;
  const { protocol, hostname, port } = new URL(origin);
  const usual = DEFAULT_PORTS[protocol];
  if (usual === undefined || !URL.canParse(`${protocol}//${host}`)) return false;
  const own = new URL(`${protocol}//${host}`);
  return own.hostname === hostname && (own.port || usual) === (port || usual);
}
