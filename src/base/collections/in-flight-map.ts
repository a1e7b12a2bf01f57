// Map of entries that live for the time of a call, such as the requests in flight.
//
// In a `Map` with many insertions and deletions, ended entries would stay in memory until the next full garbage collection. V8
// moves the entries of such a map to a new table from time to time; the old table keeps its entries, and points to the new one.
// As soon as one table is in the old generation of the heap, every later table, and all its entries, survive minor collections.
// With 16 calls in flight, a third of everything that calls allocate survived. Here the tables keep empty cells only.

interface Cell<V> {
  value: V | undefined;
}

export class InFlightMap<K extends number | string, V extends object> {
  readonly #cells = new Map<K, Cell<V>>();

  get size(): number {
    return this.#cells.size;
  }

  has(key: K): boolean {
    return this.#cells.has(key);
  }

  get(key: K): V | undefined {
    return this.#cells.get(key)?.value;
  }

  set(key: K, value: V): void {
    this.#cells.set(key, { value });
  }

  /** Removes the entry, and returns it. */
  take(key: K): V | undefined {
    const cell = this.#cells.get(key);
    if (cell === undefined) return undefined;
    const { value } = cell;
    cell.value = undefined;
    this.#cells.delete(key);
    return value;
  }

  /** The keys at this moment, so that the caller may remove entries meanwhile. */
  keys(): K[] {
    return [...this.#cells.keys()];
  }

  /** The values at this moment, so that the caller may remove entries meanwhile. */
  values(): V[] {
    return [...this.#cells.values()].map(({ value }) => value as V);
  }
}
