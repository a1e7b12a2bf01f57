// The base URL of an API: from its servers, from host and path in Swagger 2, or from `--base-url`.

import { isHttpUrl } from "../../base/net/urls.ts";
import { isObject } from "../../model/index.ts";
import { quoted } from "../../formats/document/index.ts";
import { child, items, type Spec, textOf } from "../document/document.ts";
import { type At, Unusable } from "../types.ts";

const GIVE_BASE = "give a base URL (--base-url https://host/path)";

/** The address of an API, as the caller of a conversion gives it. */
export interface Address {
  /** Replaces every absolute URL of the description, so that credentials are sent nowhere else. */
  readonly baseUrl?: string;
  /** The URL that the description was read from; relative URLs are relative to it. */
  readonly documentUrl?: string;
}

export interface FoundBase {
  /** Without a trailing slash. */
  readonly url: string;
  /** The server of this path or operation that the given base URL replaces. */
  readonly replaced?: { readonly url: string; readonly at: At };
}

/** The base URL of an operation. Throws `Unusable` when there is none. */
export function baseUrlOf(spec: Spec, levels: readonly At[], address: Address): FoundBase {
  const root: At = { value: spec.root, path: [] };
  if (spec.dialect === "2.0") return { url: older(root, address) };
  for (const level of levels) {
    const servers = items(child(level, "servers"));
    if (servers.length > 0) return firstUsable(servers, address);
  }
  const servers = items(child(root, "servers"));
  if (servers.length > 0) return { url: firstUsable(servers, address).url };
  return { url: absolute("/", address, { value: undefined, path: ["openapi"] }) };
}

/** Returns the normalised URL, or the reason why it cannot be used. */
export function checkBaseUrl(given: string): string | { readonly problem: string } {
  const url = parse(given);
  if (url === undefined) return { problem: `the base URL ${quoted(given)} is not an http or https URL` };
  if (url.username !== "" || url.password !== "")
    return { problem: "the base URL contains a user name or a password, which a file must not contain" };
  if (url.search !== "" || url.hash !== "")
    return {
      problem: `the base URL ${quoted(given)} has a query or a fragment; it must end with a path, because the paths of operations are appended`,
    };
  return written(url);
}

function firstUsable(servers: readonly At[], address: Address): FoundBase {
  const { baseUrl } = address;
  let first: Unusable | undefined;
  for (const server of servers) {
    try {
      const text = filled(server);
      if (baseUrl === undefined || !namesHost(text, baseUrl)) return { url: absolute(text, address, server) };
      return { url: baseUrl, replaced: { url: text, at: server } };
    } catch (thrown) {
      if (!(thrown instanceof Unusable)) throw thrown;
      first ??= thrown;
    }
  }
  if (baseUrl !== undefined) return { url: baseUrl };
  throw first ?? new Unusable("the document names no server", []);
}

/** True for `https://host`, and also for `//host`, which a parser of URLs takes for relative. */
function namesHost(text: string, baseUrl: string): boolean {
  return parse(text) !== undefined || parse(text, baseUrl)?.origin !== new URL(baseUrl).origin;
}

/** The URL with the defaults of its variables. */
function filled(server: At): string {
  const url = textOf(server, "url");
  if (url === undefined) throw new Unusable(`a server has no URL; ${GIVE_BASE}`, server.path);
  const variables = child(server, "variables");
  return url.replace(/\{([^{}]*)\}/g, (_, name: string) => {
    const variable = child(variables, name).value;
    const value = isObject(variable) ? variable.default : undefined;
    if (typeof value !== "string" && typeof value !== "number")
      throw new Unusable(
        `the variable ${quoted(name)} of a server's URL has no default; ${GIVE_BASE}`,
        server.path,
      );
    return String(value);
  });
}

function absolute(text: string, { baseUrl, documentUrl }: Address, at: At): string {
  if (baseUrl !== undefined && (text === "/" || text === "")) return baseUrl;
  if (baseUrl !== undefined && namesHost(text, baseUrl)) return baseUrl;
  const url = parse(text, baseUrl === undefined ? documentUrl : `${baseUrl}/`);
  if (url === undefined) {
    const message = /^[a-z][a-z0-9+.-]*:/i.test(text)
      ? `the URL of the server ${quoted(text)} is not an http or https URL`
      : `the server's URL ${quoted(text)} is relative`;
    throw new Unusable(`${message}; ${GIVE_BASE}`, at.path);
  }
  if (url.username !== "" || url.password !== "")
    throw new Unusable(`a server's URL contains a user name or a password; ${GIVE_BASE} without it`, at.path);
  return written(url);
}

function older(root: At, address: Address): string {
  const host = textOf(root, "host");
  const path = textOf(root, "basePath") ?? "/";
  const rooted = path.startsWith("/") ? path : `/${path}`;
  if (host === undefined) return absolute(rooted, address, child(root, "basePath"));
  if (address.baseUrl !== undefined) return address.baseUrl;
  const schemes = items(child(root, "schemes")).map(({ value }) => value);
  const scheme = schemes.includes("http") && !schemes.includes("https") ? "http" : "https";
  if (/[/?#@\\]/.test(host)) throw new Unusable(`${quoted(host)} is not a valid host`, ["host"]);
  return absolute(`${scheme}://${host}${rooted}`, {}, child(root, "host"));
}

function parse(text: string, base?: string): URL | undefined {
  try {
    const url = base === undefined ? new URL(text) : new URL(text, base);
    return isHttpUrl(url) ? url : undefined;
  } catch {
    return undefined;
  }
}

/** Escapes braces, because a base URL contains no placeholders. */
function written(url: URL): string {
  const path = url.pathname.replace(/\/+$/, "").replaceAll("{", "%7B").replaceAll("}", "%7D");
  return `${url.origin}${path}`;
}
