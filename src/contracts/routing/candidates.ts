// The drivers that serve now, as routing reads them for one caller.

import { idIn } from "../../model/index.ts";
import type { AuthMachine } from "../auth/auth-machine.ts";
import type { SecretGrants } from "../auth/secret-grants.ts";
import type { CallContext } from "../contract/call-context.ts";
import type { ContractCatalog } from "../contract/contract-catalog.ts";
import type { DriverRegistry } from "../driver/driver-registry.ts";
import type { RegisteredDriver } from "../driver/registered-driver.ts";
import type { Candidate, Service } from "./route.ts";

export interface CandidateParts {
  readonly registry: DriverRegistry;
  readonly catalog: ContractCatalog;
  readonly auth: AuthMachine;
  readonly grants: SecretGrants | undefined;
}

export function candidatesFor(
  { registry, catalog, auth, grants }: CandidateParts,
  context: CallContext,
): readonly Candidate[] {
  return registry.all().map((registered) => {
    const { driver, hooks, health, verification } = registered;
    const withheld = verification.withheldFor(context);
    const denied = (contract: string): Denied =>
      grants?.denial(driver, contract, context) ?? withheldDenial(registered, contract, withheld);
    return {
      id: driver.id,
      version: driver.version,
      kind: driver.kind,
      region: driver.region,
      policyTags: driver.policyTags,
      status: {
        server: verification.stateFor(context),
        auth: auth.routingState(driver, hooks, context),
        health: health.status,
        healthReason: health.reason,
        healthyAt: health.healthyAt,
        isHealthChecked: health.isChecked,
      },
      serves: servicesOf(registered, catalog, registry.isPredecessor(registered), denied),
    };
  });
}

type Denied = Service["denied"];

/** Other contracts of the driver are served as before. */
function withheldDenial(
  { bound, hooks }: RegisteredDriver,
  contract: string,
  withheld: ReadonlyMap<string, string>,
): Denied {
  if (withheld.size === 0 || hooks.execute?.[contract] !== undefined) return undefined;
  const reason = withheld.get(bound.get(contract)?.binding.toolName ?? "");
  return reason === undefined ? undefined : { reason, code: "tool_unavailable" };
}

function servicesOf(
  { driver, bound }: RegisteredDriver,
  catalog: ContractCatalog,
  isPredecessor: boolean,
  denied: (contract: string) => Denied,
): Service[] {
  // A refused driver is bound to no contract, and is still listed among the drivers that could not serve.
  if (bound.size === 0)
    return driver.implements.map(({ tool, range, dropInputs }) => ({
      tool: catalog.has(idIn(tool)) ? idIn(tool) : tool.replace(/\/TOOL\.md$/, "").replace(/^.*\//, ""),
      range,
      dropInputs,
    }));
  return [...bound.values()].flatMap(({ contract, binding: { range, dropInputs }, cost }) =>
    // A binding to the earlier contract says nothing about a contract that promises something else.
    isPredecessor && !catalog.offers(contract)
      ? []
      : [
          {
            tool: contract.id,
            range,
            version: contract.version,
            dropInputs,
            cost,
            denied: denied(contract.id),
          },
        ],
  );
}

/** By contract, the inputs that at least one driver does not take. */
export function narrowedInputs(
  drivers: Iterable<RegisteredDriver>,
): ReadonlyMap<string, ReadonlySet<string>> {
  const all = new Map<string, Set<string>>();
  for (const { bound } of drivers)
    for (const [id, { binding }] of bound)
      if (binding.dropInputs.length > 0)
        all.set(id, new Set([...(all.get(id) ?? []), ...binding.dropInputs]));
  return all;
}
