// Resolves the secret references in the headers for the OTLP receiver.

import type { Diagnostic } from "../../errors/index.ts";
import type { TelemetrySettings } from "../../model/index.ts";
import { resolveEndpoint, type Secret, type SecretStore, toSecretError } from "../../secrets/index.ts";

export interface ResolvedTelemetry {
  readonly settings: TelemetrySettings | undefined;
  /** Values that the redactor must remove from logs. */
  readonly secrets: readonly Secret[];
  readonly warnings: readonly Diagnostic[];
}

/** Throws one error for all missing secrets. */
export async function resolveTelemetry(
  settings: TelemetrySettings | undefined,
  store: SecretStore,
  baseDir: string,
): Promise<ResolvedTelemetry> {
  if (settings?.headers === undefined) return { settings, secrets: [], warnings: [] };
  const endpoint = { transport: "http", url: "http://localhost", headers: settings.headers } as const;
  const resolved = await resolveEndpoint(endpoint, store, { baseDir });
  if (!resolved.ok) throw toSecretError(resolved);
  const headers = resolved.endpoint.transport === "stdio" ? {} : resolved.endpoint.headers;
  return { settings: { ...settings, headers }, secrets: resolved.secrets, warnings: resolved.warnings };
}
