// Members of a hub as the config files demand: servers are added, removed, and replaced by new generations.

import { setImmediate as nextTurn } from "node:timers/promises";
import type { CatalogChange } from "../../catalog/index.ts";
import type { Contracts } from "../../contracts/index.ts";
import { toPortolanError } from "../../errors/index.ts";
import type { ServerConfig } from "../../model/index.ts";
import { inWorkspaceFolder } from "./config.ts";
import type { Hub } from "../hub.ts";
import {
  describeFailedReplacement,
  describeUnreadSecrets,
  type FailedReplacement,
} from "../member/failed-replacement.ts";
import type { Member } from "../member/member.ts";
import type { OpenedHub } from "../open-hub.ts";
import { isExclusive, isSameProcess, keepsOld, withEarlierProgram } from "./replacement.ts";

/** The shortest time that the rest gets after the others, where opening waits for most servers. */
const PATIENCE_MS = 1_000;
/** How long a server that cannot run beside its new generation may finish its calls. */
const EXCLUSIVE_DRAIN_MS = 5_000;

export interface MembersOptions {
  readonly hub: Hub;
  readonly toMember: OpenedHub["member"];
  readonly leaveOut: ((server: ServerConfig) => boolean) | undefined;
  /** Called before a server is removed, or a new generation of it starts. */
  readonly replaces: (alias: string) => void;
}

export interface RestartOptions {
  /** For the event; default: "as requested". */
  readonly reason?: string;
  /** End the old process first, because two processes of the server cannot run at the same time. */
  readonly stopFirst?: boolean;
  /** False: the old process ends also if the new one cannot start. */
  readonly mayKeep?: boolean;
}

interface Replacing extends Pick<RestartOptions, "stopFirst" | "mayKeep"> {
  /** The number of the restart; absent for a changed config. */
  readonly restart?: number;
}

export interface Waiting {
  /** The longest wait. */
  readonly ms: number;
  /** Wait for all servers, or only for most: not for those that take longer than all others together. */
  readonly for: "all" | "most";
  readonly signal: AbortSignal | undefined;
}

/** The servers that were restarted because their secrets have other values, and why others keep the values from before. */
export interface RenewedSecrets {
  readonly restarted: readonly string[];
  readonly problems: readonly string[];
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
  readonly #replaces: MembersOptions["replaces"];
  readonly #starts = new Set<Promise<void>>();
  /** New generations that are starting. The latest one wins. */
  readonly #next = new Map<string, Member>();
  #restarts = 0;
  #changing: Promise<void> = Promise.resolve();
  /** The turn of the last server with known tools. */
  #startTurns: Promise<void> = Promise.resolve();

  constructor(options: MembersOptions) {
    this.#hub = options.hub;
    this.#toMember = options.toMember;
    this.#leaveOut = options.leaveOut;
    this.#replaces = options.replaces;
  }

  /** Starts the servers, and waits until their tools are known. */
  async begin(servers: readonly ServerConfig[], waiting: Waiting): Promise<void> {
    const joining = servers
      .filter((server) => this.#wants(server))
      .map(async (server) => {
        const { loaded, begun } = this.#join(server);
        if (!(await loaded)) await begun;
      });
    // Loaded from disk at once, so that a caller that does not wait sees the known tools.
    await Promise.all(this.#hub.members.map((member) => member.load()));
    await waitForTools(joining, waiting);
  }

  /**
   * Applies a change of the config files, after earlier changes. `repackaged` are servers with another package in the lock
   * file: their config may be the same, but not their program. Resolves when every server of it is ready or has failed.
   */
  apply(change: CatalogChange, repackaged: readonly string[] = []): Promise<Reloaded> {
    const { catalog, added, removed } = change;
    const changed = [...new Set([...change.changed, ...repackaged])].toSorted();
    const fresh = new Set([...added, ...changed]);
    const begun = this.#changing.then(() => {
      for (const alias of removed) {
        void this.#next.get(alias)?.stop({ isSilent: true });
        this.#next.delete(alias);
        this.#replaces(alias);
        // The removed server finishes its calls in the background.
        void this.#hub.remove(alias).catch(() => {});
      }
      for (const { alias, origin } of catalog.servers) if (!fresh.has(alias)) this.#move(alias, origin);
      const servers = catalog.servers.filter((one) => fresh.has(one.alias) && this.#wants(one));
      return servers.map((one) => {
        const server = inWorkspaceFolder(one, catalog.folder);
        return this.#track(
          repackaged.includes(one.alias) ? this.#startAnew(server) : this.#configure(server),
        );
      });
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

  /**
   * Replaces the processes of a server by new ones, also those of a lazy or failed server. Calls in flight finish on the old
   * ones. Resolves when the new generation is ready or has failed. If it failed, the old one may continue (`keepsOld`).
   */
  async restart(
    alias: string,
    { reason = "as requested", stopFirst, mayKeep }: RestartOptions = {},
  ): Promise<void> {
    await this.#changing;
    const current = this.#hub.member(alias);
    // A changed config that is just starting, or that could not start, must not be lost.
    const { config } = this.#next.get(alias) ?? current.failedReplacement ?? current;
    if (!config.enabled && current.unavailable !== undefined) throw current.unavailable;
    const restart = (this.#restarts += 1);
    await this.#track(this.#replace(config, current, { restart, stopFirst, mayKeep }));
    const next = this.#hub.member(alias);
    if (next.failedReplacement !== undefined) return;
    try {
      await next.start();
      // Until a driver is verified, its calls go to the process from before.
      await contractsIn(next)?.settled();
    } catch {
      // The state of the server has the failure.
      return;
    }
    this.#hub.events.emit({ type: "mcp.server_restarted", server: alias, reason });
  }

  /**
   * Looks up the secrets of all servers again, and restarts those that were started with other values. Also tries these replacements
   * again that failed earlier.
   */
  async renewSecrets(earlier: readonly FailedReplacement[] = []): Promise<RenewedSecrets> {
    await this.#changing;
    const problems = new Map<string, string>();
    const checked = this.#hub.members.map(async (member) => {
      // A server that does not run reads its secrets at its next start.
      if (!member.isPerCaller && (member.stopped || member.state === "idle")) return [];
      try {
        const isNew = await member.processes.hasNewSecrets();
        member.secretsRead();
        return isNew ? [member.alias] : [];
      } catch (thrown) {
        problems.set(member.alias, this.#keepSecrets(member, thrown));
        return [];
      }
    });
    const restarted = (await Promise.all(checked)).flat().toSorted();
    // The earlier values may have been withdrawn, so no process continues with them.
    const renewal: RestartOptions = { reason: "with new secrets", mayKeep: false };
    await Promise.all(restarted.map((alias) => this.restart(alias, renewal)));
    const again = this.#hub.members.filter(
      // A new process could not start without the secrets.
      ({ alias, failedReplacement: failed }) =>
        failed !== undefined && earlier.includes(failed) && !problems.has(alias),
    );
    await Promise.all(
      again.map(({ alias }) => this.restart(alias, { reason: "with its new configuration" })),
    );
    // The cause of a failed start may be gone, such as a missing secret or folder: its next try is not awaited.
    for (const member of this.#hub.members)
      if (!restarted.includes(member.alias) && (member.state === "failed" || member.state === "blocked"))
        void this.#track(member.retry());
    return { restarted, problems: [...problems.values()] };
  }

  /** Resolves when every server that was to be started, also of a driver, is ready or has failed. */
  async settled(): Promise<void> {
    await this.#changing;
    await Promise.allSettled(this.#starts);
    await Promise.all(this.#hub.members.map(async (member) => contractsIn(member)?.settled()));
    // The hub announces the new lists in the next turn of the event loop; until then, a connection would return the old ones.
    await nextTurn();
  }

  #wants(server: ServerConfig): boolean {
    return !this.#hub.closed && this.#leaveOut?.(server) !== true;
  }

  #failed(aliases: ReadonlySet<string>): Reloaded["failed"] {
    return this.#hub.members.flatMap(({ alias, unavailable, failedReplacement }) => {
      const reason = unavailable?.message ?? failedReplacement?.message;
      return reason === undefined || !aliases.has(alias) ? [] : [{ server: alias, reason }];
    });
  }

  /** `loaded`: whether the tools are known from the last run; `begun`: the server is ready or has failed. */
  #join(server: ServerConfig): { readonly loaded: Promise<boolean>; readonly begun: Promise<void> } {
    const member = this.#toMember(server);
    this.#hub.add(member);
    const loaded = member.load();
    // Starting a process takes longer than answering a request, so that requests are answered between the starts.
    member.processes.startAfter(loaded.then((isKnown) => (isKnown ? this.#startTurn() : undefined)));
    return { loaded, begun: this.#track(member.begin()) };
  }

  /** Applies a changed server config. The processes continue unless their identity changed. */
  async #configure(server: ServerConfig): Promise<void> {
    const current = this.#hub.members.find(({ alias }) => alias === server.alias);
    if (current === undefined) return this.#join(server).begun;
    const next = this.#next.get(server.alias);
    if (next === undefined && isSameProcess(current.config, server)) {
      current.configure(server);
      this.#hub.changed();
      return;
    }
    await this.#replace(server, current);
  }

  /** Notes where the config of a server is now: lines may have been inserted before it. */
  #move(alias: string, origin: ServerConfig["origin"]): void {
    const current = this.#hub.members.find((member) => member.alias === alias);
    for (const member of [current, this.#next.get(alias)]) member?.move(origin);
  }

  /** Replaces the processes of a server, also if its config is the same. */
  async #startAnew(server: ServerConfig): Promise<void> {
    const current = this.#hub.members.find(({ alias }) => alias === server.alias);
    if (current === undefined) return this.#join(server).begun;
    await this.#replace(server, current, { restart: (this.#restarts += 1) });
  }

  async #replace(
    server: ServerConfig,
    current: Member,
    { restart, stopFirst = false, mayKeep = true }: Replacing = {},
  ): Promise<void> {
    const { alias } = server;
    const before = this.#next.get(alias);
    this.#replaces(alias);
    let contracts = current.processes.handle?.upstream;
    const member = this.#toMember(server, () => contracts, restart);
    // The old lists are shown until the new ones are known, and the difference is announced.
    if (server.enabled && server.start !== "lazy") member.inheritLists(current);
    this.#next.set(alias, member);
    const done = this.#hub.keepAside(member);
    try {
      // A newer config replaces the one that is still starting.
      const stopped = before?.stop({ isSilent: true });
      if (stopFirst || isExclusive(current.config) || isExclusive(server)) {
        await stopped;
        return await this.#replaceAfter(member, current);
      }
      if (current.isDown && current.processes.main.live === undefined) {
        // There is no process that could continue, and the cause of its failure is not that of the new one.
        await stopped;
        void this.#takeOver(member, current);
        return await member.begin();
      }
      current.failedReplacement = undefined;
      member.isCandidate = true;
      const begun = this.#tryStart(member, current, restart !== undefined);
      await stopped;
      await begun;
      const keeps = mayKeep && (await keepsOld(current, member));
      if (this.#hub.closed || this.#next.get(alias) !== member) return await member.stop({ isSilent: true });
      if (keeps) return await this.#keep(current, member);
      const gone = this.#takeOver(member, current);
      // The start may have failed because of the old process (a port, a lock), so it is tried again without it.
      if (member.state === "failed") void gone.then(() => this.#retryAlone(member));
    } finally {
      // Otherwise each generation would keep all earlier ones in memory.
      contracts = undefined;
      done();
    }
  }

  /** A lazy server that is restarted while it runs is started now, so that a failure is known before the old process ends. */
  async #tryStart(member: Member, current: Member, isRestart: boolean): Promise<void> {
    await member.begin();
    const isWorking = current.processes.main.live !== undefined && !member.isPerCaller;
    if (isRestart && isWorking && member.state === "idle") await member.start().catch(() => {});
  }

  /** The new generation could not start: the old one continues, with the new settings that need no other process. */
  async #keep(current: Member, member: Member): Promise<void> {
    this.#next.delete(member.alias);
    const isSame = isSameProcess(current.config, member.config);
    current.configure(withEarlierProgram(member.config, current.config));
    const failed = describeFailedReplacement(current, member, isSame ? "restart" : "config");
    if (failed !== undefined) this.#keepsServing(current, failed);
    this.#hub.changed();
    await member.stop({ isSilent: true });
  }

  /** The server runs with secrets that cannot be read again. Returns the message about it. */
  #keepSecrets(member: Member, thrown: unknown): string {
    const failed = describeUnreadSecrets(member, toPortolanError(thrown));
    const known = member.failedReplacement;
    // The config of another failure must not be lost.
    const isNew = known === undefined || (known.change === "secrets" && known.message !== failed.message);
    // A server that is down has an error of its own.
    if (isNew && !member.isDown) this.#keepsServing(member, failed);
    return failed.message;
  }

  /** The process continues, although the server could not start again. */
  #keepsServing(current: Member, failed: FailedReplacement): void {
    current.failedReplacement = failed;
    const { code, message: reason, hint } = failed;
    const type = "mcp.server_replacement_failed";
    this.#hub.events.emit({ type, server: current.alias, code, reason, hint });
  }

  /** Replaces a server that cannot run twice: calls wait while the old process ends and the new one starts. */
  async #replaceAfter(member: Member, current: Member): Promise<void> {
    const late = setTimeout(() => void current.stop(), EXCLUSIVE_DRAIN_MS);
    const gone = this.#takeOver(member, current);
    member.processes.startAfter(gone);
    await member.begin();
    clearTimeout(late);
  }

  /** Makes the new generation current. Resolves when the old one has ended. */
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

  /** Resolves for one server in each turn of the event loop. */
  #startTurn(): Promise<void> {
    return (this.#startTurns = this.#startTurns.then(() => nextTurn()));
  }

  #track(start: Promise<void>): Promise<void> {
    const tracked: Promise<void> = start.finally(() => this.#starts.delete(tracked));
    tracked.catch(() => {});
    this.#starts.add(tracked);
    return tracked;
  }
}

function contractsIn({ config, processes }: Member): Contracts | undefined {
  if (config.endpoint.transport !== "contracts") return undefined;
  return processes.handle?.upstream as Contracts | undefined;
}

/** Resolves when all have settled, or the time is over. With "most", also when the rest has taken twice as long as the others. */
function waitForTools(joining: readonly Promise<void>[], waiting: Waiting): Promise<void> {
  return new Promise((resolve) => {
    waiting.signal?.addEventListener("abort", () => resolve(), { once: true });
    const started = performance.now();
    const end = setTimeout(resolve, waiting.ms);
    let patience: NodeJS.Timeout | undefined;
    let left = joining.length;
    const done = (): void => {
      clearTimeout(patience);
      if (left === 0) clearTimeout(end);
      if (left === 0) resolve();
      else if (waiting.for === "most")
        patience = setTimeout(resolve, Math.max(PATIENCE_MS, performance.now() - started)).unref();
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
