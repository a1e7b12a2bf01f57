// Contracts of a workspace: finds them among its servers, and opens them alone for the commands about contracts.

import { dirname, resolve } from "node:path";
import { exposedNames } from "../../client/index.ts";
import type { Contracts } from "../../contracts/index.ts";
import { didYouMean, PortolanError } from "../../errors/index.ts";
import { type ContractsEndpoint, type ConfiguredDriver, type ServerConfig, idIn } from "../../model/index.ts";
import type { Cli } from "../context.ts";
import { configError } from "../output/diagnostic.ts";
import { aborted } from "../terminal/interrupt.ts";
import { type Opened, withWorkspace } from "./open.ts";
import { loadSource, type Source } from "./source.ts";

export interface ContractsSource {
  readonly source: Source;
  /** The name of the server that serves the contracts. */
  readonly alias: string;
  readonly endpoint: ContractsEndpoint;
}

/** The contracts of a workspace; undefined when it has no drivers. */
export function contractsOf(source: Source): ContractsSource | undefined {
  for (const { alias, endpoint } of source.config.servers)
    if (endpoint.transport === "contracts") return { source, alias, endpoint };
  return undefined;
}

/** Loads the contracts of the workspace. Throws when it has none. */
export async function loadContracts(cli: Cli): Promise<ContractsSource> {
  const source = await loadSource(cli);
  const found = contractsOf(source);
  if (found !== undefined) return found;
  const errors = source.ofDrivers.filter(({ severity }) => severity === "error");
  if (errors.length > 0) throw configError(errors, cli);
  throw new PortolanError("SERVER_UNKNOWN", `${source.path} has no drivers.`, {
    hint: "A driver is a file .drivers/<id>/DRIVER.md. To create one for a server: portolan author <package | image | program | url>",
  });
}

export function requireDriver({ endpoint }: Pick<ContractsSource, "endpoint">, id: string): ConfiguredDriver {
  const found = endpoint.drivers.find(({ driver }) => driver.id === id);
  if (found !== undefined) return found;
  const known = endpoint.drivers.map(({ driver }) => driver.id);
  throw new PortolanError("SERVER_UNKNOWN", `This workspace has no driver ${JSON.stringify(id)}.`, {
    hint:
      didYouMean(id, known) ??
      (known.length === 0
        ? "The workspace has no drivers."
        : `Its drivers: ${known.slice(0, 20).join(", ")}.`),
  });
}

/** Finds a contract by its id, or by the tool name that agents see. */
export function findContract(
  { contracts }: ContractsEndpoint,
  word: string,
): { readonly id: string; readonly name: string } | undefined {
  const names = exposedNames(contracts.map(({ id }) => id));
  const named = names.get(word);
  if (named !== undefined) return { id: word, name: named };
  for (const [id, name] of names) if (name === word) return { id, name };
  return undefined;
}

/** The ids of the drivers that bind a contract, working or not. */
export function driversFor({ contracts, drivers, root }: ContractsEndpoint, id: string): readonly string[] {
  const files = contracts
    .filter((contract) => contract.id === id)
    .map(({ origin }) => resolve(root, origin.file));
  const isMeant = (tool: string, base: string): boolean =>
    [resolve(base, tool), resolve(base, tool, "TOOL.md")].some((file) => files.includes(file));
  return drivers
    .map(({ driver }) => driver)
    .filter(({ implements: bindings, origin }) =>
      bindings.some(
        ({ tool }) =>
          idIn(tool) === id || isMeant(tool, root) || isMeant(tool, dirname(resolve(root, origin.file))),
      ),
    )
    .map((driver) => driver.id);
}

/** Removes all other drivers, so that the command does not wait for their servers. */
export function onlyDrivers(endpoint: ContractsEndpoint, ids: readonly string[]): ContractsEndpoint {
  const kinds = ({ driver }: ConfiguredDriver): readonly string[] =>
    driver.resources.flatMap((one) => (one.integrateAs === "ref_kind" ? [one.refKindId] : []));
  const wanted = endpoint.drivers.filter(({ driver }) => ids.includes(driver.id));
  const claimed = new Set(wanted.flatMap(kinds));
  // Only one driver can own a kind of reference, so drivers that claim the same kind stay in: they affect each other's state.
  const drivers = endpoint.drivers.filter(
    (one) => wanted.includes(one) || kinds(one).some((kind) => claimed.has(kind)),
  );
  return { ...endpoint, drivers };
}

/** Opens only the contracts of the workspace; `change` may replace what the config files say. */
export function withContracts<T>(
  cli: Cli,
  { source, alias }: ContractsSource,
  use: (contracts: Contracts, opened: Opened) => Promise<T>,
  change: (endpoint: ContractsEndpoint) => ContractsEndpoint = (same) => same,
): Promise<T> {
  const changed = (server: ServerConfig): ServerConfig =>
    server.endpoint.transport === "contracts" ? { ...server, endpoint: change(server.endpoint) } : server;
  const config = { ...source.config, servers: source.config.servers.map(changed) };
  const open = { only: [alias], start: "eager", showsSource: true } as const;
  return withWorkspace(cli, { ...source, config }, open, async (opened) => {
    const contracts = await opened.workspace.contracts();
    if (contracts === undefined) throw new PortolanError("INTERNAL", "The contracts were not opened.");
    // Portolan verifies slow servers in the background; the command reports the state of all of them.
    await Promise.race([contracts.settled(), aborted(cli.interrupt.signal)]);
    cli.interrupt.signal.throwIfAborted();
    return use(contracts, opened);
  });
}
