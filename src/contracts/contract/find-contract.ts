// Finds the contract of a binding: by its id, or by the path of its file from the workspace or from the driver.

import { dirname, resolve } from "node:path";
import { compareVersions, parseVersion, satisfies } from "../../base/text/versions.ts";
import { type Contract, type Driver, isNamed } from "../../model/index.ts";

export type FoundContract =
  | { readonly contract: Contract }
  /** The contract exists, but not in a version that the binding serves. */
  | { readonly outOfRange: Contract }
  | undefined;

export function findContract(
  tool: string,
  range: string,
  contracts: readonly Contract[],
  driver: Driver,
  root: string,
): FoundContract {
  const byId = contracts.filter((contract) => isNamed(contract, tool));
  const found = byId.length > 0 ? byId : contracts.filter((contract) => isAt(contract, tool, driver, root));
  const newestFirst = [...found].sort(newer);
  const matching = newestFirst.find(({ version }) => satisfies(version, range));
  if (matching !== undefined) return { contract: matching };
  const [newest] = newestFirst;
  return newest === undefined ? undefined : { outOfRange: newest };
}

function isAt({ origin }: Contract, tool: string, driver: Driver, root: string): boolean {
  const file = resolve(root, origin.file);
  return [root, dirname(resolve(root, driver.origin.file))].some((base) =>
    [resolve(base, tool), resolve(base, tool, "TOOL.md")].includes(file),
  );
}

function newer(a: Contract, b: Contract): number {
  const [left, right] = [parseVersion(a.version), parseVersion(b.version)];
  return left === undefined || right === undefined ? 0 : compareVersions(right, left);
}
