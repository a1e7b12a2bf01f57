// Who is in a hub: members join, leave and are replaced as the declarations say, each at its own pace.

import { isDeepStrictEqual } from "node:util";
import type { CatalogChange } from "../catalog/index.ts";
import type { DeclaredServer } from "../model/index.ts";
import { atHome } from "./declared.ts";
import type { Hub } from "./hub.ts";
import type { Member } from "./member.ts";
import type { OpenedHub } from "./open-hub.ts";

/** Servers that take longer than all the others together are not waited for; they arrive with an event. */
const PATIENCE_MS = 1_000;
/** The longest that one whose place was taken goes on with the calls that it has. */
const DRAIN_MS = 5 * 60_000;

export class Roster {
  readonly #hub: Hub;
  readonly #toMember: OpenedHub["member"];
  readonly #leaveOut: ((server: DeclaredServer) => boolean) | undefined;
  readonly #starts = new Set<Promise<void>>();
  /** Those that take the place of others, while they start: the last one counts. */
  readonly #coming = new Map<string, Member>();
  #changing: Promise<void> = Promise.resolve();

  constructor(options: {
    hub: Hub;
    toMember: OpenedHub["member"];
    leaveOut: ((server: DeclaredServer) => boolean) | undefined;
  }) {
    this.#hub = options.hub;
    this.#toMember = options.toMember;
    this.#leaveOut = options.leaveOut;
  }

  /** Starts what is to be started. Resolves when the tools of all are known, or of all but a few that take much longer. */
  async begin(
    servers: readonly DeclaredServer[],
    waitMs: number,
    signal: AbortSignal | undefined,
  ): Promise<void> {
    const joining = servers.filter((server) => this.#wants(server)).map((server) => this.#join(server));
    // From disk, so at once: whoever waits for nothing else still sees what is known.
    await Promise.all(this.#hub.members.map((member) => member.load()));
    await mostOf(joining, waitMs, signal);
  }

  /** Applies a change of the declarations, after those that came before it. */
  apply({ catalog, added, removed, changed }: CatalogChange): void {
    const fresh = new Set([...added, ...changed]);
    this.#changing = this.#changing
      .then(async () => {
        for (const alias of removed) this.#coming.delete(alias);
        await Promise.all(removed.map((alias) => this.#hub.remove(alias)));
        for (const declared of catalog.servers) {
          if (fresh.has(declared.alias) && this.#wants(declared))
            void this.#track(this.#replace(atHome(declared, catalog.folder)));
        }
      })
      .catch(() => {});
  }

  /** Resolves when every server that was to be started is ready or has failed. */
  async settled(): Promise<void> {
    await this.#changing;
    await Promise.allSettled(this.#starts);
  }

  #wants(server: DeclaredServer): boolean {
    return !this.#hub.closed && this.#leaveOut?.(server) !== true;
  }

  /** Resolves when its tools are known: at once from the last run, or when it is ready or has failed. */
  async #join(server: DeclaredServer): Promise<void> {
    const member = this.#toMember(server);
    this.#hub.add(member);
    const begun = this.#track(member.begin());
    if (!(await member.load())) await begun;
  }

  async #replace(server: DeclaredServer): Promise<void> {
    const old = this.#hub.members.find(({ alias }) => alias === server.alias);
    if (old === undefined) return this.#join(server);
    const { transport } = server.endpoint;
    if (transport === "contracts") return this.#replaceAhead(server, old);
    if (isSameProcess(old.declared, server)) {
      // Only what is offered of it is new: the server itself goes on, with the calls that it has.
      const member = this.#toMember(server);
      member.inherit(old);
      this.#hub.add(member);
      await member.begin();
      await old.stop("stopped", { quiet: server.enabled });
    } else if (transport === "invoke") {
      await this.#replaceAhead(server, old);
    } else {
      await this.#hub.remove(server.alias);
      if (!this.#hub.closed) await this.#join(server);
    }
  }

  /**
   * It is no program that could stand in its own way: there need not be a moment without it. The old one finishes its calls, what
   * both need goes on running, and what the new one does not have ready yet it takes from the old one.
   */
  async #replaceAhead(server: DeclaredServer, old: Member): Promise<void> {
    const { alias } = server;
    let upstream = old.state === "ready" ? await old.start() : undefined;
    const member = this.#toMember(server, () => upstream);
    // What is new is told by what was there before.
    if (server.enabled && server.start !== "lazy") member.stock.inventory = old.inventory;
    // Whoever began to take its place before comes too late.
    const before = this.#coming.get(alias);
    this.#coming.set(alias, member);
    const done = this.#hub.keepAside(member);
    try {
      const begun = member.begin();
      await before?.stop("stopped", { quiet: true });
      await begun;
      if (this.#hub.closed || this.#coming.get(alias) !== member)
        return await member.stop("stopped", { quiet: true });
      this.#coming.delete(alias);
      const current = this.#hub.members.find((one) => one.alias === alias) ?? old;
      this.#hub.add(member);
      // Nobody who waits for the new one needs to wait for the calls of the old one.
      void this.#leave(current, server.enabled).catch(() => {});
    } finally {
      // Or each would keep all those that were before it.
      upstream = undefined;
      done();
    }
  }

  async #leave(old: Member, quiet: boolean): Promise<void> {
    const done = this.#hub.keepAside(old);
    try {
      await old.drained(DRAIN_MS);
      await old.stop("stopped", { quiet });
    } finally {
      done();
    }
  }

  #track(start: Promise<void>): Promise<void> {
    const tracked: Promise<void> = start.finally(() => this.#starts.delete(tracked));
    tracked.catch(() => {});
    this.#starts.add(tracked);
    return tracked;
  }
}

/** Two declarations of one alias that mean the same running server. */
function isSameProcess(a: DeclaredServer, b: DeclaredServer): boolean {
  const identity = ({ endpoint, era, limits }: DeclaredServer): unknown => [endpoint, era, limits];
  return isDeepStrictEqual(identity(a), identity(b));
}

/** Resolves when all are done, when the time is over, or when those that are left have taken twice as long as the others. */
function mostOf(
  joining: readonly Promise<void>[],
  waitMs: number,
  signal: AbortSignal | undefined,
): Promise<void> {
  return new Promise((resolve) => {
    signal?.addEventListener("abort", () => resolve(), { once: true });
    const started = performance.now();
    const end = setTimeout(resolve, waitMs);
    let patience: NodeJS.Timeout | undefined;
    let left = joining.length;
    const done = (): void => {
      clearTimeout(patience);
      if (left === 0) clearTimeout(end);
      if (left === 0) resolve();
      else patience = setTimeout(resolve, Math.max(PATIENCE_MS, performance.now() - started)).unref();
    };
    if (left === 0) done();
    for (const one of joining) {
      void one
        .catch(() => {})
        .finally(() => {
          left -= 1;
          done();
        });
    }
  });
}
