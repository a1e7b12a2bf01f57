// Redirect policy: same host only, never from https to http, and without credentials when the origin changes.

import { isHttpUrl, parseUrl } from "../../base/net/urls.ts";
import type { HttpRequest } from "./request.ts";

const REDIRECTS = new Set([301, 302, 303, 307, 308]);
const CREDENTIALS = ["authorization", "cookie", "proxy-authorization"];

/** The next request, or the reason for not following as text, or undefined when the response is no redirect. */
export function followRedirect(
  request: HttpRequest,
  status: number,
  location: string | undefined,
): HttpRequest | string | undefined {
  if (!REDIRECTS.has(status) || location === undefined) return undefined;
  const url = parseUrl(location, request.url);
  if (url === undefined) return "it redirects to something that is not a URL";
  const refusal = refuse(request.url, url);
  if (refusal !== undefined) return refusal;
  url.hash = url.username = url.password = "";
  const headers = { ...request.headers };
  if (url.origin !== request.url.origin) for (const name of CREDENTIALS) delete headers[name];
  // All clients turn POST into GET after 301 and 302, although the standard once said otherwise.
  const toGet = status === 303 ? request.method !== "HEAD" : status <= 302 && request.method === "POST";
  if (!toGet) return { ...request, url, headers };
  delete headers["content-type"];
  return { method: "GET", url, headers, body: undefined };
}

function refuse(from: URL, to: URL): string | undefined {
  if (!isHttpUrl(to)) return `it redirects to ${to.protocol.slice(0, 20)} which is not HTTP`;
  if (from.protocol === "https:" && to.protocol === "http:")
    return "it redirects from https to http, which is not followed";
  const upgrade = from.protocol === "http:" && to.protocol === "https:" && from.port === "" && to.port === "";
  if (to.hostname !== from.hostname || (to.port !== from.port && !upgrade))
    return `it redirects to another host, ${to.host.slice(0, 200)}, which is not followed`;
  return undefined;
}
