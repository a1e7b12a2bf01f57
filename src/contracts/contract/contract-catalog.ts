// The contracts of a workspace made ready to be called, and which of them are offered now: those that somebody serves.

import { isDeepStrictEqual } from "node:util";
import { type Contract, compareVersions, idIn, isNamed, parseVersion } from "../../model/index.ts";
import { exposedNames } from "../../client/index.ts";
import { type PreparedContract, prepareContract } from "./prepared-contract.ts";
import type { Registered } from "../driver/registered-driver.ts";

/** By id, the newest version first. */
type Prepared = Map<string, readonly PreparedContract[]>;
type Offered = ReadonlyMap<string, PreparedContract>;

export class ContractShelf {
  readonly #prepared: Prepared;
  /** As they were offered by those who may still stand in. */
  readonly #before: Offered;
  readonly #serving: () => Iterable<Registered>;
  /** By the name that clients see, where that is not the id. */
  #ids: ReadonlyMap<string, string>;
  #offered: Offered | undefined;

  constructor(prepared: Prepared, before: Offered, serving: () => Iterable<Registered>) {
    this.#prepared = prepared;
    this.#before = before;
    this.#serving = serving;
    this.#ids = idsByName(prepared);
  }

  /** In the place of one of the same version. */
  add(contract: PreparedContract): void {
    const { id, version } = contract.contract;
    const others = (this.#prepared.get(id) ?? []).filter((one) => one.contract.version !== version);
    this.#prepared.set(id, [...others, contract].sort(newestFirst));
    this.#ids = idsByName(this.#prepared);
    this.outdated();
  }

  /** All that are declared. */
  get ids(): Iterable<string> {
    return this.#prepared.keys();
  }

  has(id: string): boolean {
    return this.#prepared.has(id);
  }

  /** By its id or by the name that clients see: as it is offered, else in its newest version. `id@major` is that major, and no other. */
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

  /** Each in the newest version that somebody serves. */
  offered(): Offered {
    this.#offered ??= new Map(
      [...this.#prepared].flatMap(([id, versions]): [string, PreparedContract][] => {
        const served = [...this.#serving()].flatMap(({ bound, server }) => {
          const contract = server === "refused" ? undefined : bound.get(id)?.contract;
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

  /** Whether it is this one that is offered under its id. */
  offers(contract: Contract): boolean {
    const offered = this.offered().get(contract.id)?.contract;
    return offered !== undefined && isSame(offered, contract);
  }

  /** Somebody else serves. */
  outdated(): void {
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

/** The same promise, wherever it was read. */
function isSame(one: Contract, other: Contract): boolean {
  if (one === other) return true;
  if (one.id !== other.id || one.version !== other.version) return false;
  return isDeepStrictEqual({ ...one, origin: undefined }, { ...other, origin: undefined });
}
