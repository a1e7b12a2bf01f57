// Which resources of drivers somebody wants news of: asked for at the server that has each, and again when another one comes to have it.

import { PortolanError } from "../../errors/index.ts";
import type { Upstream } from "../../upstream/index.ts";
import type { DriverSurfaces } from "./driver-surfaces.ts";
import { isPersonal } from "../driver/process-key.ts";
import type { Registered } from "../driver/registered-driver.ts";
import { type FoundResource, kindOf } from "./find-surface.ts";
import type { CallContext } from "../driver/bound-tool.ts";

const FIRST_RETRY_MS = 500;
const MAX_RETRY_MS = 30_000;
/** A subscription has no caller: what concerns one user only is not given to whoever asks. */
const NOBODY: CallContext = {};

/** A subscription at one server, which renews it by itself when its connection was lost. */
interface Held {
  readonly registered: Registered;
  readonly upstream: Upstream;
  release(): void;
}

interface Owner {
  readonly surfaces: DriverSurfaces;
  readonly updated: (uri: string) => void;
}

interface Wanted {
  readonly uri: string;
  users: number;
  held: Held | undefined;
  /** The move to whoever has it now, which is under way. */
  moving: Promise<void> | undefined;
  failures: number;
  retry: NodeJS.Timeout | undefined;
}

export class ResourceNews {
  readonly #wanted = new Map<string, Wanted>();
  /** Those who have drivers and hear of news: the last one counts, as long as it stays. */
  #owners: readonly Owner[] = [];

  /** From now on what is wanted comes from other drivers, and other ones hear of it. */
  attach(surfaces: DriverSurfaces, updated: (uri: string) => void): void {
    this.#owners = [...this.#owners, { surfaces, updated }];
    this.refresh();
  }

  detach(surfaces: DriverSurfaces): void {
    this.#owners = this.#owners.filter((owner) => owner.surfaces !== surfaces);
    if (this.#owners.length > 0) return this.refresh();
    for (const wanted of [...this.#wanted.values()]) this.#drop(wanted);
  }

  async subscribe(uri: string): Promise<() => Promise<void>> {
    this.#find(uri);
    let wanted = this.#wanted.get(uri);
    if (wanted === undefined) {
      wanted = { uri, users: 0, held: undefined, moving: undefined, failures: 0, retry: undefined };
      this.#wanted.set(uri, wanted);
    }
    const own = wanted;
    own.users += 1;
    let released = false;
    const release = async (): Promise<void> => {
      if (released) return;
      released = true;
      own.users -= 1;
      if (own.users === 0) this.#drop(own);
    };
    try {
      await this.#move(own);
    } catch (error) {
      await release();
      throw error;
    }
    return release;
  }

  /** Another driver may have what is wanted. */
  refresh(): void {
    for (const wanted of this.#wanted.values()) {
      wanted.failures = 0;
      void this.#move(wanted).catch(() => this.#again(wanted));
    }
  }

  #drop(wanted: Wanted): void {
    if (this.#wanted.get(wanted.uri) === wanted) this.#wanted.delete(wanted.uri);
    clearTimeout(wanted.retry);
    wanted.held?.release();
    wanted.held = undefined;
  }

  /** Resolves when it is held at whoever has it; the new one is asked before the old one is let go, so that nothing falls between them. */
  #move(wanted: Wanted): Promise<void> {
    wanted.moving ??= this.#moved(wanted).finally(() => {
      wanted.moving = undefined;
    });
    return wanted.moving;
  }

  async #moved(wanted: Wanted): Promise<void> {
    clearTimeout(wanted.retry);
    // Drivers may come and go while one is asked.
    for (;;) {
      const found = this.#whose(wanted.uri);
      if (found !== undefined && wanted.held?.registered === found.offer.registered) break;
      const held = found === undefined ? undefined : await this.#hold(wanted, found);
      wanted.held?.release();
      wanted.held = held;
      if (this.#wanted.get(wanted.uri) !== wanted) return this.#drop(wanted);
      // Who has it next is asked then.
      if (held === undefined) break;
    }
    wanted.failures = 0;
  }

  async #hold(wanted: Wanted, found: FoundResource): Promise<Held> {
    const { registered } = found.offer;
    const asked = { method: "resources/subscribe", id: kindOf(found.offer), inputKeys: ["uri"] };
    const follow = async (upstream: Upstream): Promise<Held> => {
      const stops = [
        upstream.on("resourceUpdated", (uri) => {
          if (uri === found.uri) this.#owners.at(-1)?.updated(wanted.uri);
        }),
        upstream.on("stateChanged", (state) => {
          if (state === "failed" || state === "closed") this.#lost(wanted, upstream);
        }),
      ];
      const stop = (): void => stops.forEach((one) => one());
      try {
        const release = await upstream.subscribe(found.uri);
        return { registered, upstream, release: () => (stop(), void release().catch(() => {})) };
      } catch (error) {
        stop();
        throw error;
      }
    };
    const { surfaces } = this.#owner();
    return surfaces.ask(registered, NOBODY, asked, follow, {}, () => surfaces.checkUri(found));
  }

  /** Its server has ended for good: whoever starts it next is asked. */
  #lost(wanted: Wanted, upstream: Upstream): void {
    if (wanted.held?.upstream !== upstream) return;
    wanted.held.release();
    wanted.held = undefined;
    this.#again(wanted);
  }

  #again(wanted: Wanted): void {
    if (this.#wanted.get(wanted.uri) !== wanted) return;
    clearTimeout(wanted.retry);
    const delay = Math.min(FIRST_RETRY_MS * 2 ** wanted.failures, MAX_RETRY_MS);
    wanted.failures += 1;
    wanted.retry = setTimeout(() => {
      void this.#move(wanted).catch(() => this.#again(wanted));
    }, delay).unref();
  }

  #owner(): Owner {
    const owner = this.#owners.at(-1);
    if (owner === undefined) throw new PortolanError("CONNECTION_CLOSED", "the contracts are closed");
    return owner;
  }

  #whose(uri: string): FoundResource | undefined {
    try {
      return this.#find(uri);
    } catch {
      return undefined;
    }
  }

  #find(uri: string): FoundResource {
    const found = this.#owner().surfaces.find(uri, NOBODY);
    const { driver, hooks } = found.offer.registered;
    if (!isPersonal(driver, hooks)) return found;
    throw new PortolanError(
      "NOT_SUPPORTED",
      `${driver.id} has secrets or a login, so that its news are each user's own; they cannot be subscribed to`,
      { server: driver.id },
    );
  }
}
