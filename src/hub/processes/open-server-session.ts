// Opens a session of a server from its config: resolves its secrets, then takes a session of the process pool.

import type { Approve, Audit } from "../../contracts/index.ts";
import { PortolanError, type Report, type Diagnostic } from "../../errors/index.ts";
import type { LaunchContext } from "../../launch/index.ts";
import type { CredentialStore, RequestAuth } from "../../oauth/index.ts";
import {
  grantCommand,
  type ServerConfig,
  type Endpoint,
  type InvokedServer,
  type InvokeEndpoint,
  type Limits,
  type ServerDefinition,
} from "../../model/index.ts";
import {
  resolveEndpoint,
  toSecretError,
  type Redactor,
  type SecretStore,
  type UnresolvedEndpoint,
} from "../../secrets/index.ts";
import {
  openSessionUpstream,
  type ServerRequestHandler,
  type Caller,
  type EraMemory,
  type PathDenial,
  type SessionHandle,
  type Upstream,
} from "../../upstream/index.ts";
import type { Person } from "../drivers/login-page.ts";
import type { HubUser } from "../member/user-members.ts";
import type { DriverPins } from "../pins/driver-pins.ts";
import { withSetup } from "./setup-hint.ts";
import { digestOf, type UsedSecrets } from "./used-secrets.ts";
import {
  openPooledSession,
  sessionOptions,
  type PoolTerms,
  type ProcessListener,
  type ProcessPool,
} from "./process-pool.ts";

export interface ServerContext {
  readonly config: ServerConfig;
  readonly pool: ProcessPool;
  readonly secrets: SecretStore;
  readonly usedSecrets: UsedSecrets;
  /** Logins at servers behind OAuth. */
  readonly logins: CredentialStore;
  /** The caller of a gateway whose login is used; undefined for the owner of the workspace. */
  readonly user?: HubUser;
  /** Exchanged tokens of the user, by the address of the server: all its sessions share them. */
  readonly exchanged?: Map<string, RequestAuth>;
  readonly redactor: Redactor;
  readonly caller: Caller;
  readonly onServerRequest: ServerRequestHandler | undefined;
  readonly eras: EraMemory;
  readonly report: Report;
  /** State of the starts of this hub's servers. */
  readonly launchContext: LaunchContext;
  /** Folders that every server may use. */
  readonly roots: readonly string[];
  /** True when the code beside drivers may be run in this program. */
  readonly driverCode?: boolean;
  /** True when nothing may be stored between runs. */
  readonly storesNothing?: boolean;
  /** Receives the audit events of contracts. */
  readonly audit?: Audit;
  /** Pins of the servers of drivers. */
  readonly driverPins: DriverPins;
  /** Approves contract calls that need it. */
  readonly approve?: Approve;
  /** The hint of a call that no person can approve. */
  readonly approvalHint?: string;
  /** The contracts that these take over from, which serve until the new ones can; undefined after that. */
  readonly before?: () => Upstream | undefined;
  /** The person who can log in to drivers. */
  readonly person?: Person;
  /** Called for each path that a sandbox of the server denied. */
  readonly onDeniedPath?: (denied: PathDenial) => void;
  /** Set after a requested restart: the process pool must not return the process from before. */
  readonly restart?: number | string;
}

export interface OpenTerms extends PoolTerms {
  readonly limits: Limits;
  /** Set for a legacy session or process beside the shared one, with the capabilities of a caller if it is for one. */
  readonly dedicated?: { readonly dedicatedTo: Caller | undefined };
}

/** Opens or shares a session, which ends with its connection. */
export async function openServerSession(context: ServerContext, terms: OpenTerms): Promise<SessionHandle> {
  try {
    return await openSession(context, terms);
  } catch (error) {
    throw withSetup(error, context);
  }
}

async function openSession(context: ServerContext, terms: OpenTerms): Promise<SessionHandle> {
  const { config, caller } = context;
  const { limits, leave, listener, launches, dedicated } = terms;
  if (config.endpoint.transport === "invoke")
    return openInvokedServer(context, config.endpoint, limits, leave, listener);
  if (config.endpoint.transport === "contracts") {
    const { openContractsSession } = await import("../drivers/open-contracts.ts");
    return openContractsSession(context, config.endpoint, limits, leave, listener);
  }
  const packaged = await openPackagedServer(context, config.endpoint, terms);
  if (packaged !== undefined) return packaged;
  const resolved = await resolveEndpointOf(context, config.endpoint);
  context.usedSecrets.digest = digestOf(resolved);
  const definition: ServerDefinition = {
    name: config.alias,
    endpoint: resolved,
    era: dedicated === undefined ? (config.era ?? "auto") : "legacy",
    limits,
    launch: config.launch,
    roots: context.roots,
  };
  if (dedicated !== undefined) {
    const { clientInfo, capabilities } = dedicated.dedicatedTo ?? caller;
    const upstream = await openSessionUpstream({
      ...sessionOptions(context, definition),
      launches,
      signal: leave,
      caller: { ...caller, clientInfo, capabilities },
      eraIsChosen: config.era !== "legacy",
      onStderr: listener.stderr,
      onLaunch: listener.launch,
    });
    return { upstream, release: () => upstream.close() };
  }
  const { endpoint, era, launch } = definition;
  const own = ownerIn(config);
  const key = JSON.stringify([endpoint, era, limits, launch, own, context.restart, context.user?.id]);
  return openPooledSession(context, definition, key, terms);
}

/** The server that does not share its process; undefined for one that shares it. Servers with a kept HOME do not. */
function ownerIn({ alias, shared, launch }: ServerConfig): string | undefined {
  return shared === false || launch?.sandbox?.home === "kept" ? alias : undefined;
}

/** A package whose program is an mcpfile runs in this program too. Returns undefined for any other server. */
async function openPackagedServer(
  context: ServerContext,
  endpoint: Endpoint,
  { limits, leave, listener }: OpenTerms,
): Promise<SessionHandle | undefined> {
  if (endpoint.transport !== "stdio" || endpoint.kind !== "package") return undefined;
  const { readPackagedServer } = await import("./packaged-server.ts");
  const found = await readPackagedServer(context.config, endpoint, {
    ...{ signal: leave, onLaunch: listener.launch },
    ...{ report: context.report, context: context.launchContext },
  });
  if (found === undefined) return undefined;
  const { server, given } = found;
  // Of a package, the variables in the config count.
  context.usedSecrets.digest = await checkSecrets(context).catch(() => undefined);
  return openInvokedServer(context, { transport: "invoke", server }, limits, leave, listener, given);
}

/**
 * Opens an mcpfile server, which runs in this program. `given` are the variables of a package: the file of a stranger gets no
 * others.
 */
async function openInvokedServer(
  context: ServerContext,
  { server }: InvokeEndpoint,
  limits: Limits,
  leave: AbortSignal,
  listener: ProcessListener,
  given?: Readonly<Record<string, string>>,
): Promise<SessionHandle> {
  const options = { ...context, given };
  const { config, pool, report, launchContext } = options;
  const { env, lacks } = await resolveInvoked(options, server);
  if (lacks !== undefined) report(lacks);
  if (given === undefined) context.usedSecrets.digest = digestOf([...env]);
  await checkCertificates(options, server);
  const { openInvoked } = await import("../../invoke/index.ts");
  return pool.acquire(
    JSON.stringify([server, [...env], limits, ownerIn(config), options.restart]),
    config.alias,
    () =>
      openInvoked(server, {
        ...{ name: config.alias, limits, report, launchContext, resolveEnv: (name) => env.get(name) },
        grantCommand: grantCommand(config, launchContext.hintFolder),
        onDeniedPath: options.onDeniedPath,
        resolveLater: (names) => resolveLater(options, names, server),
      }),
    leave,
    listener,
  );
}

/** The sandbox must not be able to change the certificates that requests trust. */
async function checkCertificates(
  { config, secrets }: ServerContext,
  { clientTls }: InvokedServer,
): Promise<void> {
  const { caCertFiles = [], caCertDir } = clientTls ?? {};
  for (const path of caCertDir === undefined ? caCertFiles : [...caCertFiles, caCertDir]) {
    const refused = await secrets.checkFile?.(path);
    if (refused === undefined) continue;
    const message = `The certificates in ${path} cannot be used: ${refused.reason}.`;
    const { CERTIFICATES_REFUSED_HINT } = await import("../../sandbox/index.ts");
    throw new PortolanError("SANDBOX_DENIED", message, {
      server: config.alias,
      hint: CERTIFICATES_REFUSED_HINT,
    });
  }
}

/**
 * Looks up every secret that a server config mentions, and returns the digest of `UsedSecrets`. Throws when the server cannot work
 * without those that are missing.
 */
export async function checkSecrets(options: ServerContext): Promise<string | undefined> {
  const { endpoint } = options.config;
  try {
    if (endpoint.transport === "contracts") return undefined;
    if (endpoint.transport === "invoke")
      return digestOf([...(await resolveInvoked(options, endpoint.server)).env]);
    return digestOf(await resolveEndpointOf(options, endpoint));
  } catch (error) {
    throw withSetup(error, options);
  }
}

export async function resolveEndpointOf(
  { config, secrets, usedSecrets: { pending }, redactor, report }: ServerContext,
  endpoint: Endpoint,
): Promise<Endpoint> {
  const { alias, origin } = config;
  const resolved = await resolveEndpoint(endpoint, secrets, { baseDir: folderOf(origin.file), pending });
  for (const secret of resolved.secrets) redactor.add(secret);
  if (!resolved.ok) throw toSecretError(resolved, alias);
  for (const warning of resolved.warnings) report({ ...warning, server: alias });
  return resolved.endpoint;
}

function folderOf(file: string): string {
  const cut = Math.max(file.lastIndexOf("/"), file.lastIndexOf("\\"));
  return cut <= 0 ? "." : file.slice(0, cut);
}

type SecretOptions = Pick<ServerContext, "config" | "secrets" | "usedSecrets" | "redactor" | "report"> & {
  readonly given?: Readonly<Record<string, string>>;
};

interface InvokedSecrets {
  readonly env: ReadonlyMap<string, string>;
  /** The operations that cannot be used because of missing secrets. */
  readonly lacks?: Diagnostic;
}

const SHOWN_OPERATIONS = 10;

/** Secrets of an mcpfile server. A missing secret blocks only the operations that use it; throws when that is all of them. */
async function resolveInvoked(options: SecretOptions, server: InvokedServer): Promise<InvokedSecrets> {
  const { blockedBy, envNames, envPlaces } = await import("../../invoke/index.ts");
  const { alias } = options.config;
  const names = [...envNames(server)];
  const resolved = await resolveNames(options, names);
  if (resolved.ok) return resolved;
  const lacking = new Set([
    ...resolved.missing.map(({ name }) => name),
    ...resolved.problems.map(({ where }) => where.replace(/^env\./, "")),
  ]);
  const blocked = blockedBy(server, lacking);
  const places = envPlaces(server);
  const error = toSecretError(inMcpfile(resolved, places), alias);
  if (blocked.all) throw error;
  const rest = await resolveNames(
    options,
    names.filter((name) => !lacking.has(name)),
  );
  if (!rest.ok) throw toSecretError(inMcpfile(rest, places), alias);
  const { code, message, hint } = error;
  const shown = blocked.names.slice(0, SHOWN_OPERATIONS).join(", ");
  const more = blocked.names.length > SHOWN_OPERATIONS ? ", …" : "";
  return {
    env: rest.env,
    lacks: {
      code,
      severity: "warning",
      server: alias,
      message: `${message} Until you correct this, these operations of ${alias} do not work: ${shown}${more}.`,
      hint,
    },
  };
}

/** Names the places of the mcpfile, in place of the variables that `resolveNames` looked up. */
function inMcpfile(unresolved: UnresolvedEndpoint, places: ReadonlyMap<string, string>): UnresolvedEndpoint {
  const placed = <T extends { readonly where: string }>(entry: T): T => ({
    ...entry,
    where: places.get(entry.where.replace(/^env\./, "")) ?? entry.where,
  });
  return {
    ...unresolved,
    missing: unresolved.missing.map(placed),
    problems: unresolved.problems.map(placed),
  };
}

/** Looks up secrets that were missing before. Throws when one still is. */
async function resolveLater(
  options: SecretOptions,
  names: readonly string[],
  server: InvokedServer,
): Promise<ReadonlyMap<string, string>> {
  const resolved = await resolveNames(options, names);
  const { envPlaces } = await import("../../invoke/index.ts");
  if (!resolved.ok) throw toSecretError(inMcpfile(resolved, envPlaces(server)), options.config.alias);
  return resolved.env;
}

/** Resolves the names like environment variables of a program. */
async function resolveNames(
  { config, secrets, usedSecrets: { pending }, redactor, report, given }: SecretOptions,
  names: readonly string[],
): Promise<{ readonly ok: true; readonly env: ReadonlyMap<string, string> } | UnresolvedEndpoint> {
  const missing = given === undefined ? [] : names.filter((name) => !Object.hasOwn(given, name));
  if (missing.length > 0)
    return {
      ok: false,
      missing: missing.map((name) => ({ name, where: `env.${name}`, inEnvironment: false })),
      problems: [],
      secrets: [],
    };
  const wanted = Object.fromEntries(names.map((name) => [name, given?.[name] ?? `\${${name}}`]));
  const endpoint: Endpoint = { transport: "stdio", command: "", env: wanted };
  // The config of a package may refer to files; an mcpfile itself does not.
  const baseDir = folderOf(config.origin.file);
  const resolved = await resolveEndpoint(endpoint, secrets, { baseDir, pending });
  for (const secret of resolved.secrets) redactor.add(secret);
  if (!resolved.ok) return resolved;
  for (const warning of resolved.warnings) report({ ...warning, server: config.alias });
  const { endpoint: filled } = resolved;
  const values = filled.transport === "stdio" ? filled.env : undefined;
  return { ok: true, env: new Map(Object.entries(values ?? {})) };
}
