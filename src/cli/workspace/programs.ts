// Programs that run the servers and drivers of a workspace.

import {
  type ServerConfig,
  type Driver,
  type HttpProgram,
  type StdioEndpoint,
  withDriverMode,
} from "../../model/index.ts";
import { contractsOf, type ContractsSource } from "./contracts.ts";
import type { Source } from "./source.ts";

/** The program that Portolan starts for a server; undefined when it starts none. */
export function programOf({ endpoint }: ServerConfig): StdioEndpoint | HttpProgram | undefined {
  if (endpoint.transport === "stdio") return endpoint;
  return endpoint.transport === "invoke" || endpoint.transport === "contracts" ? undefined : endpoint.program;
}

/** Explains why Portolan starts no program for a server. */
export function noProgram({ endpoint }: ServerConfig): string {
  if (endpoint.transport === "contracts")
    return "serves the contracts of drivers: the programs to start are those of the drivers";
  return endpoint.transport === "invoke"
    ? "is an mcpfile that Portolan runs itself: there is no program to start"
    : "is reached by its URL: there is no program to start";
}

/** The servers of a workspace's drivers, each as a server config under the driver's id. A packaged one is a server already. */
export function driverServers(source: Source): ServerConfig[] {
  const own = contractsOf(source);
  const drivers = own?.endpoint.drivers.filter(({ driver }) => driver.packaged === undefined) ?? [];
  return own === undefined ? [] : drivers.map(({ driver }) => serverOf(driver, own));
}

/** The server of a driver; undefined when no driver has this id, or when a server has this name. */
export function findDriverServer(source: Source, name: string): ServerConfig | undefined {
  if (source.config.servers.some(({ alias }) => alias === name)) return undefined;
  return driverServers(source).find(({ alias }) => alias === name);
}

function serverOf({ id, endpoint, launch, origin }: Driver, own: ContractsSource): ServerConfig {
  const started = endpoint.transport === "stdio" ? { cwd: own.endpoint.root, ...endpoint } : endpoint;
  const settings = withDriverMode({ ...launch, cwdImplied: true }, id, {
    override: undefined,
    alias: own.alias,
    byDriver: own.endpoint.policy.sandbox,
  });
  return { alias: id, origin, enabled: true, endpoint: started, launch: settings };
}
