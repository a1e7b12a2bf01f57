// Hand-over between sets of contracts, as after a reload: a new set uses drivers of the one before until its own are verified.

/** A newer set that uses the drivers of this one. */
interface Successor {
  /** Something about the drivers has changed. */
  changed(): void;
  /** The drivers cannot be used any longer. */
  closed(): void;
}

export class SetHandOver {
  readonly #successors = new Set<Successor>();
  readonly #needsBefore: () => boolean;
  /** Tells the set before that its drivers are not needed any more. */
  #release: (() => void) | undefined;
  /** Calls that may use a driver of the set before. */
  readonly #calls = new Set<Promise<unknown>>();

  constructor(before: SetHandOver | undefined, successor: Successor, needsBefore: () => boolean) {
    this.#needsBefore = needsBefore;
    this.#release = before === undefined ? undefined : before.#use(successor);
  }

  /** True when a newer set still uses the drivers of this one. */
  get isInUse(): boolean {
    return this.#successors.size > 0;
  }

  /** The drivers of the set before are not released before the end of a call that may have chosen one. */
  track<T>(call: Promise<T>): Promise<T> {
    if (this.#release === undefined) return call;
    this.#calls.add(call);
    return call.finally(() => this.#calls.delete(call));
  }

  /** Something about the drivers of this set has changed. */
  changed(): void {
    for (const successor of this.#successors) successor.changed();
    this.#releaseUnneeded();
  }

  close(): void {
    this.#release?.();
    this.#release = undefined;
    const successors = [...this.#successors];
    this.#successors.clear();
    for (const successor of successors) successor.closed();
  }

  /** Returns the function that ends the use. */
  #use(successor: Successor): () => void {
    this.#successors.add(successor);
    return () => {
      this.#successors.delete(successor);
      this.#releaseUnneeded();
    };
  }

  /** Once neither this set nor one that uses its drivers needs the set before. */
  #releaseUnneeded(): void {
    const release = this.#release;
    if (release === undefined || this.isInUse || this.#needsBefore()) return;
    this.#release = undefined;
    void Promise.allSettled(this.#calls).then(release);
  }
}
