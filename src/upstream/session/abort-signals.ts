// Abort signals of requests in flight: one listener per signal, however many requests share it.

interface WatchedSignal {
  /** Almost every signal belongs to one request. */
  only: number | undefined;
  ids: Set<number> | undefined;
  readonly listener: () => void;
}

export class AbortSignals {
  /** Not a `Map`: `base/collections/in-flight-map.ts` explains why. */
  readonly #watched = new WeakMap<AbortSignal, WatchedSignal>();
  readonly #aborted: (id: number, signal: AbortSignal) => void;

  constructor(aborted: (id: number, signal: AbortSignal) => void) {
    this.#aborted = aborted;
  }

  add(signal: AbortSignal, id: number): void {
    const watched = this.#watched.get(signal);
    if (watched === undefined) {
      const fresh: WatchedSignal = { only: id, ids: undefined, listener: () => this.#end(signal, fresh) };
      this.#watched.set(signal, fresh);
      signal.addEventListener("abort", fresh.listener);
      return;
    }
    watched.ids ??= new Set(watched.only === undefined ? [] : [watched.only]);
    watched.only = undefined;
    watched.ids.add(id);
  }

  remove(signal: AbortSignal, id: number): void {
    const watched = this.#watched.get(signal);
    if (watched === undefined) return;
    if (watched.only === id) watched.only = undefined;
    else watched.ids?.delete(id);
    if (watched.only !== undefined || (watched.ids?.size ?? 0) > 0) return;
    this.#watched.delete(signal);
    signal.removeEventListener("abort", watched.listener);
  }

  #end(signal: AbortSignal, { only, ids }: WatchedSignal): void {
    for (const id of ids === undefined ? [only] : [...ids]) if (id !== undefined) this.#aborted(id, signal);
  }
}
