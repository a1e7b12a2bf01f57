// Subscriptions to resources of drivers: each is made at the server that has the resource, and moves when another driver takes it over.

import { backoffMs } from "../../base/time/retry.ts";
import { PortolanError } from "../../errors/index.ts";
import type { Upstream } from "../../upstream/index.ts";
import type { DriverSurfaces } from "./driver-surfaces.ts";
import { isPersonal } from "../driver/process-key.ts";
import type { RegisteredDriver } from "../driver/registered-driver.ts";
import { type FoundResource, kindOf } from "./find-surface.ts";
import type { CallContext } from "../contract/call-context.ts";

const FIRST_RETRY_MS = 500;
const MAX_RETRY_MS = 30_000;
/** A subscription has no caller, so that the notifications of one user do not reach another. */
const NO_CALLER: CallContext = {};

/** A subscription at one server, which renews it after a lost connection. */
interface ServerSubscription {
  readonly registered: RegisteredDriver;
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
  subscription: ServerSubscription | undefined;
  /** The move to another server that is under way. */
  moving: Promise<void> | undefined;
  failures: number;
  retry: NodeJS.Timeout | undefined;
}

export class ResourceSubscriptions {
  readonly #wanted = new Map<string, Wanted>();
  /** Sets of contracts that share the subscriptions; the last one gets the notifications. */
  #owners: readonly Owner[] = [];

  /** From now on another set of contracts provides the drivers and gets the notifications. */
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
      wanted = { uri, users: 0, subscription: undefined, moving: undefined, failures: 0, retry: undefined };
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

  /** After a change of drivers: another one may have a resource now. */
  refresh(): void {
    for (const wanted of this.#wanted.values()) {
      wanted.failures = 0;
      void this.#move(wanted).catch(() => this.#again(wanted));
    }
  }

  #drop(wanted: Wanted): void {
    if (this.#wanted.get(wanted.uri) === wanted) this.#wanted.delete(wanted.uri);
    clearTimeout(wanted.retry);
    wanted.subscription?.release();
    wanted.subscription = undefined;
  }

  /** Resolves when the right server has the subscription. The new one begins before the old one ends, so that no notification is lost. */
  #move(wanted: Wanted): Promise<void> {
    wanted.moving ??= this.#moved(wanted).finally(() => {
      wanted.moving = undefined;
    });
    return wanted.moving;
  }

  async #moved(wanted: Wanted): Promise<void> {
    clearTimeout(wanted.retry);
    // Drivers may change while the subscription begins.
    for (;;) {
      const found = this.#whose(wanted.uri);
      if (found !== undefined && wanted.subscription?.registered === found.offer.registered) break;
      const subscription = found === undefined ? undefined : await this.#hold(wanted, found);
      wanted.subscription?.release();
      wanted.subscription = subscription;
      if (this.#wanted.get(wanted.uri) !== wanted) return this.#drop(wanted);
      // The next change of drivers moves it.
      if (subscription === undefined) break;
    }
    wanted.failures = 0;
  }

  async #hold(wanted: Wanted, found: FoundResource): Promise<ServerSubscription> {
    const { registered } = found.offer;
    const request = { method: "resources/subscribe", id: kindOf(found.offer), inputKeys: ["uri"] };
    const follow = async (upstream: Upstream): Promise<ServerSubscription> => {
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
    return surfaces.forward(registered, NO_CALLER, request, follow, {}, () => surfaces.checkUri(found));
  }

  /** The server has ended for good: the next process gets the subscription. */
  #lost(wanted: Wanted, upstream: Upstream): void {
    if (wanted.subscription?.upstream !== upstream) return;
    wanted.subscription.release();
    wanted.subscription = undefined;
    this.#again(wanted);
  }

  #again(wanted: Wanted): void {
    if (this.#wanted.get(wanted.uri) !== wanted) return;
    clearTimeout(wanted.retry);
    const delay = backoffMs(wanted.failures, FIRST_RETRY_MS, MAX_RETRY_MS);
    wanted.failures += 1;
    wanted.retry = setTimeout(() => {
      void this.#move(wanted).catch(() => this.#again(wanted));
    }, delay).unref();
  }

  #owner(): Owner {
    const owner = this.#owners.at(-1);
    if (owner === undefined) throw new PortolanError("CONNECTION_CLOSED", "the workspace was closed");
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
    const found = this.#owner().surfaces.find(uri, NO_CALLER);
    const { driver, hooks } = found.offer.registered;
    if (!isPersonal(driver, hooks)) return found;
    throw new PortolanError(
      "NOT_SUPPORTED",
      `Portolan does not support subscriptions to resources of the driver ${driver.id}: each user has a separate connection to its server, because the driver has secrets or a login, or because its server is at a URL that may require a login`,
      { server: driver.id },
    );
  }
}
