// Bearer tokens of callers: secret references resolved at the start, then found by SHA-256, so that the lookup time reveals nothing.

import { hash } from "node:crypto";
import { type Diagnostic, PortolanError, type Report } from "../../errors/index.ts";
import { type GatewaySettings, parseReferences } from "../../model/index.ts";
import {
  resolveEndpoint,
  type Secret,
  type SecretStore,
  toSecretError,
  type UnresolvedEndpoint,
} from "../../secrets/index.ts";
import type { AuthenticatedCaller } from "./types.ts";

/** A shorter token is reported as a warning. */
const SHORT = 16;
/** Token syntax of RFC 6750. */
const TOKEN = /^[A-Za-z0-9\-._~+/]+=*$/;

export function hashToken(token: string): string {
  return hash("sha256", token, "hex");
}

/** The token of an Authorization header; undefined without one. */
export function bearerOf(header: string | undefined): string | undefined {
  if (header === undefined || header.length < 8 || header[6] !== " ") return undefined;
  if (header.slice(0, 6).toLowerCase() !== "bearer") return undefined;
  const token = header.slice(7).trim();
  return token === "" ? undefined : token;
}

/** Callers by the hash of their token. Throws for a token that two callers share. */
export function indexTokens(
  settings: GatewaySettings,
  local: { readonly token: string | undefined; readonly caller: AuthenticatedCaller },
  callers: ReadonlyMap<string, AuthenticatedCaller>,
  report: Report,
): Map<string, AuthenticatedCaller> {
  const index = new Map<string, AuthenticatedCaller>();
  const add = (key: string, caller: AuthenticatedCaller): void => {
    const other = index.get(key);
    // During a rotation, both references of a caller may have the same value.
    if (other !== undefined && other !== caller)
      throw new PortolanError(
        "CONFIG_INVALID",
        `the callers ${other.name} and ${caller.name} have the same token`,
        {
          hint: "Give each caller in gateway.callers a different token.",
        },
      );
    index.set(key, caller);
  };
  if (local.token !== undefined) add(hashToken(local.token), local.caller);
  for (const { name, token, tokenSha256 } of settings.callers ?? []) {
    const caller = callers.get(name);
    if (caller === undefined) continue;
    for (const one of [tokenSha256 ?? []].flat()) add(one.toLowerCase(), caller);
    for (const one of [token ?? []].flat()) {
      checkToken(name, one, report);
      add(hashToken(one), caller);
    }
  }
  return index;
}

function checkToken(name: string, token: string, report: Report): void {
  if (!TOKEN.test(token))
    throw new PortolanError("CONFIG_INVALID", `the token of the caller ${name} is not a legal bearer token`, {
      hint: "A token consists of letters, digits and - . _ ~ + /, without spaces. It can end with =.",
    });
  if (token.length < SHORT)
    report({
      code: "CONFIG_INVALID",
      severity: "warning",
      message: `the token of the caller ${name} is shorter than ${SHORT} characters and can be guessed`,
      hint: "Create a token from 32 random bytes: openssl rand -base64 32",
    });
}

export interface ResolvedCallers {
  readonly settings: GatewaySettings;
  /** Values that the redactor must remove from logs. */
  readonly secrets: readonly Secret[];
  readonly warnings: readonly Diagnostic[];
}

/** Not the name of a caller, which consists of other characters. */
const CLIENT_SECRET = "|client-secret";

/** Resolves the secret references in the tokens of callers and in `oauth.client_secret`; `${file:path}` is relative to `baseDir`. Throws one error for all missing secrets. */
export async function resolveCallerTokens(
  settings: GatewaySettings,
  store: SecretStore,
  baseDir: string,
): Promise<ResolvedCallers> {
  const { callers = [], oauth } = settings;
  const clientSecret = oauth?.clientSecret;
  const tokens = callers.flatMap(({ name, token }) =>
    [token ?? []].flat().map((text, index) => ({ name, text, header: headerOf(name, index) })),
  );
  if (tokens.length === 0 && clientSecret === undefined) return { settings, secrets: [], warnings: [] };
  // Tokens travel in headers, so they are resolved like the headers of an endpoint.
  const endpointLike = {
    transport: "http",
    url: "http://localhost",
    headers: Object.fromEntries([
      ...tokens.map(({ header, text }) => [header, text]),
      ...(clientSecret === undefined ? [] : [[CLIENT_SECRET, clientSecret]]),
    ]),
  } as const;
  const resolved = await resolveEndpoint(endpointLike, store, { baseDir });
  if (!resolved.ok) throw toSecretError(renamed(resolved));
  const { endpoint, secrets, warnings } = resolved;
  const headers = endpoint.transport === "stdio" ? {} : (endpoint.headers ?? {});
  for (const { name, text, header } of tokens) if (headers[header] === "") throw emptyToken(name, text);
  const resolvedToken = (name: string, token: string | readonly string[]): string | readonly string[] =>
    typeof token === "string"
      ? (headers[name] ?? "")
      : token.map((_, index) => headers[headerOf(name, index)] ?? "");
  return {
    settings: {
      ...settings,
      oauth: oauth && { ...oauth, clientSecret: headers[CLIENT_SECRET] },
      callers: callers.map((caller) =>
        caller.token === undefined ? caller : { ...caller, token: resolvedToken(caller.name, caller.token) },
      ),
    },
    secrets,
    warnings: warnings.map((warning) => ({ ...warning, message: inGateway(warning.message) })),
  };
}

/** The header that stands for a token of a caller while secrets are resolved. */
function headerOf(name: string, index: number): string {
  return index === 0 ? name : `${name}|${index}`;
}

function emptyToken(caller: string, token: string): PortolanError {
  const { parts } = parseReferences(token);
  const reference = parts.find(({ kind }) => kind === "any" || kind === "secret");
  const hint =
    reference === undefined || !("name" in reference)
      ? "Set the field token of this caller to a secret reference such as ${NAME}."
      : `Set the secret that the field token of this caller refers to: portolan secrets set ${reference.name}`;
  const message = `The token of the caller ${caller} in gateway.callers is an empty text.`;
  return new PortolanError("CONFIG_INVALID", message, { hint });
}

/** Replaces the header names in messages with the names of callers. */
function renamed({ missing, problems, ...others }: UnresolvedEndpoint): UnresolvedEndpoint {
  return {
    ...others,
    missing: missing.map((item) => ({ ...item, where: inGateway(item.where) })),
    problems: problems.map((item) => ({ ...item, where: inGateway(item.where) })),
  };
}

function inGateway(text: string): string {
  return text
    .replace(`headers.${CLIENT_SECRET}`, "client_secret of gateway.oauth")
    .replace(/^headers\.([\w.@-]+)(?:\|\d+)?/, "the token of gateway caller $1");
}
