// One live server per identical resolved definition, shared by everybody who needs it and closed by the last.

import type { LaunchNews } from "../launch/index.ts";
import type { Upstream } from "../upstream/index.ts";

/** Who hears what a server writes to stderr, and how it is started. */
export interface Heard {
  readonly stderr: (text: string) => void;
  readonly launch: (news: LaunchNews) => void;
}

interface Shared {
  readonly opening: Promise<Upstream>;
  readonly nobodyWaits: AbortController;
  /** One per user: what the server writes is everybody's. */
  readonly readers: Set<Heard>;
  /** For those who come later. */
  planned: LaunchNews | undefined;
  users: number;
}

export interface Lease {
  readonly upstream: Upstream;
  /** Whether it has calls that came another way than through whoever has the lease. */
  busy?(): boolean;
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
    open: (signal: AbortSignal, heard: Heard) => Promise<Upstream>,
    leave: AbortSignal,
    heard: Heard,
  ): Promise<Lease> {
    let shared = this.#shared.get(key);
    if (shared === undefined) {
      const nobodyWaits = new AbortController();
      const readers = new Set<Heard>();
      const opening = open(nobodyWaits.signal, {
        stderr: (text) => {
          for (const reader of readers) reader.stderr(text);
        },
        launch: (news) => {
          if (news.type === "planned" && shared !== undefined) shared.planned = news;
          for (const reader of readers) reader.launch(news);
        },
      });
      shared = { opening, nobodyWaits, readers, planned: undefined, users: 0 };
      this.#shared.set(key, shared);
    }
    const own = shared;
    own.users += 1;
    // An object of its own: a member that leaves and comes back is two users for a moment.
    const reader: Heard = { ...heard };
    own.readers.add(reader);
    if (own.planned !== undefined) reader.launch(own.planned);
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
    // Whoever left before it came here is not told so by the signal any more.
    if (leave.aborted) left();
    else leave.addEventListener("abort", left, { once: true });
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
