// Which secrets the drivers of a workspace need, by which names their values are found, and for which contracts they may have them.

import { checkAccess, LOCAL_USER, SecretGrants } from "../../contracts/index.ts";
import { variablesOf } from "../../formats/driver/index.ts";
import { type ContractsEndpoint, type Driver, parseReferences, type SecretEntry } from "../../model/index.ts";
import { driversFor } from "../workspace/contracts.ts";

export interface SecretGrantState {
  readonly driver: string;
  /** Absent where no SECRETS.md speaks of the secret at all. */
  readonly contract?: string | undefined;
  readonly granted: boolean;
  /** Why not. */
  readonly reason?: string | undefined;
}

export interface DriverSecret {
  readonly driver: Driver;
  readonly name: string;
  /** Where the server gets it. */
  readonly where: string;
  /** Names under which its value is looked for, the likeliest first. */
  readonly names: readonly string[];
  readonly grants: readonly SecretGrantState[];
}

/** For whoever runs the command. */
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
        // As the server's own start looks for it.
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
