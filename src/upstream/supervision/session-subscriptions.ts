// Subscriptions of one instance: held at the session that is open, and renewed at the next one.

import type { Upstream } from "../types.ts";

type Release = () => Promise<void>;

interface Subscription {
  users: number;
  /** Ends it at the open session. */
  release: Release | undefined;
}

export class SessionSubscriptions {
  readonly #byUri = new Map<string, Subscription>();
  #session: Upstream | undefined;

  get size(): number {
    return this.#byUri.size;
  }

  async add(uri: string, session: Upstream): Promise<Release> {
    let subscription = this.#byUri.get(uri);
    if (subscription === undefined) {
      subscription = { users: 0, release: undefined };
      this.#byUri.set(uri, subscription);
    }
    const own = subscription;
    own.users += 1;
    try {
      if (own.release === undefined) this.#attach(own, session, await session.subscribe(uri));
    } catch (error) {
      this.#drop(uri, own);
      throw error;
    }
    let isReleased = false;
    return async () => {
      if (isReleased) return;
      isReleased = true;
      await this.#drop(uri, own)?.();
    };
  }

  /** Subscribes at a new session to everything that is wanted. */
  renew(session: Upstream): void {
    this.#session = session;
    for (const [uri, subscription] of this.#byUri)
      session.subscribe(uri).then(
        (release) => this.#attach(subscription, session, release),
        () => {},
      );
  }

  /** The session is over, and its subscriptions with it. */
  detach(): void {
    this.#session = undefined;
    for (const subscription of this.#byUri.values()) subscription.release = undefined;
  }

  /** A subscription that arrives after its session ended, or that another one overtook, is let go. */
  #attach(subscription: Subscription, session: Upstream, release: Release): void {
    const isWanted =
      subscription.users > 0 && this.#session === session && subscription.release === undefined;
    if (isWanted) subscription.release = release;
    else void release().catch(() => {});
  }

  #drop(uri: string, subscription: Subscription): Release | undefined {
    subscription.users -= 1;
    if (subscription.users > 0) return undefined;
    if (this.#byUri.get(uri) === subscription) this.#byUri.delete(uri);
    const { release } = subscription;
    subscription.release = undefined;
    return release;
  }
}
