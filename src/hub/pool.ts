// One live server per identical resolved definition, shared by everybody who needs it and closed by the last.

import type { Upstream } from "../upstream/index.ts";

type OnStderr = (text: string) => void;

interface Shared {
  readonly opening: Promise<Upstream>;
  readonly nobodyWaits: AbortController;
  /** One per user: what the server writes is everybody's. */
  readonly readers: Set<OnStderr>;
  users: number;
}

export interface Lease {
  readonly upstream: Upstream;
  release(): Promise<void>;
}

export class Pool {
  readonly #shared = new Map<string, Shared>();

  /**
   * The key says everything that makes two servers the same; `open` is only called for the first user, and given up when
   * the last one has left.
   */
  async acquire(
    key: string,
    open: (signal: AbortSignal, onStderr: OnStderr) => Promise<Upstream>,
    leave: AbortSignal,
    onStderr: OnStderr,
  ): Promise<Lease> {
    let shared = this.#shared.get(key);
    if (shared === undefined) {
      const nobodyWaits = new AbortController();
      const readers = new Set<OnStderr>();
      const opening = open(nobodyWaits.signal, (text) => {
        for (const reader of readers) reader(text);
      });
      shared = { opening, nobodyWaits, readers, users: 0 };
      this.#shared.set(key, shared);
    }
    const own = shared;
    own.users += 1;
    // A function of its own: a member that leaves and comes back is two users for a moment.
    const reader: OnStderr = (text) => onStderr(text);
    own.readers.add(reader);
    let released = false;
    const release = async (): Promise<void> => {
      if (released) return;
      released = true;
      own.users -= 1;
      own.readers.delete(reader);
      if (own.users > 0) return;
      if (this.#shared.get(key) === own) this.#shared.delete(key);
      own.nobodyWaits.abort();
      await own.opening.then((upstream) => upstream.close()).catch(() => {});
    };
    const left = (): void => void release();
    leave.addEventListener("abort", left, { once: true });
    try {
      return { upstream: await own.opening, release };
    } catch (error) {
      await release();
      throw error;
    } finally {
      leave.removeEventListener("abort", left);
    }
  }
}
