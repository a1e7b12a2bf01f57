// Process pool: one open session per identical resolved definition, shared by its users and closed with the last of them.

import type { LaunchNews } from "../../launch/index.ts";
import type { SessionHandle, Upstream } from "../../upstream/index.ts";

/** Who hears what a server writes to stderr, and how it is started. */
export interface ProcessListener {
  readonly stderr: (text: string) => void;
  readonly launch: (news: LaunchNews) => void;
}

interface Shared {
  readonly opening: Promise<Upstream>;
  readonly nobodyWaits: AbortController;
  /** One per user: what the server writes is everybody's. */
  readonly readers: Set<ProcessListener>;
  /** For those who come later. */
  planned: LaunchNews | undefined;
  users: number;
}

export class ProcessPool {
  readonly #shared = new Map<string, Shared>();

  /**
   * The key says everything that makes two servers the same; `open` is only called for the first user, and given up when
   * the last one has left. A dedicated session is never shared.
   */
  async acquire(
    key: string,
    open: (signal: AbortSignal, heard: ProcessListener) => Promise<Upstream>,
    leave: AbortSignal,
    heard: ProcessListener,
    dedicated = false,
  ): Promise<SessionHandle> {
    let shared = dedicated ? undefined : this.#shared.get(key);
    if (shared === undefined) {
      const nobodyWaits = new AbortController();
      const readers = new Set<ProcessListener>();
      const opening = open(nobodyWaits.signal, {
        stderr: (text) => {
          for (const reader of readers) reader.stderr(text);
        },
        launch: (news) => {
          if (news.type === "planned" && shared !== undefined) shared.planned = news;
          for (const reader of readers) reader.launch(news);
        },
      });
      const entry: Shared = { opening, nobodyWaits, readers, planned: undefined, users: 0 };
      shared = entry;
      if (!dedicated) this.#shared.set(key, entry);
      // A session that has ended is of no use to later users: they get another one.
      const evict = (): void => {
        if (this.#shared.get(key) === entry) this.#shared.delete(key);
      };
      opening.then(
        (upstream) =>
          upstream.on("stateChanged", (state) => {
            if (state === "closed" || state === "failed") evict();
          }),
        () => {},
      );
    }
    const own = shared;
    own.users += 1;
    // An object of its own: a member that leaves and comes back is two users for a moment.
    const reader: ProcessListener = { ...heard };
    own.readers.add(reader);
    if (own.planned !== undefined) reader.launch(own.planned);
    let released = false;
    const release = async (): Promise<void> => {
      if (!released) {
        released = true;
        own.users -= 1;
        own.readers.delete(reader);
      }
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
