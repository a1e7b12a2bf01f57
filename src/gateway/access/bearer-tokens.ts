// Bearer tokens of callers: secret references resolved at the start, then found by SHA-256, so that the lookup time reveals nothing.

import { hash } from "node:crypto";
import { type Diagnostic, PortolanError, type Report } from "../../errors/index.ts";
import type { GatewaySettings } from "../../model/index.ts";
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
    if (other !== undefined)
      throw new PortolanError("CONFIG_INVALID", `${other.name} and ${caller.name} have the same token`, {
        hint: "Give each caller of the gateway a token of its own.",
      });
    index.set(key, caller);
  };
  if (local.token !== undefined) add(hashToken(local.token), local.caller);
  for (const { name, token, tokenSha256 } of settings.callers ?? []) {
    const caller = callers.get(name);
    if (caller === undefined) continue;
    if (tokenSha256 !== undefined) add(tokenSha256.toLowerCase(), caller);
    if (token === undefined) continue;
    checkToken(name, token, report);
    add(hashToken(token), caller);
  }
  return index;
}

function checkToken(name: string, token: string, report: Report): void {
  if (!TOKEN.test(token))
    throw new PortolanError("CONFIG_INVALID", `the token of the caller ${name} is not a legal bearer token`, {
      hint: "A token consists of letters, digits and - . _ ~ + /, without spaces.",
    });
  if (token.length < SHORT)
    report({
      code: "CONFIG_INVALID",
      severity: "warning",
      message: `the token of the caller ${name} is shorter than ${SHORT} characters and can be guessed`,
      hint: "Create one from 32 random bytes: openssl rand -base64 32.",
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
  const tokens = callers.flatMap(({ name, token }) => (token === undefined ? [] : [[name, token] as const]));
  if (tokens.length === 0 && clientSecret === undefined) return { settings, secrets: [], warnings: [] };
  // Tokens travel in headers, so they are resolved like the headers of an endpoint.
  const endpointLike = {
    transport: "http",
    url: "http://localhost",
    headers: Object.fromEntries([
      ...tokens,
      ...(clientSecret === undefined ? [] : [[CLIENT_SECRET, clientSecret]]),
    ]),
  } as const;
  const resolved = await resolveEndpoint(endpointLike, store, { baseDir });
  if (!resolved.ok) throw toSecretError(renamed(resolved));
  const { endpoint, secrets, warnings } = resolved;
  const headers = endpoint.transport === "stdio" ? {} : (endpoint.headers ?? {});
  for (const [name] of tokens)
    if (headers[name] === "")
      throw new PortolanError("CONFIG_INVALID", `the token of the caller ${name} is empty`, {
        hint: `Set the secret that gateway.callers names as the token of ${name}.`,
      });
  return {
    settings: {
      ...settings,
      oauth: oauth && { ...oauth, clientSecret: headers[CLIENT_SECRET] },
      callers: callers.map((caller) =>
        caller.token === undefined ? caller : { ...caller, token: headers[caller.name] },
      ),
    },
    secrets,
    warnings: warnings.map((warning) => ({ ...warning, message: inGateway(warning.message) })),
  };
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
    .replace(/^headers\.([\w.@-]+)/, "the token of gateway caller $1");
}
