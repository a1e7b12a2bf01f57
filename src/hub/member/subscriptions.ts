// Resource subscriptions of one server. They move from one generation to the next.

type Release = () => Promise<void>;

/** The processes of one generation. */
interface Subscribable {
  subscribe(uri: string): Promise<Release>;
  /** The same, from the next session on when none is open. */
  keepSubscribed(uri: string): Promise<Release>;
}

interface Subscription {
  users: number;
  release: Promise<Release>;
}

export class MemberSubscriptions {
  readonly #byUri = new Map<string, Subscription>();
  #generation: Subscribable;

  constructor(generation: Subscribable) {
    this.#generation = generation;
  }

  async add(uri: string): Promise<Release> {
    // Each subscriber gets the error if the server refuses.
    const release = await this.#generation.subscribe(uri);
    const known = this.#byUri.get(uri);
    const own = known ?? { users: 0, release: Promise.resolve(release) };
    if (known === undefined) this.#byUri.set(uri, own);
    else await release();
    own.users += 1;
    let isReleased = false;
    return async () => {
      if (isReleased) return;
      isReleased = true;
      own.users -= 1;
      if (own.users > 0) return;
      this.#byUri.delete(uri);
      await (
        await own.release
      )();
    };
  }

  /** Moves all subscriptions to another generation, which subscribes before the old one unsubscribes. */
  moveTo(generation: Subscribable): void {
    this.#generation = generation;
    for (const [uri, subscription] of this.#byUri) {
      const old = subscription.release;
      subscription.release = generation.keepSubscribed(uri);
      void old.then((release) => release()).catch(() => {});
    }
  }
}
