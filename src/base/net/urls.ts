// Facts about URLs: which schemes belong to HTTP and WebSocket, default ports, and whether a connection is private on its way.

import { isLoopbackHost } from "./addresses.ts";

export const HTTP_SCHEMES: readonly string[] = ["http:", "https:"];
export const WEBSOCKET_SCHEMES: readonly string[] = ["ws:", "wss:"];

/** Returns undefined for a text that is not a URL. */
export function parseUrl(text: string, base?: URL): URL | undefined {
  return URL.canParse(text, base?.href) ? new URL(text, base) : undefined;
}

/** Returns true for `http:` and `https:`, of a URL or of a text that may have gaps such as `https://{host}/`. */
export function isHttpUrl(url: URL | string): boolean {
  return typeof url === "string" ? /^https?:\/\//i.test(url) : HTTP_SCHEMES.includes(url.protocol);
}

/** Returns true for `ws:` and `wss:`. */
export function isWebSocketUrl(url: URL | string): boolean {
  return typeof url === "string" ? /^wss?:\/\//i.test(url) : WEBSOCKET_SCHEMES.includes(url.protocol);
}

/** Returns true when nobody on the network can read or change the traffic: `https:`, or `http:` to this machine. */
export function isSecureUrl(url: URL): boolean {
  return url.protocol === "https:" || (url.protocol === "http:" && isLoopbackHost(url.hostname));
}

/** Returns the port of an HTTP or WebSocket URL that names none. */
export function defaultPort(scheme: string): number {
  return scheme === "https:" || scheme === "wss:" ? 443 : 80;
}

/** Returns the port of an HTTP or WebSocket URL. */
export function portOf({ port, protocol }: URL): number {
  return port === "" ? defaultPort(protocol) : Number(port);
}

/** Returns scheme, host and path: user name, password, query and fragment may be secret and are left out. */
export function publicPart({ origin, pathname }: URL): string {
  return `${origin}${pathname}`;
}
