// Registered contracts of a workspace, so that a breaking change without a new major version is noticed.

import { checkBump } from "../../contracts/index.ts";
import type { Report } from "../../errors/index.ts";
import { type Contract, isObject } from "../../model/index.ts";
import { type Kind, registered, remember } from "./registered.ts";

const CONTRACTS: Kind<Contract> = {
  name: "contracts",
  ending: ".contracts.json",
  keyOf: ({ id, version }) => `${id}@${version.split(".", 1)[0] ?? ""}`,
  isIt: isContract,
};

/** The registered contract that this one replaces. */
export async function registeredContract(root: string, contract: Contract): Promise<Contract | undefined> {
  return (await registered(CONTRACTS, root)).get(CONTRACTS.keyOf(contract));
}

/** The contracts without a breaking change, or with a new major version. */
export async function unbrokenContracts(
  root: string,
  contracts: readonly Contract[],
  report: Report,
): Promise<Contract[]> {
  const known = await registered(CONTRACTS, root);
  return contracts.filter((contract) => {
    const before = known.get(CONTRACTS.keyOf(contract));
    const problems = before === undefined ? [] : checkBump(before, contract);
    for (const { hint, ...problem } of problems)
      report({
        ...problem,
        hint: `${hint ?? ""} Or, if nobody relies on it: portolan drivers accept ${contract.id}`,
      });
    return !problems.some(({ severity }) => severity === "error");
  });
}

export async function rememberContracts(root: string, contracts: readonly Contract[]): Promise<void> {
  await remember(CONTRACTS, root, contracts);
}

function isContract(value: unknown): value is Contract {
  return (
    isObject(value) &&
    typeof value.id === "string" &&
    typeof value.version === "string" &&
    isObject(value.inputs) &&
    isObject(value.outputs) &&
    isObject(value.origin) &&
    Array.isArray(value.mutates)
  );
}
