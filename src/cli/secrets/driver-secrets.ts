// Secrets that the drivers of a workspace need: their names, and the contracts that they are granted for.

import { checkAccess, LOCAL_USER, SecretGrants } from "../../contracts/index.ts";
import { variablesOf } from "../../formats/driver/index.ts";
import { type ContractsEndpoint, type Driver, parseReferences, type SecretEntry } from "../../model/index.ts";
import { driversFor } from "../workspace/contracts.ts";

export interface SecretGrantState {
  readonly driver: string;
  /** Absent when no SECRETS.md has an entry for the secret. */
  readonly contract?: string;
  readonly granted: boolean;
  /** Why it is not granted. */
  readonly reason?: string;
}

export interface DriverSecret {
  readonly driver: Driver;
  readonly name: string;
  /** The field of the endpoint that refers to it. */
  readonly where: string;
  /** The names of the secret, in the order of the lookup. */
  readonly names: readonly string[];
  readonly grants: readonly SecretGrantState[];
}

/** The secrets of all drivers, with the grants of the local user. */
export function driverSecrets(endpoint: ContractsEndpoint): DriverSecret[] {
  const grants = new SecretGrants(endpoint.secrets, async () => undefined);
  const ids = [...new Set(endpoint.contracts.map(({ id }) => id))];
  const users = new Map(ids.map((id) => [id, driversFor(endpoint, id)] as const));
  return endpoint.drivers.flatMap(({ driver }) => {
    const served = ids.filter((id) => users.get(id)?.includes(driver.id) === true);
    return grants.namesOf(driver).map((name) => {
      const entry = grants.find(name, driver);
      return {
        driver,
        name,
        where: whereOf(driver, name),
        // The same names as at the start of the server.
        names: entry === undefined ? [name] : [...new Set([name, ...variablesOf(entry)])],
        grants:
          entry === undefined
            ? [{ driver: driver.id, granted: false, reason: grants.noEntry(name, driver) }]
            : served.map((contract) => grantState(driver, entry, contract)),
      };
    });
  });
}

function grantState({ id }: Driver, entry: SecretEntry, contract: string): SecretGrantState {
  const access = checkAccess(entry, "bind", { userId: LOCAL_USER, tool: contract });
  return {
    driver: id,
    contract,
    granted: access.granted,
    ...(access.granted ? {} : { reason: access.reason }),
  };
}

function whereOf({ endpoint }: Driver, name: string): string {
  const maps =
    endpoint.transport === "stdio"
      ? { env: endpoint.env }
      : { headers: endpoint.headers, env: endpoint.program?.env };
  for (const [field, map] of Object.entries(maps))
    for (const [key, text] of Object.entries(map ?? {}))
      if (parseReferences(text).parts.some((part) => part.kind === "secret" && part.name === name))
        return `${field}.${key}`;
  return "server";
}
