// Credentials of an API: headers, query parameters and cookies with secret references, never the secrets themselves.

import { isObject } from "../../model/index.ts";
import { quoted } from "../../formats/document/index.ts";
import { child, follow, items, members, type Spec, textOf } from "../document/document.ts";
import type { SpecDiagnostics } from "../document/diagnostics.ts";
import { FORBIDDEN } from "../limits.ts";
import { secretName } from "../names.ts";
import { type At, Unusable } from "../types.ts";
import { encoded, isToken } from "./url-text.ts";

export interface Credentials {
  readonly headers: Readonly<Record<string, string>>;
  /** `key=${NAME}` */
  readonly query: readonly string[];
  /** `name=${NAME}` */
  readonly cookies: readonly string[];
  readonly needs: readonly string[];
}

interface Scheme {
  readonly place: "header" | "query" | "cookie";
  readonly key: string;
  /** Text before the secret, such as `Bearer `. */
  readonly before: string;
  /** The kind of the secret: the last part of its name. */
  readonly what: "TOKEN" | "BASIC" | "API_KEY";
}

export const NO_CREDENTIALS: Credentials = { headers: {}, query: [], cookies: [], needs: [] };

/** Finds the credentials of an operation: the first alternative that a tool can send. */
export function createSecurity(
  spec: Spec,
  server: string,
  diagnostics: SpecDiagnostics,
): (operation: At) => Credentials {
  const root: At = { value: spec.root, path: [] };
  const written =
    spec.dialect === "2.0"
      ? child(root, "securityDefinitions")
      : child(child(root, "components"), "securitySchemes");
  const schemes = new Map<string, Scheme>();
  for (const { key, at } of members(written)) {
    const scheme = readScheme(spec, at);
    if (scheme !== undefined) schemes.set(key, scheme);
  }
  const secretOf = (name: string, { what }: Scheme): string => {
    const alike = [...schemes.values()].filter((scheme) => scheme.what === what).length;
    return alike === 1 ? secretName(server, what) : secretName(server, name);
  };
  const reported = new Set<string>();

  return (operation) => {
    const own = child(operation, "security");
    const wanted = Array.isArray(own.value) ? own : child(root, "security");
    const alternatives = items(wanted).filter(({ value }) => isObject(value));
    for (const alternative of alternatives) {
      const credentials = write(Object.keys(alternative.value as object), schemes, secretOf);
      if (credentials !== undefined) return credentials;
    }
    for (const alternative of alternatives) {
      const names = Object.keys(alternative.value as object).join(", ");
      if (reported.has(names)) continue;
      reported.add(names);
      diagnostics.warn(
        alternative.path,
        `the security scheme ${quoted(names)} is not supported; the tools that need it send no credential`,
      );
    }
    return NO_CREDENTIALS;
  };
}

/** The credentials of all schemes together. Returns undefined if one is unknown, or if two need the same header or key. */
function write(
  names: readonly string[],
  schemes: ReadonlyMap<string, Scheme>,
  secretOf: (name: string, scheme: Scheme) => string,
): Credentials | undefined {
  const headers: Record<string, string> = {};
  const [query, cookies, needs]: [string[], string[], string[]] = [[], [], []];
  const places = new Set<string>();
  for (const name of names) {
    const scheme = schemes.get(name);
    if (scheme === undefined) return undefined;
    const place = `${scheme.place} ${scheme.place === "header" ? scheme.key.toLowerCase() : scheme.key}`;
    if (places.has(place)) return undefined;
    places.add(place);
    const secret = secretOf(name, scheme);
    const reference = `\${${secret}}`;
    needs.push(secret);
    if (scheme.place === "header") headers[scheme.key] = `${scheme.before}${reference}`;
    else if (scheme.place === "query") query.push(`${encoded(scheme.key)}=${reference}`);
    else cookies.push(`${scheme.key}=${reference}`);
  }
  return { headers, query, cookies, needs };
}

function readScheme(spec: Spec, written: At): Scheme | undefined {
  const at = resolve(spec, written);
  const bearer: Scheme = { place: "header", key: "Authorization", before: "Bearer ", what: "TOKEN" };
  const basic: Scheme = { place: "header", key: "Authorization", before: "Basic ", what: "BASIC" };
  switch (at && textOf(at, "type")) {
    case "oauth2":
    case "openIdConnect":
      return bearer;
    case "basic":
      return basic;
    case "http": {
      const scheme = at && textOf(at, "scheme")?.toLowerCase();
      return scheme === "bearer" ? bearer : scheme === "basic" ? basic : undefined;
    }
    case "apiKey": {
      const key = at && textOf(at, "name");
      const place = at && child(at, "in").value;
      if (key === undefined || (place !== "header" && place !== "query" && place !== "cookie"))
        return undefined;
      if (place !== "query" && (!isToken(key) || FORBIDDEN.has(key))) return undefined;
      return { place, key, before: "", what: "API_KEY" };
    }
    default:
      return undefined;
  }
}

function resolve(spec: Spec, at: At): At | undefined {
  try {
    return follow(spec, at);
  } catch (thrown) {
    if (thrown instanceof Unusable) return undefined;
    throw thrown;
  }
}
