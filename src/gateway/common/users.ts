// Users of the gateway: callers as the servers see them at which each caller has its own login.

import type { HubUser } from "../../hub/index.ts";
import type { Secret } from "../../secrets/index.ts";
import type { AuthenticatedCaller } from "../access/types.ts";

/** The owner of the workspace, a user with own logins, or a caller that has none. */
export type GatewayUser =
  | { readonly kind: "owner" }
  | { readonly kind: "nobody" }
  | { readonly kind: "user"; readonly user: HubUser };

/** Callers with the gateway's own token, or on its stdin, act for the owner of the machine. */
const OWNERS: ReadonlySet<string> = new Set(["local", "stdio"]);
/** Callers without a token cannot be told apart. */
const ANYONE = "anyone";
const OWNER: GatewayUser = { kind: "owner" };
const NOBODY: GatewayUser = { kind: "nobody" };

interface Entry {
  readonly gatewayUser: GatewayUser & { readonly kind: "user" };
  subject: Secret | undefined;
}

export class GatewayUsers {
  readonly #max: number;
  /** By key, the one that was used longest ago first. */
  readonly #entries = new Map<string, Entry>();

  constructor(max: number) {
    this.#max = max;
  }

  /** `hasUsers` is false if no server has logins of callers, so that all callers share views. */
  of({ name, scopes, subject }: AuthenticatedCaller, hasUsers: boolean): GatewayUser {
    if (OWNERS.has(name)) return OWNER;
    if (name === ANYONE || !hasUsers) return NOBODY;
    const key = JSON.stringify([name, scopes?.toSorted()]);
    const known = this.#entries.get(key);
    const entry = known ?? this.#create(name, key);
    if (known !== undefined) this.#entries.delete(key);
    this.#entries.set(key, entry);
    // The token that came last is valid for the longest time.
    entry.subject = subject ?? entry.subject;
    return entry.gatewayUser;
  }

  /** Identities that were used longest ago and are more than the limit. `isBusy` keeps one. */
  takeOld(isBusy: (id: string) => boolean): string[] {
    const old: string[] = [];
    let left = this.#entries.size - this.#max;
    for (const { gatewayUser } of [...this.#entries.values()]) {
      if (left <= 0) break;
      const { id } = gatewayUser.user;
      if (isBusy(id)) continue;
      old.push(id);
      for (const [key, entry] of this.#entries)
        if (entry.gatewayUser.user.id === id && this.#entries.delete(key)) left -= 1;
    }
    return old;
  }

  #create(name: string, key: string): Entry {
    const user: HubUser = { id: name, key, name, subjectToken: () => entry.subject };
    const entry: Entry = { gatewayUser: { kind: "user", user }, subject: undefined };
    return entry;
  }
}
