// Catalog of the contracts of a workspace, ready to be called: a contract is offered while a driver serves it.

import { isDeepStrictEqual } from "node:util";
import { compareVersions, parseVersion, satisfies } from "../../base/text/versions.ts";
import { idIn, isNamed, type Contract, type Driver } from "../../model/index.ts";
import { exposedNames } from "../../client/index.ts";
import { prepareContract, type PreparedContract } from "./prepared-contract.ts";
import type { RegisteredDriver } from "../driver/registered-driver.ts";
import { dirname, resolve } from "node:path";

/** By id, the newest version first. */
type Prepared = Map<string, readonly PreparedContract[]>;
type Offered = ReadonlyMap<string, PreparedContract>;

export class ContractCatalog {
  readonly #prepared: Prepared;
  /** Contracts that the set before offered; its drivers may still serve. */
  readonly #before: Offered;
  readonly #serving: () => Iterable<RegisteredDriver>;
  /** Contract ids by the name that clients see. */
  #ids: ReadonlyMap<string, string>;
  #offered: Offered | undefined;

  constructor(prepared: Prepared, before: Offered, serving: () => Iterable<RegisteredDriver>) {
    this.#prepared = prepared;
    this.#before = before;
    this.#serving = serving;
    this.#ids = idsByName(prepared);
  }

  /** Replaces a contract of the same version. */
  add(contract: PreparedContract): void {
    const { id, version } = contract.contract;
    const others = (this.#prepared.get(id) ?? []).filter((one) => one.contract.version !== version);
    this.#prepared.set(id, [...others, contract].sort(newestFirst));
    this.#ids = idsByName(this.#prepared);
    this.invalidate();
  }

  /** All contracts of the workspace. */
  get ids(): Iterable<string> {
    return this.#prepared.keys();
  }

  has(id: string): boolean {
    return this.#prepared.has(id);
  }

  /** By its id or by the name that clients see: the offered version, else the newest one. `id@major` finds only that major. */
  find(tool: string): PreparedContract | undefined {
    const offered = this.offered().get(tool);
    if (offered !== undefined) return offered;
    const bare = idIn(tool);
    const id = this.#prepared.has(bare) ? bare : this.#ids.get(bare);
    if (id === undefined) return undefined;
    const newest = this.offered().get(id) ?? this.#prepared.get(id)?.[0];
    if (bare === tool) return newest;
    const name = `${id}${tool.slice(bare.length)}`;
    return newest !== undefined && isNamed(newest.contract, name)
      ? newest
      : this.#prepared.get(id)?.find(({ contract }) => isNamed(contract, name));
  }

  /** Each contract in the newest version that a driver serves. */
  offered(): Offered {
    this.#offered ??= new Map(
      [...this.#prepared].flatMap(([id, versions]): [string, PreparedContract][] => {
        const served = [...this.#serving()].flatMap(({ bound, status }) => {
          const contract = status === "refused" ? undefined : bound.get(id)?.contract;
          return contract === undefined ? [] : [contract];
        });
        if (served.length === 0) return [];
        const newest = versions.find(({ contract }) => served.some((one) => isSame(one, contract)));
        const offered = newest ?? this.#before.get(id);
        return offered === undefined ? [] : [[id, offered]];
      }),
    );
    return this.#offered;
  }

  /** True when the contract that is offered under this id promises the same. */
  offers(contract: Contract): boolean {
    const offered = this.offered().get(contract.id)?.contract;
    return offered !== undefined && isSame(offered, contract);
  }

  /** After any change of the drivers that serve. */
  invalidate(): void {
    this.#offered = undefined;
  }
}

export async function prepareContracts(contracts: readonly Contract[]): Promise<Prepared> {
  const prepared: Prepared = new Map();
  for (const one of await Promise.all(contracts.map(prepareContract))) {
    const { id } = one.contract;
    prepared.set(id, [...(prepared.get(id) ?? []), one].sort(newestFirst));
  }
  return prepared;
}

function idsByName(prepared: Prepared): ReadonlyMap<string, string> {
  return new Map(Array.from(exposedNames(prepared.keys()), ([id, name]) => [name, id]));
}

function newestFirst(a: PreparedContract, b: PreparedContract): number {
  const [left, right] = [parseVersion(a.contract.version), parseVersion(b.contract.version)];
  return left === undefined || right === undefined ? 0 : compareVersions(right, left);
}

/** The same promise, from whichever file. */
function isSame(one: Contract, other: Contract): boolean {
  if (one === other) return true;
  if (one.id !== other.id || one.version !== other.version) return false;
  return isDeepStrictEqual({ ...one, origin: undefined }, { ...other, origin: undefined });
}

type FoundContract =
  | { readonly contract: Contract }
  /** The contract exists, but not in a version that the binding serves. */
  | { readonly outOfRange: Contract }
  | undefined;

/** Finds the contract of a binding: by its id, or by the path of its file from the workspace or from the driver. */
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
