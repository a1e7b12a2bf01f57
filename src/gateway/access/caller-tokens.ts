// The tokens of callers with their references replaced, when the gateway starts. Everything that is missing is said at once.

import { type Diagnostic, PortolanError } from "../../errors/index.ts";
import type { GatewaySettings } from "../../model/index.ts";
import {
  resolveEndpoint,
  type Secret,
  type SecretStore,
  toSecretError,
  type UnresolvedEndpoint,
} from "../../secrets/index.ts";

export interface ResolvedCallers {
  readonly settings: GatewaySettings;
  /** For the redactor. */
  readonly secrets: readonly Secret[];
  readonly warnings: readonly Diagnostic[];
}

/** `baseDir` is what a `${file:path}` is relative to. Throws SECRET_MISSING and its like. */
export async function resolveCallerTokens(
  settings: GatewaySettings,
  store: SecretStore,
  baseDir: string,
): Promise<ResolvedCallers> {
  const { callers = [] } = settings;
  const tokens = callers.flatMap(({ name, token }) => (token === undefined ? [] : [[name, token] as const]));
  if (tokens.length === 0) return { settings, secrets: [], warnings: [] };
  // Tokens travel in headers, so what is right for a header of an endpoint is right for them.
  const carrier = {
    transport: "http",
    url: "http://localhost",
    headers: Object.fromEntries(tokens),
  } as const;
  const resolved = await resolveEndpoint(carrier, store, { baseDir });
  if (!resolved.ok) throw toSecretError(renamed(resolved));
  const { endpoint, secrets, warnings } = resolved;
  const headers = endpoint.transport === "stdio" ? {} : (endpoint.headers ?? {});
  for (const [name] of tokens)
    if (headers[name] === "")
      throw new PortolanError("CONFIG_INVALID", `the token of the caller ${name} is empty`);
  return {
    settings: {
      ...settings,
      callers: callers.map((caller) =>
        caller.token === undefined ? caller : { ...caller, token: headers[caller.name] },
      ),
    },
    secrets,
    warnings: warnings.map((warning) => ({ ...warning, message: inGateway(warning.message) })),
  };
}

/** Places as the declaration has them. */
function renamed({ missing, problems, ok }: UnresolvedEndpoint): UnresolvedEndpoint {
  return {
    ok,
    missing: missing.map((one) => ({ ...one, where: inGateway(one.where) })),
    problems: problems.map((one) => ({ ...one, where: inGateway(one.where) })),
  };
}

function inGateway(text: string): string {
  return text.replace(/^headers\.([\w.@-]+)/, "the token of gateway caller $1");
}
