// The programs behind the servers and drivers of a workspace.

import {
  type DeclaredServer,
  type Driver,
  type HttpProgram,
  type StdioEndpoint,
  withDriverMode,
} from "../../model/index.ts";
import { contractsOf, type ContractsSource } from "./contracts.ts";
import type { Source } from "./source.ts";

/** Undefined when nothing is started for it. */
export function programOf({ endpoint }: DeclaredServer): StdioEndpoint | HttpProgram | undefined {
  if (endpoint.transport === "stdio") return endpoint;
  return endpoint.transport === "invoke" || endpoint.transport === "contracts" ? undefined : endpoint.program;
}

/** Why nothing is started for it. */
export function noProgram({ endpoint }: DeclaredServer): string {
  return endpoint.transport === "invoke"
    ? "is carried out by portolan itself: there is no program to start"
    : "is reached at an address: nothing is started here";
}

/** The servers behind the drivers of a workspace, each as if it were declared by itself under the driver's name. */
export function driverServers(source: Source): DeclaredServer[] {
  const own = contractsOf(source);
  return own?.endpoint.drivers.map(({ driver }) => serverOf(driver, own)) ?? [];
}

/** Undefined when there is none, or when a server has that name. */
export function driverNamed(source: Source, name: string): DeclaredServer | undefined {
  if (source.config.servers.some(({ alias }) => alias === name)) return undefined;
  return driverServers(source).find(({ alias }) => alias === name);
}

function serverOf({ id, endpoint, launch, origin }: Driver, own: ContractsSource): DeclaredServer {
  const started = endpoint.transport === "stdio" ? { cwd: own.endpoint.root, ...endpoint } : endpoint;
  const settings = withDriverMode({ ...launch, cwdImplied: true }, id, {
    override: undefined,
    alias: own.alias,
    byDriver: own.endpoint.policy.sandbox,
  });
  return { alias: id, origin, enabled: true, endpoint: started, launch: settings };
}
