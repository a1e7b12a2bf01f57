// The drivers that serve as routing sees them, for one caller.

import { idIn } from "../../model/index.ts";
import type { AuthMachine } from "../auth/auth-machine.ts";
import type { ContractShelf } from "../contract/contract-catalog.ts";
import { type Registered, statusFor } from "../driver/registered-driver.ts";
import type { DriverRegistry } from "../driver/driver-registry.ts";
import type { Candidate, Service } from "./route.ts";
import type { SecretGrants } from "../auth/secret-grants.ts";
import type { CallContext } from "../driver/bound-tool.ts";

export interface CandidateParts {
  readonly registry: DriverRegistry;
  readonly shelf: ContractShelf;
  readonly auth: AuthMachine;
  readonly grants: SecretGrants | undefined;
}

export function candidatesFor(
  { registry, shelf, auth, grants }: CandidateParts,
  context: CallContext,
): readonly Candidate[] {
  return Array.from(registry.all(), (registered) => {
    const { driver, hooks, health, healthReason, healthyAt } = registered;
    const { server, reason, code, again } = statusFor(registered, context);
    const denied = (tool: string): Denied => grants?.denial(driver, tool, context);
    return {
      id: driver.id,
      version: driver.version,
      kind: driver.kind,
      region: driver.region,
      policyTags: driver.policyTags,
      status: {
        server,
        reason,
        code,
        again,
        unsure: server !== "fits" || !registered.healthAsked,
        auth: auth.routingState(driver, hooks, context),
        health,
        healthReason,
        healthyAt,
      },
      serves: servicesOf(registered, shelf, registry.isStandIn(registered), denied),
    };
  });
}

type Denied = Service["denied"];

function servicesOf(
  { driver, bound }: Registered,
  shelf: ContractShelf,
  standIn: boolean,
  denied: (tool: string) => Denied,
): Service[] {
  // A refused driver is bound to nothing, and is still named among those that could not serve.
  if (bound.size === 0)
    return driver.implements.map(({ tool, range, dropInputs }) => ({
      tool: shelf.has(idIn(tool)) ? idIn(tool) : tool.replace(/\/TOOL\.md$/, "").replace(/^.*\//, ""),
      range,
      dropInputs,
    }));
  return [...bound.values()].flatMap(({ contract, binding: { range, dropInputs }, cost }) =>
    // What was made ready for the contract of before says nothing about one that promises something else.
    standIn && !shelf.offers(contract)
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

/** By contract, the inputs that some driver does not take. */
export function narrowedInputs(drivers: Iterable<Registered>): ReadonlyMap<string, ReadonlySet<string>> {
  const all = new Map<string, Set<string>>();
  for (const { bound } of drivers)
    for (const [id, { binding }] of bound)
      if (binding.dropInputs.length > 0)
        all.set(id, new Set([...(all.get(id) ?? []), ...binding.dropInputs]));
  return all;
}
