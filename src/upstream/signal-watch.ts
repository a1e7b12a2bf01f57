// Requests by the signal that can end them: one listener per signal, however many requests share it.

export class SignalWatch {
  readonly #watched = new Map<AbortSignal, { readonly ids: Set<number>; readonly listener: () => void }>();
  readonly #aborted: (id: number, signal: AbortSignal) => void;

  constructor(aborted: (id: number, signal: AbortSignal) => void) {
    this.#aborted = aborted;
  }

  add(signal: AbortSignal, id: number): void {
    let watched = this.#watched.get(signal);
    if (watched === undefined) {
      const ids = new Set<number>();
      const listener = (): void => {
        for (const each of [...ids]) this.#aborted(each, signal);
      };
      watched = { ids, listener };
      this.#watched.set(signal, watched);
      signal.addEventListener("abort", listener);
    }
    watched.ids.add(id);
  }

  remove(signal: AbortSignal, id: number): void {
    const watched = this.#watched.get(signal);
    if (watched === undefined || !watched.ids.delete(id) || watched.ids.size > 0) return;
    this.#watched.delete(signal);
    signal.removeEventListener("abort", watched.listener);
  }
}
