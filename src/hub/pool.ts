// One live server per identical resolved definition, shared by everybody who needs it and closed by the last.

import type { Upstream } from "../upstream/index.ts";

interface Shared {
  readonly opening: Promise<Upstream>;
  readonly nobodyWaits: AbortController;
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
    open: (signal: AbortSignal) => Promise<Upstream>,
    leave: AbortSignal,
  ): Promise<Lease> {
    let shared = this.#shared.get(key);
    if (shared === undefined) {
      const nobodyWaits = new AbortController();
      shared = { opening: open(nobodyWaits.signal), nobodyWaits, users: 0 };
      this.#shared.set(key, shared);
    }
    const own = shared;
    own.users += 1;
    let released = false;
    const release = async (): Promise<void> => {
      if (released) return;
      released = true;
      own.users -= 1;
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
