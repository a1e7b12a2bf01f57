// From a declaration to a live server: its secrets resolved, its process shared with whoever declares the same.

import { PortolanError, type Report } from "../errors/index.ts";
import type { DeclaredServer, Endpoint, Limits, ServerDefinition } from "../model/index.ts";
import { type Redactor, resolveEndpoint, type SecretStore, toSecretError } from "../secrets/index.ts";
import { type Ask, type Caller, type EraMemory, openUpstream } from "../upstream/index.ts";
import type { Lease, Pool } from "./pool.ts";

export interface LeaseOptions {
  readonly declared: DeclaredServer;
  readonly pool: Pool;
  readonly secrets: SecretStore;
  readonly redactor: Redactor;
  readonly caller: Caller;
  readonly ask: Ask | undefined;
  readonly eras: EraMemory;
  readonly report: Report;
}

let spares = 0;

/** A spare is a process of one's own beside the shared one: known to be legacy, and not asked for news. */
export async function leaseServer(
  options: LeaseOptions,
  limits: Limits,
  leave: AbortSignal,
  hearStderr: (text: string) => void,
  spare = false,
): Promise<Lease> {
  const { declared, redactor, pool, caller, ask, eras, report } = options;
  const definition: ServerDefinition = {
    name: declared.alias,
    endpoint: await resolveDeclared(options),
    era: spare ? "legacy" : (declared.era ?? "auto"),
    limits,
  };
  if (spare) spares += 1;
  const lane = spare ? spares : 0;
  const key = JSON.stringify([definition.endpoint, definition.era, definition.limits, lane]);
  return pool.acquire(
    key,
    (signal, onStderr) =>
      openUpstream({ signal, definition, caller, ask, watch: !spare, report, redactor, eras, onStderr }),
    leave,
    hearStderr,
  );
}

/** The endpoint with its secrets in place. Throws an error that names those that are missing. */
export async function resolveDeclared({
  declared,
  secrets,
  redactor,
  report,
}: LeaseOptions): Promise<Endpoint> {
  const { alias, endpoint, origin } = declared;
  if (endpoint.transport === "invoke")
    throw new PortolanError("NOT_SUPPORTED", `${alias} is a server of an mcpfile, which cannot be run yet`, {
      server: alias,
    });
  const resolved = await resolveEndpoint(endpoint, secrets, { baseDir: folderOf(origin.file) });
  if (!resolved.ok) throw toSecretError(resolved, alias);
  for (const secret of resolved.secrets) redactor.add(secret);
  for (const warning of resolved.warnings) report({ ...warning, server: alias });
  return resolved.endpoint;
}

function folderOf(file: string): string {
  const cut = Math.max(file.lastIndexOf("/"), file.lastIndexOf("\\"));
  return cut <= 0 ? "." : file.slice(0, cut);
}
