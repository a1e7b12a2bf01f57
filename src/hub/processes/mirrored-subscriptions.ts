// Resource subscriptions of a server that runs as two processes, one per era: each process reports only its own changes.

import type { Upstream } from "../../upstream/index.ts";

type Release = () => Promise<void>;

interface Mirrored {
  users: number;
  /** Ends the subscription at the second process. */
  release: Promise<Release | undefined> | undefined;
}

export class MirroredSubscriptions {
  readonly #byUri = new Map<string, Mirrored>();
  #second: Upstream | undefined;

  /** Subscribes at the main process, and at the second one while it runs. */
  async add(main: Pick<Upstream, "subscribe">, uri: string): Promise<Release> {
    const release = await main.subscribe(uri);
    let mirrored = this.#byUri.get(uri);
    if (mirrored === undefined) this.#byUri.set(uri, (mirrored = { users: 0, release: undefined }));
    mirrored.users += 1;
    mirrored.release ??= subscribe(this.#second, uri);
    let isReleased = false;
    return async () => {
      if (isReleased) return;
      isReleased = true;
      await Promise.all([release(), this.#drop(uri)]);
    };
  }

  /** Sets the second process. */
  attach(second: Upstream): void {
    this.#second = second;
    for (const [uri, mirrored] of this.#byUri) mirrored.release = subscribe(second, uri);
    second.on("stateChanged", (state) => {
      if (this.#second !== second || (state !== "closed" && state !== "failed")) return;
      this.#second = undefined;
      for (const mirrored of this.#byUri.values()) mirrored.release = undefined;
    });
  }

  async #drop(uri: string): Promise<void> {
    const mirrored = this.#byUri.get(uri);
    if (mirrored === undefined) return;
    mirrored.users -= 1;
    if (mirrored.users > 0) return;
    this.#byUri.delete(uri);
    await (await mirrored.release)?.().catch(() => {});
  }
}

/** A process that refuses the subscription has no updates to report. */
function subscribe(upstream: Upstream | undefined, uri: string): Promise<Release | undefined> | undefined {
  return upstream?.subscribe(uri).catch(() => undefined);
}
