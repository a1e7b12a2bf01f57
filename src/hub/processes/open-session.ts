// From a declaration to a live server: its secrets resolved, its process shared with whoever declares the same.

import type { Approve, Audit } from "../../contracts/index.ts";
import { PortolanError, type Report } from "../../errors/index.ts";
import type { LaunchContext } from "../../launch/index.ts";
import type {
  DeclaredServer,
  Endpoint,
  InvokedServer,
  InvokeEndpoint,
  Limits,
  ServerDefinition,
} from "../../model/index.ts";
import { type Redactor, resolveEndpoint, type SecretStore, toSecretError } from "../../secrets/index.ts";
import {
  type ServerRequestHandler,
  type Caller,
  type EraMemory,
  type LaunchDiagnostics,
  type SessionHandle,
  openSessionUpstream,
  openUpstream,
  type Upstream,
} from "../../upstream/index.ts";
import type { Person } from "../drivers/login-page.ts";
import { resolveInvoked, resolveLater } from "./invoked-secrets.ts";
import type { ProcessListener, ProcessPool } from "./process-pool.ts";

export interface ServerContext {
  readonly declared: DeclaredServer;
  readonly pool: ProcessPool;
  readonly secrets: SecretStore;
  readonly redactor: Redactor;
  readonly caller: Caller;
  readonly onServerRequest: ServerRequestHandler | undefined;
  readonly eras: EraMemory;
  readonly report: Report;
  /** State of the starts of this hub's servers. */
  readonly launchContext: LaunchContext;
  /** Folders that whoever opened the hub grants to every server. */
  readonly roots: readonly string[];
  /** Whether code that lies beside a driver may be run in this program. */
  readonly driverCode?: boolean | undefined;
  /** Whoever opened the hub wants nothing kept between runs. */
  readonly keepsNothing?: boolean | undefined;
  /** Hears what is done for contracts. */
  readonly audit?: Audit | undefined;
  /** Asked before a call that needs approval. */
  readonly approve?: Approve | undefined;
  /** The contracts whose place these take, which serve until the new ones can; nothing once that is over. */
  readonly before?: (() => Upstream | undefined) | undefined;
  /** Who is there to log in to drivers, if anybody is. */
  readonly person?: Person | undefined;
}

export interface OpenTerms {
  readonly limits: Limits;
  readonly leave: AbortSignal;
  readonly listener: ProcessListener;
  readonly launches: LaunchDiagnostics;
  /** An earlier session found the server to be legacy. */
  readonly knownLegacy?: boolean | undefined;
  /** For a legacy session or process beside the shared one, with the capabilities of a caller if it is for one. */
  readonly dedicated?: { readonly dedicatedTo: Caller | undefined } | undefined;
}

/** Opens a session of the server, or shares one. The session ends when its connection is lost. */
export async function openServerSession(options: ServerContext, terms: OpenTerms): Promise<SessionHandle> {
  const { declared, redactor, pool, caller, onServerRequest, eras, report, launchContext } = options;
  const { limits, leave, listener: heard, launches, knownLegacy, dedicated } = terms;
  if (declared.endpoint.transport === "invoke")
    return openInvokedServer(options, declared.endpoint, limits, leave, heard);
  if (declared.endpoint.transport === "contracts") {
    const { openContractsSession: leaseContracts } = await import("../drivers/open-contracts.ts");
    return leaseContracts(options, declared.endpoint, limits, leave, heard);
  }
  const definition: ServerDefinition = {
    name: declared.alias,
    endpoint: await resolveEndpointOf(options, declared.endpoint),
    era: dedicated === undefined ? (declared.era ?? "auto") : "legacy",
    limits,
    launch: declared.launch,
    roots: options.roots,
  };
  // A kept HOME belongs to one server only.
  const own = declared.launch?.sandbox?.home === "kept" ? declared.alias : "";
  const { endpoint, era, launch } = definition;
  const key = JSON.stringify([endpoint, era, definition.limits, launch, own]);
  const common = { definition, onServerRequest, watch: true, report, redactor, eras, launchContext };
  const client = dedicated?.dedicatedTo;
  return pool.acquire(
    key,
    (signal, { stderr: onStderr, launch: onLaunch }) =>
      dedicated === undefined
        ? openSessionUpstream({ ...common, signal, caller, knownLegacy, onStderr, onLaunch, launches })
        : openUpstream({
            ...{ ...common, signal, onStderr, onLaunch },
            eraIsChosen: declared.era !== "legacy",
            caller:
              client === undefined
                ? caller
                : { ...caller, clientInfo: client.clientInfo, capabilities: client.capabilities },
          }),
    leave,
    heard,
    dedicated !== undefined,
  );
}

/** A server that is carried out here, with the secrets that it mentions. */
async function openInvokedServer(
  options: ServerContext,
  { server }: InvokeEndpoint,
  limits: Limits,
  leave: AbortSignal,
  heard: ProcessListener,
): Promise<SessionHandle> {
  const { declared, pool, report, launchContext } = options;
  const { env, lacks } = await resolveInvoked(options, server);
  if (lacks !== undefined) report(lacks);
  await checkCertificates(options, server);
  const { openInvoked } = await import("../../invoke/index.ts");
  return pool.acquire(
    JSON.stringify([server, [...env], limits]),
    () =>
      openInvoked(server, {
        ...{ name: declared.alias, limits, report, launchContext, resolveEnv: (name) => env.get(name) },
        resolveLater: (names) => resolveLater(options, names),
      }),
    leave,
    heard,
  );
}

/** Whom requests trust is not for a sandboxed server to say. */
async function checkCertificates(
  { declared, secrets }: ServerContext,
  { clientTls }: InvokedServer,
): Promise<void> {
  const { caCertFiles = [], caCertDir } = clientTls ?? {};
  for (const path of caCertDir === undefined ? caCertFiles : [...caCertFiles, caCertDir]) {
    const refused = await secrets.checkFile?.(path);
    if (refused === undefined) continue;
    const message = `The certificates in ${path} cannot be used: ${refused.reason}.`;
    throw new PortolanError("SANDBOX_DENIED", message, { server: declared.alias, hint: refused.hint });
  }
}

/** Looks up every secret that a server config mentions. Throws when the server cannot work without those that are missing. */
export async function checkSecrets(options: ServerContext): Promise<void> {
  const { endpoint } = options.declared;
  if (endpoint.transport === "invoke") await resolveInvoked(options, endpoint.server);
  else if (endpoint.transport !== "contracts") await resolveEndpointOf(options, endpoint);
}

async function resolveEndpointOf(
  { declared, secrets, redactor, report }: ServerContext,
  endpoint: Endpoint,
): Promise<Endpoint> {
  const { alias, origin } = declared;
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
