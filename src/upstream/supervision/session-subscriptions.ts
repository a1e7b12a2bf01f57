// Subscriptions of one instance: made at the open session, and renewed at the next one.

import type { Upstream } from "../upstream.ts";

type Release = () => Promise<void>;

interface Subscription {
  users: number;
  /** Ends the subscription at the open session. */
  release: Release | undefined;
}

export class SessionSubscriptions {
  readonly #byUri = new Map<string, Subscription>();
  #session: Upstream | undefined;

  get size(): number {
    return this.#byUri.size;
  }

  /** Rejects when the session refuses. */
  async add(uri: string, session: Upstream): Promise<Release> {
    const own = this.#use(uri);
    try {
      if (own.release === undefined) this.#attach(own, session, await session.subscribe(uri));
    } catch (error) {
      this.#drop(uri, own);
      throw error;
    }
    return this.#releaseOnce(uri, own);
  }

  /** Subscribes at the open session, if there is one, and at every later one. */
  want(uri: string): Release {
    const own = this.#use(uri);
    if (own.release === undefined && this.#session !== undefined) this.#renew(uri, own, this.#session);
    return this.#releaseOnce(uri, own);
  }

  /** Subscribes at a new session to everything that is wanted. */
  renew(session: Upstream): void {
    this.#session = session;
    for (const [uri, subscription] of this.#byUri) this.#renew(uri, subscription, session);
  }

  /** The session ended, and its subscriptions with it. */
  detach(session: Upstream): void {
    if (this.#session !== session) return;
    this.#session = undefined;
    for (const subscription of this.#byUri.values()) subscription.release = undefined;
  }

  #use(uri: string): Subscription {
    let subscription = this.#byUri.get(uri);
    if (subscription === undefined) this.#byUri.set(uri, (subscription = { users: 0, release: undefined }));
    subscription.users += 1;
    return subscription;
  }

  #releaseOnce(uri: string, own: Subscription): Release {
    let isReleased = false;
    return async () => {
      if (isReleased) return;
      isReleased = true;
      await this.#drop(uri, own)?.();
    };
  }

  #renew(uri: string, subscription: Subscription, session: Upstream): void {
    session.subscribe(uri).then(
      (release) => this.#attach(subscription, session, release),
      () => {},
    );
  }

  /** Releases a subscription whose session has ended, or that was made twice. */
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
