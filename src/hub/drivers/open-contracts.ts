// Opens the contracts of a workspace as one session of the hub, with the servers of their drivers.

import {
  type Contracts,
  type DriverEntry,
  LOCAL_USER,
  openContracts,
  type OpenContractsOptions,
  SecretGrants,
} from "../../contracts/index.ts";
import { variablesOf } from "../../formats/driver/index.ts";
import type { Contract, ContractsEndpoint, Driver, Limits, SecretEntry } from "../../model/index.ts";
import { isPortolanError, PortolanError, type Report } from "../../errors/index.ts";
import type { SecretStore } from "../../secrets/index.ts";
import type { SessionHandle } from "../../upstream/index.ts";
import { contextFor } from "./caller-context.ts";
import { driverAuth } from "./driver-auth.ts";
import { withDriverCode } from "./driver-code.ts";
import { DriverServers } from "./driver-servers.ts";
import type { ServerContext } from "../processes/open-server-session.ts";
import type { ProcessListener } from "../processes/process-pool.ts";
import { registeredDrivers, rememberContracts, rememberDrivers, separateBroken } from "./registrations.ts";

export async function openContractsSession(
  options: ServerContext,
  written: ContractsEndpoint,
  limits: Limits,
  leave: AbortSignal,
  listener: ProcessListener,
): Promise<SessionHandle & { readonly upstream: Contracts }> {
  const drivers = await Promise.all(written.drivers.map((driver) => withDriverCode(driver, options)));
  // The drivers as their code changed them, which everything below uses.
  const contracts = [...written.contracts];
  const endpoint: ContractsEndpoint = {
    ...written,
    contracts,
    drivers: written.drivers.map((one, index) => ({ ...one, driver: drivers[index]?.driver ?? one.driver })),
  };
  const grants = new SecretGrants(
    endpoint.secrets,
    fetchFrom(options.secrets),
    options.audit,
    endpoint.contracts,
  );
  const hooks = new Map(drivers.map((one) => [one.driver.id, one.hooks ?? {}]));
  // The contracts have no process that could be idle; the drivers' servers have.
  const idleMs = options.config.idleStopMs;
  const servers = new DriverServers({
    context: options,
    endpoint,
    limits,
    grants,
    listener,
    hooks,
    idleMs,
  });
  options.usedSecrets.hasNew = () => servers.hasNewSecrets();
  const left = (): void => void servers.close();
  leave.addEventListener("abort", left, { once: true });
  try {
    if (leave.aborted) throw stopped(options);
    const { upstream, keep } = await open({
      ...{ options, endpoint, drivers, grants, servers, listener, leave },
      contractAdded: (contract) => {
        const { id, version } = contract;
        const before = contracts.findIndex((one) => one.id === id && one.version === version);
        contracts.splice(before < 0 ? contracts.length : before, 1, contract);
      },
    });
    if (leave.aborted) {
      await upstream.close();
      throw stopped(options);
    }
    return {
      upstream,
      busy: () => upstream.stats().inFlight > 0 || servers.busy || upstream.isHandingOver,
      release: async () => {
        await keep();
        await upstream.close();
        await servers.close();
      },
    };
  } catch (error) {
    await servers.close();
    throw error;
  } finally {
    leave.removeEventListener("abort", left);
  }
}

function stopped({ config: { alias } }: ServerContext): PortolanError {
  const message =
    "the call was not made: Portolan was stopped, or the config changed, before the contracts were loaded";
  return new PortolanError("CONNECTION_CLOSED", message, {
    server: alias,
    hint: "If Portolan still runs, call again.",
  });
}

interface Parts {
  readonly options: ServerContext;
  readonly endpoint: ContractsEndpoint;
  readonly drivers: readonly DriverEntry[];
  readonly grants: SecretGrants;
  readonly servers: DriverServers;
  readonly listener: ProcessListener;
  readonly leave: AbortSignal;
  readonly contractAdded: (contract: Contract) => void;
}

async function open({
  contractAdded,
  options,
  endpoint,
  drivers,
  grants,
  servers,
  listener,
  leave,
}: Parts): Promise<{ readonly upstream: Contracts; readonly keep: () => Promise<void> }> {
  const { audit } = options;
  // Errors after an abort are not reported.
  const report: Report = (diagnostic) => {
    if (!leave.aborted) options.report(diagnostic);
  };
  const { contracts, refused } = await separateBroken(endpoint.root, endpoint.contracts, report);
  const opening: OpenContractsOptions = {
    name: options.config.alias,
    contracts,
    refused,
    contractAdded,
    drivers,
    acquire: servers.acquire,
    policy: endpoint.policy,
    audit,
    report,
    root: endpoint.root,
    workspaceId: endpoint.root,
    userId: LOCAL_USER,
    contextOf: contextFor(endpoint.contracts),
    auth: await driverAuth({ context: options, endpoint, listener }),
    authChanged: ({ driver: id, context, to }) => {
      const found = endpoint.drivers.find(({ driver }) => driver.id === id);
      if (found !== undefined && (to === "authed" || to === "unauthed"))
        servers.retire(found.driver, context);
    },
    // A login needs no server.
    probe: options.person === undefined ? undefined : "lazy",
    secrets: grants,
    // Sandboxed servers check paths themselves, with the path guard.
    checkUri: () => undefined,
    approve: options.approve,
    approvalHint: options.approvalHint,
    bumps: "enforce",
    toolApproval: options.driverPins.approval(() => options.config.pins),
    earlier: await registeredDrivers(endpoint.root),
  };
  const before = options.before?.();
  const upstream = await openContracts(opening, before);
  if (options.storesNothing === true) return { upstream, keep: async () => {} };
  let kept: Promise<void> | undefined;
  const keep = (): Promise<void> => (kept ??= keepVerified(upstream, endpoint, contracts, report));
  // Slow servers are verified later. On an earlier release only the drivers verified by then are stored.
  void upstream.settled().then(keep);
  return { upstream, keep };
}

/** Stores verified drivers only, because drafts may change freely. */
async function keepVerified(
  upstream: Contracts,
  endpoint: ContractsEndpoint,
  contracts: readonly Contract[],
  report: Report,
): Promise<void> {
  const verified = upstream.status().filter(({ server }) => server === "verified");
  const ids = new Set(verified.map(({ id }) => id));
  const served = new Set(verified.flatMap((one) => one.contracts));
  const kept = {
    drivers: endpoint.drivers.flatMap(({ driver }) => (ids.has(driver.id) ? [driver] : [])),
    contracts: contracts.filter(({ id }) => served.has(id)),
  };
  await remember(endpoint.root, kept, report);
}

async function remember(
  root: string,
  kept: { readonly drivers: readonly Driver[]; readonly contracts: readonly Contract[] },
  report: Report,
): Promise<void> {
  try {
    await rememberDrivers(root, kept.drivers);
    await rememberContracts(root, kept.contracts);
  } catch (error) {
    report({
      code: "FILE_FAILED",
      severity: "info",
      message: `Portolan could not save the list of registered drivers and contracts: ${error instanceof Error ? error.message : String(error)}`,
    });
  }
}

/** Reads a secret from the store by each of its environment variable names. */
function fetchFrom(store: SecretStore): (entry: SecretEntry, name: string) => Promise<string | undefined> {
  return async (entry, name) => {
    for (const one of new Set([name, ...variablesOf(entry)])) {
      const found = await store.get(one).catch((error: unknown) => {
        if (isPortolanError(error) && error.code === "SECRET_STORE_FAILED") throw error;
        return undefined;
      });
      if (found !== undefined) return found.secret.reveal();
    }
    return undefined;
  };
}
