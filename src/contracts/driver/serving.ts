// Who of the drivers serves: one that was not looked at yet leaves its place to whoever served before, so that no contract is missing meanwhile.

import type { Registered } from "./registered-driver.ts";

export class Serving {
  /** As they are declared, by id. */
  readonly #declared = new Map<string, Registered>();
  /** Those among them that wait to be looked at. */
  readonly #coming = new Set<Registered>();
  /** Who served before, by id. */
  readonly #standIns: Map<string, Registered>;
  readonly #dismissed: (standIn: Registered) => void;

  constructor(before: Iterable<Registered>, dismissed: (standIn: Registered) => void) {
    this.#standIns = new Map(Array.from(before, (one) => [one.driver.id, one]));
    this.#dismissed = dismissed;
  }

  get hasStandIns(): boolean {
    return this.#standIns.size > 0;
  }

  get(id: string): Registered | undefined {
    const standIn = this.#standIns.get(id);
    if (standIn !== undefined) return standIn;
    const declared = this.#declared.get(id);
    return declared === undefined || this.#coming.has(declared) ? undefined : declared;
  }

  *all(): Iterable<Registered> {
    for (const id of this.#declared.keys()) {
      const serving = this.get(id);
      if (serving !== undefined) yield serving;
    }
    for (const [id, standIn] of this.#standIns) if (!this.#declared.has(id)) yield standIn;
  }

  /** As they are declared, those that wait included. */
  declared(): Iterable<Registered> {
    return this.#declared.values();
  }

  declaredAs(id: string): Registered | undefined {
    return this.#declared.get(id);
  }

  isStandIn(registered: Registered): boolean {
    return this.#standIns.get(registered.driver.id) === registered;
  }

  /** Whether it is of interest to anybody here. */
  has(registered: Registered): boolean {
    const { id } = registered.driver;
    return this.#declared.get(id) === registered || this.#standIns.get(id) === registered;
  }

  /** One more, or another of the same id. With `looked`, somebody will say when it was looked at. `dismiss` follows. */
  add(registered: Registered, looked: boolean): void {
    const { id } = registered.driver;
    const replaced = this.#declared.get(id);
    const waits = looked && !registered.broken && this.#isServed(registered);
    this.#declared.set(id, registered);
    if (waits) this.#coming.add(registered);
    if (replaced !== undefined) {
      // One that never came to serve has nobody who relies on it.
      const served = !this.#coming.delete(replaced) && !this.#standIns.has(id);
      if (waits && served) this.#standIns.set(id, replaced);
      else this.#dismissed(replaced);
    }
  }

  /** It was looked at, whatever was found. True when somebody else serves now. */
  arrived(registered: Registered): boolean {
    if (!this.#coming.delete(registered)) return false;
    this.dismiss();
    return true;
  }

  remove(id: string): void {
    const gone = [this.#declared.get(id), this.#standIns.get(id)];
    this.#declared.delete(id);
    this.#standIns.delete(id);
    for (const one of gone) {
      if (one === undefined) continue;
      this.#coming.delete(one);
      this.#dismissed(one);
    }
    this.dismiss();
  }

  /** Lets those go who are not needed any more; with `all`, everybody who stands in. */
  dismiss(all = false): void {
    if (all) this.#coming.clear();
    for (const [id, standIn] of this.#standIns) {
      if (!all && this.#isNeeded(standIn)) continue;
      this.#standIns.delete(id);
      this.#dismissed(standIn);
    }
  }

  clear(): Registered[] {
    const all = [...this.#declared.values(), ...this.#standIns.values()];
    this.#declared.clear();
    this.#coming.clear();
    this.#standIns.clear();
    return all;
  }

  /** Whether somebody who works has its place, or serves one of its contracts. */
  #isServed({ driver, bound }: Registered): boolean {
    for (const one of this.all()) {
      if (one.server !== "fits") continue;
      if (one.driver.id === driver.id || [...one.bound.keys()].some((contract) => bound.has(contract)))
        return true;
    }
    return false;
  }

  /** As long as the one of its own id waits, or one that is to serve what only this one serves. */
  #isNeeded({ driver: { id }, bound }: Registered): boolean {
    const heir = this.#declared.get(id);
    if (heir !== undefined && this.#coming.has(heir)) return true;
    const taken = (contract: string, waiting: boolean): boolean =>
      [...this.#declared.values()].some(
        (one) => this.#coming.has(one) === waiting && one.server !== "refused" && one.bound.has(contract),
      );
    return [...bound.keys()].some((contract) => taken(contract, true) && !taken(contract, false));
  }
}
