// Typed event emitter. An exception in a listener affects neither the other listeners nor the sender.

export class Emitter<Events extends { [E in keyof Events]: unknown[] }> {
  readonly #listeners = new Map<keyof Events, Set<(args: unknown[]) => void>>();

  on<E extends keyof Events>(event: E, listener: (...args: Events[E]) => void): () => void {
    let listeners = this.#listeners.get(event);
    if (listeners === undefined) this.#listeners.set(event, (listeners = new Set()));
    // Each registration has its own wrapper, so that the same function can be registered twice.
    const own = (args: unknown[]): void => listener(...(args as Events[E]));
    listeners.add(own);
    return () => void listeners.delete(own);
  }

  emit<E extends keyof Events>(event: E, ...args: Events[E]): void {
    for (const listener of this.#listeners.get(event) ?? []) {
      try {
        listener(args);
      } catch (error) {
        // The error is reported as uncaught after the other listeners have run.
        queueMicrotask(() => {
          throw error;
        });
      }
    }
  }

  clear(): void {
    this.#listeners.clear();
  }
}
