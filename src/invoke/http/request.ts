// Builds the HTTP request of a call from its arguments. It sends nothing.

import { type HttpInvocation, isObject, type JsonObject } from "../../model/index.ts";
import type { Run } from "../types.ts";
import { withoutPath } from "../values.ts";
import { checkHeaders, fillHeaders } from "./headers.ts";
import { fixedKeys, leftoverPairs, toFields } from "./query.ts";
import { fillUrl, parseUrlTemplate, type UrlTemplate } from "./url.ts";

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
