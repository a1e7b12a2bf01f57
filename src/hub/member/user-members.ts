// Members of the users of one server: each caller of a gateway has its own connections, inventory and login there.

import type { ServerConfig } from "../../model/index.ts";
import type { Secret } from "../../secrets/index.ts";
import type { Member } from "./member.ts";

/** A caller of a gateway that has a login of its own at servers. */
export interface HubUser {
  /** Identity of the caller, as the gateway authenticated it. Credentials are kept under it. */
  readonly id: string;
  /** The identity with the scopes of the caller's token: exchanged tokens depend on both. */
  readonly key: string;
  /** Name of the caller in events. */
  readonly name: string;
  /** The OAuth token that the caller sent last, for servers whose config asks for its exchange. */
  readonly subjectToken: () => Secret | undefined;
}

/** True if each caller of a gateway has its own login at the server. */
export function isPerCaller({ endpoint }: Pick<ServerConfig, "endpoint">): boolean {
  if (!("url" in endpoint)) return false;
  return endpoint.auth?.perCaller === true || endpoint.auth?.exchange !== undefined;
}

/** Users with the same key share connections. */
function keyOf({ id, key }: HubUser, { endpoint }: ServerConfig): string {
  return "auth" in endpoint && endpoint.auth?.exchange !== undefined ? key : id;
}

export class UserMembers {
  readonly #create: (user: HubUser, renewals: number) => Member;
  readonly #config: () => ServerConfig;
  readonly #members = new Map<string, { readonly user: HubUser; readonly member: Member }>();

  #renewals = 0;

  /** Members with other `renewals` share no session. */
  constructor(config: () => ServerConfig, create: (user: HubUser, renewals: number) => Member) {
    this.#config = config;
    this.#create = create;
  }

  [Symbol.iterator](): Iterator<Member> {
    return [...this.#members.values()].map(({ member }) => member).values();
  }

  /** The member of the user. A new one is started, so that its tools become known. */
  of(user: HubUser): Member {
    const key = keyOf(user, this.#config());
    const known = this.#members.get(key);
    if (known !== undefined) return known.member;
    const member = this.#create(user, this.#renewals);
    this.#members.set(key, { user, member });
    // The failure of a start, such as a missing login, is the answer to calls.
    member.start().catch(() => {});
    return member;
  }

  /** Replaces the connections of a user, which were made without its login or with an earlier one. */
  async renew(user: HubUser): Promise<void> {
    const key = keyOf(user, this.#config());
    const old = this.#members.get(key)?.member;
    const member = this.#create(user, (this.#renewals += 1));
    this.#members.set(key, { user, member });
    if (old !== undefined) void member.takeOver(old).catch(() => {});
    await member.start().catch(() => {});
  }

  configure(config: ServerConfig): void {
    for (const { member } of this.#members.values()) member.configure(config);
  }

  /** Takes over from the members of an older generation. Resolves when those have stopped. */
  async takeOver(old: UserMembers): Promise<void> {
    const taken = [...old.#members.values()].map(({ user, member }) => this.of(user).takeOver(member));
    old.#members.clear();
    await Promise.all(taken);
  }

  /** The user has left: its connections end after its last call. */
  async release(id: string): Promise<void> {
    const found = [...this.#members].filter(([, { user }]) => user.id === id);
    for (const [key] of found) this.#members.delete(key);
    await Promise.all(found.map(([, { member }]) => member.drain()));
  }

  async drain(): Promise<void> {
    await this.#end((member) => member.drain());
  }

  async stop(reason?: string): Promise<void> {
    await this.#end((member) => member.stop({ isSilent: true, reason }));
  }

  async #end(how: (member: Member) => Promise<void>): Promise<void> {
    const all = [...this.#members.values()];
    this.#members.clear();
    await Promise.all(all.map(({ member }) => how(member)));
  }
}
