// Secrets of an mcpfile server. A missing secret blocks only the operations that use it.

import type { Diagnostic } from "../../errors/index.ts";
import type { Endpoint, InvokedServer } from "../../model/index.ts";
import { resolveEndpoint, toSecretError, type UnresolvedEndpoint } from "../../secrets/index.ts";
import type { ServerContext } from "./open-server-session.ts";

type SecretOptions = Pick<ServerContext, "config" | "secrets" | "redactor" | "report">;

export interface InvokedSecrets {
  readonly env: ReadonlyMap<string, string>;
  /** The operations that cannot be used because of missing secrets. */
  readonly lacks?: Diagnostic;
}

const SHOWN_OPERATIONS = 10;

/** Throws when all operations need a missing secret. */
export async function resolveInvoked(options: SecretOptions, server: InvokedServer): Promise<InvokedSecrets> {
  const { blockedBy, envNames } = await import("../../invoke/index.ts");
  const { alias } = options.config;
  const names = [...envNames(server)];
  const resolved = await resolveNames(options, names);
  if (resolved.ok) return resolved;
  const lacking = new Set([
    ...resolved.missing.map(({ name }) => name),
    ...resolved.problems.map(({ where }) => where.replace(/^env\./, "")),
  ]);
  const blocked = blockedBy(server, lacking);
  const error = toSecretError(resolved, alias);
  if (blocked.all) throw error;
  const rest = await resolveNames(
    options,
    names.filter((name) => !lacking.has(name)),
  );
  if (!rest.ok) throw toSecretError(rest, alias);
  const { code, message, hint } = error;
  const shown = blocked.names.slice(0, SHOWN_OPERATIONS).join(", ");
  const more = blocked.names.length > SHOWN_OPERATIONS ? ", …" : "";
  return {
    env: rest.env,
    lacks: {
      code,
      severity: "warning",
      server: alias,
      message: `${message} Until then, these operations cannot be used: ${shown}${more}.`,
      hint,
    },
  };
}

/** Looks up secrets that were missing before. Throws when one still is. */
export async function resolveLater(
  options: SecretOptions,
  names: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const resolved = await resolveNames(options, names);
  if (!resolved.ok) throw toSecretError(resolved, options.config.alias);
  return resolved.env;
}

/** Resolves the names like environment variables of a program. */
async function resolveNames(
  { config, secrets, redactor, report }: SecretOptions,
  names: readonly string[],
): Promise<{ readonly ok: true; readonly env: ReadonlyMap<string, string> } | UnresolvedEndpoint> {
  const wanted = Object.fromEntries(names.map((name) => [name, `\${${name}}`]));
  const endpoint: Endpoint = { transport: "stdio", command: "", env: wanted };
  // Only references to files need a folder, and an mcpfile has none of those.
  const resolved = await resolveEndpoint(endpoint, secrets, { baseDir: "." });
  if (!resolved.ok) return resolved;
  for (const secret of resolved.secrets) redactor.add(secret);
  for (const warning of resolved.warnings) report({ ...warning, server: config.alias });
  const { endpoint: filled } = resolved;
  const values = filled.transport === "stdio" ? filled.env : undefined;
  return { ok: true, env: new Map(Object.entries(values ?? {})) };
}
