// The members of a hub as the config files say: servers join, leave, and are replaced by new generations of themselves.

import { isDeepStrictEqual } from "node:util";
import type { CatalogChange } from "../../catalog/index.ts";
import type { DeclaredServer } from "../../model/index.ts";
import { atHome } from "./config.ts";
import type { Hub } from "../hub.ts";
import type { Member } from "../member/member.ts";
import type { OpenedHub } from "../open-hub.ts";

/** Servers that take longer than all the others together are not waited for; they arrive with an event. */
const PATIENCE_MS = 1_000;
/** How long a server that cannot run beside its new generation may finish its calls. */
const EXCLUSIVE_DRAIN_MS = 5_000;

export interface MembersOptions {
  readonly hub: Hub;
  readonly toMember: OpenedHub["member"];
  readonly leaveOut: ((server: DeclaredServer) => boolean) | undefined;
}

/** The servers that a change of the config files added, changed or removed, and the servers that failed. */
export interface Reloaded {
  readonly added: readonly string[];
  readonly changed: readonly string[];
  readonly removed: readonly string[];
  readonly failed: readonly { readonly server: string; readonly reason: string }[];
}

export class Members {
  readonly #hub: Hub;
  readonly #toMember: OpenedHub["member"];
  readonly #leaveOut: MembersOptions["leaveOut"];
  readonly #starts = new Set<Promise<void>>();
  /** New generations that are starting: the last one counts. */
  readonly #next = new Map<string, Member>();
  #changing: Promise<void> = Promise.resolve();

  constructor(options: MembersOptions) {
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
    // From disk, so at once: a caller that waits for nothing else still sees what is known.
    await Promise.all(this.#hub.members.map((member) => member.load()));
    await mostOf(joining, waitMs, signal);
  }

  /** Applies a change of the config files, after those that came before it. Resolves when every server of it is ready or has failed. */
  apply({ catalog, added, removed, changed }: CatalogChange): Promise<Reloaded> {
    const fresh = new Set([...added, ...changed]);
    const begun = this.#changing.then(() => {
      for (const alias of removed) {
        void this.#next.get(alias)?.stop({ isSilent: true });
        this.#next.delete(alias);
        // It finishes its calls, which nobody waits for.
        void this.#hub.remove(alias).catch(() => {});
      }
      const servers = catalog.servers.filter((one) => fresh.has(one.alias) && this.#wants(one));
      return servers.map((one) => this.#track(this.#configure(atHome(one, catalog.folder))));
    });
    this.#changing = begun.then(
      () => {},
      () => {},
    );
    return begun.then(async (starts) => {
      await Promise.allSettled(starts);
      return { added, changed, removed, failed: this.#failed(fresh) };
    });
  }

  /** Resolves when every server that was to be started is ready or has failed. */
  async settled(): Promise<void> {
    await this.#changing;
    await Promise.allSettled(this.#starts);
  }

  #wants(server: DeclaredServer): boolean {
    return !this.#hub.closed && this.#leaveOut?.(server) !== true;
  }

  #failed(aliases: ReadonlySet<string>): Reloaded["failed"] {
    return this.#hub.members.flatMap(({ alias, unavailable }) =>
      unavailable === undefined || !aliases.has(alias)
        ? []
        : [{ server: alias, reason: unavailable.message }],
    );
  }

  /** Resolves when its tools are known: at once from the last run, or when it is ready or has failed. */
  async #join(server: DeclaredServer): Promise<void> {
    const member = this.#toMember(server);
    this.#hub.add(member);
    const begun = this.#track(member.begin());
    if (!(await member.load())) await begun;
  }

  /** Replaces what is set of a server; the processes go on unless they must be others. */
  async #configure(server: DeclaredServer): Promise<void> {
    const current = this.#hub.members.find(({ alias }) => alias === server.alias);
    if (current === undefined) return this.#join(server);
    const next = this.#next.get(server.alias);
    if (next === undefined && isSameProcess(current.declared, server)) {
      current.configure(server);
      this.#hub.changed(new Set(["tools", "prompts", "resources"]));
      return;
    }
    await this.#replace(server, current);
  }

  async #replace(server: DeclaredServer, current: Member): Promise<void> {
    const { alias } = server;
    const before = this.#next.get(alias);
    let contracts = current.processes.lease?.upstream;
    const member = this.#toMember(server, () => contracts);
    // The lists of before show what is new, and are there until the new ones are known.
    if (server.enabled && server.start !== "lazy") member.inheritLists(current);
    this.#next.set(alias, member);
    const done = this.#hub.keepAside(member);
    try {
      // A newer config replaces the one that is still starting.
      const stopped = before?.stop({ isSilent: true });
      if (isExclusive(current.declared) || isExclusive(server)) {
        await stopped;
        return await this.#replaceAfter(member, current);
      }
      const begun = member.begin();
      await stopped;
      await begun;
      if (this.#hub.closed || this.#next.get(alias) !== member) return await member.stop({ isSilent: true });
      const gone = this.#takeOver(member, current);
      // It may have failed because of the old process: a port, a lock. It is tried once more without that.
      if (member.state === "failed") void gone.then(() => this.#retryAlone(member));
    } finally {
      // Or each would keep all those that were before it.
      contracts = undefined;
      done();
    }
  }

  /** The server cannot run twice: calls wait while the old process ends and the new one starts. */
  async #replaceAfter(member: Member, current: Member): Promise<void> {
    const late = setTimeout(() => void current.stop(), EXCLUSIVE_DRAIN_MS);
    const gone = this.#takeOver(member, current);
    member.processes.startAfter(gone);
    await member.begin();
    clearTimeout(late);
  }

  /** Resolves when the old generation is gone. Nobody who needs the new one waits for that. */
  #takeOver(member: Member, current: Member): Promise<void> {
    if (this.#next.get(member.alias) === member) this.#next.delete(member.alias);
    const done = this.#hub.keepAside(current);
    const gone = member.takeOver(current).catch(() => {});
    this.#hub.add(member);
    void gone.finally(done);
    return gone;
  }

  async #retryAlone(member: Member): Promise<void> {
    if (member.state === "failed") await this.#track(member.retry());
  }

  #track(start: Promise<void>): Promise<void> {
    const tracked: Promise<void> = start.finally(() => this.#starts.delete(tracked));
    tracked.catch(() => {});
    this.#starts.add(tracked);
    return tracked;
  }
}

/** Two configs of one server that mean the same processes. */
function isSameProcess(a: DeclaredServer, b: DeclaredServer): boolean {
  if (b.endpoint.transport === "contracts") return false;
  const identity = ({ endpoint, era, limits, launch, enabled }: DeclaredServer): unknown => [
    endpoint,
    era,
    limits,
    launch,
    enabled,
  ];
  return isDeepStrictEqual(identity(a), identity(b));
}

/** Two processes of it at once would disturb each other: a HOME of its own, a port that its URL names. */
function isExclusive({ enabled, endpoint, launch }: DeclaredServer): boolean {
  if (!enabled) return false;
  return launch?.sandbox?.home === "kept" || ("program" in endpoint && endpoint.program !== undefined);
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
