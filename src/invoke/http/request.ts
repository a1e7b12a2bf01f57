// Builds the HTTP request of a call from its arguments, and the next request after a redirect. It sends nothing.

import { isObject, type HttpInvocation, type JsonObject } from "../../model/index.ts";
import type { Run } from "../types.ts";
import { withoutPath, ArgumentError, asText, fillPlaceholder } from "../values.ts";
import { fixedKeys, leftoverPairs, toFields } from "./query.ts";
import { fillUrl, parseUrlTemplate, type UrlTemplate } from "./url.ts";
import { PortolanError } from "../../errors/index.ts";
import { isHttpUrl, parseUrl } from "../../base/net/urls.ts";

export interface HttpRequest {
  readonly method: HttpInvocation["method"];
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | undefined;
}

export interface RequestBuilder {
  readonly url: UrlTemplate;
  build(run: Pick<Run, "args" | "headers">): HttpRequest;
}

/** Throws when the invocation cannot be used. */
export function createRequestBuilder(invocation: HttpInvocation): RequestBuilder {
  const url = parseUrlTemplate(invocation.url);
  const fixed = fixedKeys(url.query);
  checkHeaders(invocation.headers);
  const used = [invocation.url, ...invocation.headers.map(({ value }) => value)].flatMap((template) =>
    template.flatMap((part) => (part.kind === "input" ? [part.path] : [])),
  );
  const { method, rest, query, ignored = [] } = invocation;
  const taken = [...used, ...ignored];
  return {
    url,
    build(run) {
      const left = taken.reduce(withoutPath, run.args);
      const forQuery = invocation.bodyRoot === undefined && rest === "query";
      const queried = pick(left, (name) => forQuery || query.includes(name));
      const others = pick(left, (name) => !forQuery && !query.includes(name));
      const headers = fillHeaders(invocation.headers, run);
      if (url.authorization !== undefined) headers.authorization ??= url.authorization;
      const body = forQuery ? undefined : writeBody(invocation, others);
      const type = body === undefined ? undefined : contentType(rest, headers["content-type"]);
      if (type === undefined) delete headers["content-type"];
      else headers["content-type"] = type;
      return { method, url: fillUrl(url, run, leftoverPairs(queried, fixed)), headers, body };
    },
  };
}

/** Content-Type of the body. The mcpfile may choose a type of JSON. */
function contentType(rest: HttpInvocation["rest"], declared: string | undefined): string {
  if (rest === "form") return "application/x-www-form-urlencoded";
  const isJson = declared !== undefined && /^application\/(?:[^\s;,]+\+)?json\s*(?:;|$)/i.test(declared);
  return isJson ? declared : "application/json; charset=UTF-8";
}

function writeBody({ rest, bodyRoot, bodyAsArray }: HttpInvocation, args: JsonObject): string {
  const value = bodyRoot === undefined ? args : (bodyRoot.reduce<unknown>(step, args) ?? {});
  if (rest === "form" && isObject(value)) return new URLSearchParams(toFields(value)).toString();
  return JSON.stringify(bodyAsArray ? [value] : value);
}

function step(value: unknown, key: string | number): unknown {
  if (typeof key === "number") return Array.isArray(value) ? value[key] : undefined;
  return isObject(value) && Object.hasOwn(value, key) ? value[key] : undefined;
}

function pick(args: JsonObject, wanted: (name: string) => boolean): JsonObject {
  return Object.fromEntries(Object.entries(args).filter(([name]) => wanted(name)));
}

const NAME = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
/** Headers that the HTTP client sets itself. */
const RESERVED = new Set([
  "connection",
  "content-length",
  "expect",
  "host",
  "keep-alive",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
]);
/** Characters of a header value: visible Latin-1, spaces and tabs. */
const VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;

function checkHeaders(headers: HttpInvocation["headers"]): void {
  for (const { name } of headers) {
    const problem = !NAME.test(name)
      ? "is not a valid header name"
      : RESERVED.has(name.toLowerCase())
        ? "cannot be set, because Portolan sets this header itself"
        : undefined;
    if (problem !== undefined) throw new PortolanError("FILE_INVALID", `the header "${name}" ${problem}`);
  }
}

/** A header with an absent value is left out. */
function fillHeaders(
  headers: HttpInvocation["headers"],
  run: Pick<Run, "args" | "headers">,
): Record<string, string> {
  const filled: Record<string, string> = { accept: "*/*", "user-agent": "portolan" };
  for (const { name, value } of headers) {
    const parts = value.map((part) => (part.kind === "text" ? part.text : fillPlaceholder(part, run)));
    if (parts.includes(undefined)) continue;
    const text = parts.map(asText).join("");
    if (!VALUE.test(text))
      throw new ArgumentError(
        `The header "${name}" cannot contain that value: line breaks, control characters and letters outside of Latin-1 are refused.`,
      );
    filled[name.toLowerCase()] = text;
  }
  // The size limit counts received bytes, so the body must not be compressed.
  filled["accept-encoding"] = "identity";
  return filled;
}

const REDIRECTS = new Set([301, 302, 303, 307, 308]);
const CREDENTIALS = ["authorization", "cookie", "proxy-authorization"];

/**
 * Follows redirects to the same host only, never from https to http, and without credentials when the origin
 * changes. Returns the next request, or the reason for not following as text, or undefined when the response is no
 * redirect.
 */
export function followRedirect(
  request: HttpRequest,
  status: number,
  location: string | undefined,
): HttpRequest | string | undefined {
  if (!REDIRECTS.has(status) || location === undefined) return undefined;
  const url = parseUrl(location, request.url);
  if (url === undefined) return "the server redirects to an address that is not a URL";
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
  if (!isHttpUrl(to)) return `the server redirects to ${to.protocol.slice(0, 20)} which is not HTTP`;
  if (from.protocol === "https:" && to.protocol === "http:")
    return "the server redirects from https to http, which is not followed";
  const upgrade = from.protocol === "http:" && to.protocol === "https:" && from.port === "" && to.port === "";
  if (to.hostname !== from.hostname || (to.port !== from.port && !upgrade))
    return `the server redirects to another host, ${to.host.slice(0, 200)}, which is not followed`;
  return undefined;
}
