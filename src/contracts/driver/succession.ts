// Sets of contracts that take one another's place: who still uses the drivers of whom, and when those can be let go.

/** A set that takes the place of another one, and uses its drivers meanwhile. */
export interface Heir {
  /** Something of them is not what it was. */
  changed(): void;
  /** They cannot be used any longer. */
  closed(): void;
}

export class Succession {
  readonly #heirs = new Set<Heir>();
  readonly #needsBefore: () => boolean;
  /** Tells the set of before that its drivers are not needed any more. */
  #giveBack: (() => void) | undefined;
  /** Calls that may go to a driver of before. */
  readonly #underWay = new Set<Promise<unknown>>();

  constructor(before: Succession | undefined, heir: Heir, needsBefore: () => boolean) {
    this.#needsBefore = needsBefore;
    this.#giveBack = before === undefined ? undefined : before.#lend(heir);
  }

  /** Whether whoever takes this one's place still uses its drivers. */
  get lending(): boolean {
    return this.#heirs.size > 0;
  }

  /** A call that was begun; a driver that it may have chosen is not let go before its end. */
  track<T>(call: Promise<T>): Promise<T> {
    if (this.#giveBack === undefined) return call;
    this.#underWay.add(call);
    return call.finally(() => this.#underWay.delete(call));
  }

  /** Something of the drivers here is not what it was. */
  changed(): void {
    for (const heir of this.#heirs) heir.changed();
    this.#returnDrivers();
  }

  close(): void {
    this.#giveBack?.();
    this.#giveBack = undefined;
    const heirs = [...this.#heirs];
    this.#heirs.clear();
    for (const heir of heirs) heir.closed();
  }

  /** Gives what ends it. */
  #lend(heir: Heir): () => void {
    this.#heirs.add(heir);
    return () => {
      this.#heirs.delete(heir);
      this.#returnDrivers();
    };
  }

  /** Once nobody can need them any more: not here, and not with whoever has them from here. */
  #returnDrivers(): void {
    const giveBack = this.#giveBack;
    if (giveBack === undefined || this.lending || this.#needsBefore()) return;
    this.#giveBack = undefined;
    void Promise.allSettled(this.#underWay).then(giveBack);
  }
}
