// Content security policy of an app: it reaches the hosts that it declares, and nothing else.

import { isObject } from "../../model/index.ts";

/** Secure hosts with a public name. The names of CSP keywords, other directives, addresses and `localhost` do not match. */
const DOMAIN =
  /^(?:https|wss):\/\/(?:\*\.)?(?:[a-z\d](?:[a-z\d-]{0,61}[a-z\d])?\.)+[a-z](?:[a-z\d-]{0,61}[a-z\d])?(?::\d{1,5})?$/i;
const MAX_DOMAINS = 50;

/** The hosts that an app may use. */
export interface AppHosts {
  readonly connect: readonly string[];
  readonly resources: readonly string[];
  readonly frames: readonly string[];
  readonly base: readonly string[];
  /** Declared, and not allowed. */
  readonly refused: readonly string[];
}

/** Reads `_meta.ui.csp` of a resource, which the server wrote. */
export function readAppHosts(csp: unknown): AppHosts {
  const declared = isObject(csp) ? csp : {};
  const refused: string[] = [];
  const read = (name: string): readonly string[] => {
    const list = declared[name];
    if (!Array.isArray(list)) return [];
    const texts = list.slice(0, MAX_DOMAINS).map((one) => String(one).slice(0, 300));
    refused.push(...texts.filter((text) => !DOMAIN.test(text)));
    return texts.filter((text) => DOMAIN.test(text));
  };
  return {
    connect: read("connectDomains"),
    resources: read("resourceDomains"),
    frames: read("frameDomains"),
    base: read("baseUriDomains"),
    refused,
  };
}

/** The policy of the page around the app. The app itself is a document without an address, which inherits it. */
export function appPolicy(hosts: AppHosts, consoleOrigin: string): string {
  const { connect, resources, frames, base } = hosts;
  const from = (...sources: readonly string[]): string => sources.join(" ");
  const orNone = (sources: readonly string[]): string => (sources.length === 0 ? "'none'" : from(...sources));
  return [
    "default-src 'none'",
    `script-src ${from("'self'", "'unsafe-inline'", ...resources)}`,
    `style-src ${from("'unsafe-inline'", ...resources)}`,
    `img-src ${from("data:", "blob:", ...resources)}`,
    `font-src ${from("data:", ...resources)}`,
    `media-src ${from("data:", "blob:", ...resources)}`,
    `connect-src ${orNone(connect)}`,
    // An app that opens another address in its own frame would send data there.
    `frame-src ${orNone(frames)}`,
    `base-uri ${orNone(base)}`,
    "form-action 'none'",
    "object-src 'none'",
    `frame-ancestors ${consoleOrigin}`,
  ].join("; ");
}
