// Tags of single tools: those of the server; for a contract also its own and those of its drivers.

import { dirname, resolve } from "node:path";
import type { Binding, Contract, ContractsEndpoint, ServerConfig, Driver } from "../../model/index.ts";

export interface ToolTags {
  /** Tags that the tool always has. A rule that allows tags reads these. */
  readonly tags: readonly string[];
  /** Tags that it has with some of its drivers. A rule that denies tags reads these too. */
  readonly possibleTags?: readonly string[];
}

/** Cache: computed once per config, and freed with it. */
const known = new WeakMap<ContractsEndpoint, ReadonlyMap<string, Required<ToolTags>>>();

/** `own` is the server's own name for the tool. */
export function tagsOfTool({ endpoint, tags = [] }: ServerConfig, own: string): ToolTags {
  if (endpoint.transport !== "contracts") return { tags };
  let all = known.get(endpoint);
  if (all === undefined) {
    all = tagsOfContracts(endpoint);
    known.set(endpoint, all);
  }
  const found = all.get(own);
  return found === undefined
    ? { tags }
    : { tags: [...tags, ...found.tags], possibleTags: found.possibleTags };
}

/** The contracts that a driver serves, each with the tags that it has with this driver. */
export function contractsOfDriver(
  { endpoint, tags = [] }: ServerConfig,
  id: string,
): readonly { readonly id: string; readonly tags: readonly string[] }[] {
  if (endpoint.transport !== "contracts") return [];
  const { contracts, drivers, root } = endpoint;
  const driver = drivers.find((one) => one.driver.id === id)?.driver;
  if (driver === undefined) return [];
  return contracts
    .filter((contract) => driver.implements.some((binding) => isMeant(contract, binding, driver, root)))
    .map((contract) => ({
      id: contract.id,
      tags: [...tags, ...contract.tags, ...driver.tags, ...driver.policyTags],
    }));
}

function tagsOfContracts({ contracts, drivers, root }: ContractsEndpoint): Map<string, Required<ToolTags>> {
  const found = new Map<string, Required<ToolTags>>();
  for (const id of new Set(contracts.map((contract) => contract.id))) {
    const versions = contracts.filter((contract) => contract.id === id);
    const serving = drivers.filter(({ driver }) =>
      driver.implements.some((binding) =>
        versions.some((contract) => isMeant(contract, binding, driver, root)),
      ),
    );
    const ofContract = versions.map(({ tags }) => tags);
    const ofDrivers = serving.map(({ driver: { tags, policyTags } }) => [...tags, ...policyTags]);
    found.set(id, {
      tags: [...common(ofContract), ...common(ofDrivers)],
      possibleTags: [...ofContract, ...ofDrivers].flat(),
    });
  }
  return found;
}

/** A binding names a contract by its id, or by the path of its file or folder, relative to the workspace or the driver. */
function isMeant({ id, origin }: Contract, { tool }: Binding, driver: Driver, root: string): boolean {
  if (id === tool) return true;
  const file = resolve(root, origin.file);
  return [root, dirname(resolve(root, driver.origin.file))].some((base) =>
    [resolve(base, tool), resolve(base, tool, "TOOL.md")].includes(file),
  );
}

function common(lists: readonly (readonly string[])[]): readonly string[] {
  const [first = [], ...others] = lists;
  return first.filter((tag) => others.every((tags) => tags.includes(tag)));
}
