// Hub: many servers as one upstream. It contains the members and the views of them.

import { type Diagnostic, type Report, unknownServer, unknownTool } from "../errors/index.ts";
import type { Approve, Contracts } from "../contracts/index.ts";
import type { JsonObject, LogLevel, LogMessage } from "../model/index.ts";
import type { Call, Description, Upstream, UpstreamEvents, UpstreamStats } from "../upstream/index.ts";
import type { EventBus } from "./events.ts";
import type { Member } from "./member/member.ts";
import type { HubUser } from "./member/user-members.ts";
import type { MergeSettings } from "./views/merge.ts";
import { WorkspaceContracts } from "./drivers/workspace-contracts.ts";
import { withheldError } from "./pins/pin-state.ts";
import { CallChecks } from "./views/call-checks.ts";
import { contractName, contractNamed, hubName, promptName } from "./views/naming.ts";
import { downOwner, startingOwner } from "./views/routing.ts";
import { HubView, type ViewOptions, type ViewSource } from "./views/view.ts";

/** The server of a tool or prompt, and the server's own name for it. */
export interface OwnName {
  readonly server: string;
  readonly name: string;
}

export interface HubSettings {
  readonly name: string;
  readonly settings: MergeSettings;
  readonly events: EventBus;
  readonly report: Report;
  /** Forgets reported diagnostics whose cause is gone. */
  readonly forget?: (isOver: (diagnostic: Diagnostic) => boolean) => void;
}

export class Hub implements Upstream, ViewSource {
  readonly name: string;
  readonly events: EventBus;
  readonly report: Report;
  readonly #forget: NonNullable<HubSettings["forget"]>;
  /** Checks of tool calls in all views. */
  readonly checks: CallChecks = new CallChecks();
  settings: MergeSettings;
  closed = false;
  /** Decides about contract calls that need approval. Default: an elicitation. */
  approve: Approve | undefined;
  readonly #members = new Map<string, Member>();
  /** Generations that are starting, and old ones that finish their calls. */
  readonly #aside = new Set<Member>();
  readonly #whole: HubView;
  readonly #views = new Set<HubView>();
  /** The diagnostics of each view when it was merged last. */
  readonly #found = new Map<HubView, readonly string[]>();
  #isAnnouncing = false;
  /** The member with the contracts of all drivers. */
  #contractsMember: Member | undefined;
  #contracts: WorkspaceContracts | undefined;

  constructor(options: HubSettings) {
    this.name = options.name;
    this.settings = options.settings;
    this.events = options.events;
    this.report = options.report;
    this.#forget = options.forget ?? (() => {});
    this.#whole = this.view({ name: options.name });
  }

  get members(): readonly Member[] {
    return [...this.#members.values()];
  }

  get diagnostics(): readonly Diagnostic[] {
    return this.#whole.table.diagnostics;
  }

  member(alias: string): Member {
    const found = this.#members.get(alias);
    if (found !== undefined) return found;
    throw unknownServer(alias, this.#members.keys());
  }

  /** Creates a view, which lasts as long as the hub. */
  view(options: ViewOptions): HubView {
    const view = new HubView(options, this);
    this.#views.add(view);
    return view;
  }

  /** Closes a view before the hub is closed. */
  async removeView(view: HubView): Promise<void> {
    this.#views.delete(view);
    this.#found.delete(view);
    await view.close();
  }

  /** Reports the diagnostics of a merge, except those that any view has reported before; forgets those that no view has now. */
  merged(view: HubView, diagnostics: readonly Diagnostic[]): void {
    const known = new Set([...this.#found.values()].flat());
    this.#found.set(
      view,
      diagnostics.map(({ message }) => message),
    );
    const now = new Set([...this.#found.values()].flat());
    const isOver = [...known].some((message) => !now.has(message));
    if (isOver)
      this.#forget(
        ({ code, message }) => code === "NAME_AMBIGUOUS" && known.has(message) && !now.has(message),
      );
    for (const diagnostic of diagnostics) if (!known.has(diagnostic.message)) this.report(diagnostic);
  }

  /** Applies new naming settings, which rename tools and prompts. */
  configure(settings: MergeSettings): void {
    this.settings = settings;
    this.changed();
  }

  /** Adds a member, which replaces a member with the same alias. */
  add(member: Member): void {
    this.#members.set(member.alias, member);
    if (isContracts(member)) this.#useContracts(member);
    this.changed();
  }

  /** Stops the member with the hub, although it is not listed. The returned function ends that. */
  keepAside(member: Member): () => void {
    this.#aside.add(member);
    return () => void this.#aside.delete(member);
  }

  async remove(alias: string): Promise<void> {
    const member = this.#members.get(alias);
    if (member === undefined) return;
    this.#members.delete(alias);
    if (isContracts(member)) this.#useContracts(undefined);
    this.changed();
    const done = this.keepAside(member);
    await member.drain().finally(done);
  }

  /** A member's lists or state changed. Announced once per turn of the event loop. */
  changed(): void {
    for (const view of this.#views) view.outdated();
    if (!this.#isAnnouncing) setImmediate(() => this.#announce());
    this.#isAnnouncing = true;
  }

  resourceUpdated(from: Member, uri: string): void {
    this.#relay(from, "resourceUpdated", uri);
  }

  logged(from: Member, message: JsonObject): void {
    this.#relay(from, "log", message as LogMessage);
  }

  /** The members as a user sees them: of a server at which callers log in, its own one. `none` has no such servers. */
  membersOf(user: HubUser | "none" | undefined): readonly Member[] {
    if (user === undefined) return this.members;
    if (user === "none") return this.members.filter((member) => !member.isPerCaller);
    return this.members.map((member) =>
      // A call of a user must not start a server that a person has stopped.
      member.isPerCaller && !member.isStoppedOnRequest ? member.users.of(user) : member,
    );
  }

  /** True if callers of the gateway log in at some server. */
  get hasUsers(): boolean {
    for (const member of this.#members.values()) if (member.isPerCaller) return true;
    return false;
  }

  /** A user of the gateway has left: its own connections end after its last call. */
  async releaseUser(user: string): Promise<void> {
    await Promise.all(this.members.map((member) => member.users.release(user)));
  }

  /** The full name of a tool that may be given as `alias.tool`, or as the id of a contract. */
  toolName(name: string): string {
    const contracts = this.#contractsMember;
    const full = contracts === undefined ? undefined : contractName(contracts.config, name);
    if (full !== undefined && !this.#whole.table.promptRoutes.has(name)) {
      const dot = name.indexOf(".");
      // A name that begins with the alias of a server is a tool of that server.
      if (!this.#members.has(dot === -1 ? name : name.slice(0, dot))) return full;
    }
    return this.#whole.fullName(name, (alias) => this.member(alias).config);
  }

  /** Whether a tool or prompt of this name is known. */
  isKnown(name: string): boolean {
    const { toolRoutes, promptRoutes } = this.#whole.table;
    return toolRoutes.has(name) || promptRoutes.has(name);
  }

  /**
   * Waits for a starting server to which an unknown tool or prompt of this name can belong. Throws the error of a server
   * that is down, of a tool that is withheld, or of a contract that is not served, because it is more helpful than the list of
   * other names.
   */
  async findOwner(name: string, limit: Pick<Call, "timeoutMs" | "signal">): Promise<void> {
    // The connection reports a name that is no text.
    if (typeof name !== "string") return;
    await startingOwner(this.#whole, name, this.settings.naming)?.listed(limit);
    const held = this.#whole.table.withheld.get(name);
    if (held !== undefined && !this.isKnown(name))
      throw withheldError(held.member.alias, held.own, held.member.pins.state);
    const down = this.isKnown(name) ? undefined : downOwner(this.#whole, name, this.settings.naming);
    if (down !== undefined) throw down;
    if (!this.isKnown(name)) await this.#refuseUnserved(name);
  }

  async #refuseUnserved(name: string): Promise<void> {
    const member = this.#contractsMember;
    const id = member && contractNamed(member.config, name);
    const reason = id === undefined ? undefined : (await this.contracts())?.unservedReason(id);
    if (reason !== undefined) throw unknownTool({ server: member?.alias, name, known: [], reason });
  }

  /** The full name of a prompt that may be given as `alias.prompt`. */
  promptName(name: string): string {
    const dot = typeof name === "string" ? name.indexOf(".") : -1;
    if (dot === -1 || this.#whole.table.promptRoutes.has(name)) return name;
    const { config } = this.member(name.slice(0, dot));
    return promptName(this.settings.naming, config, name.slice(dot + 1));
  }

  /** The contracts of all drivers, started if necessary. The same object for as long as the hub is open. */
  async contracts(): Promise<Contracts | undefined> {
    const member = this.#contractsMember;
    if (member === undefined) return undefined;
    this.#contracts ??= new WorkspaceContracts(member);
    await this.#contracts.start();
    return this.#contracts;
  }

  /** The name of a server's tool in the whole hub. */
  fullToolName(alias: string, own: string): string {
    return hubName(this.settings.naming, this.member(alias).config, own);
  }

  /** The server of a tool, and the server's name for it, by its full name. */
  ownName(tool: string): OwnName | undefined {
    const route = this.#whole.table.toolRoutes.get(tool);
    return route && { server: route.member.alias, name: route.own };
  }

  /** All tools by their full names. */
  toolNames(): ReadonlyMap<string, OwnName> {
    return new Map(
      [...this.#whole.table.toolRoutes].map(([name, { member, own }]) => [
        name,
        { server: member.alias, name: own },
      ]),
    );
  }

  /** All prompts by their full names. */
  promptNames(): ReadonlyMap<string, OwnName> {
    return new Map(
      [...this.#whole.table.promptRoutes].map(([full, { member, name }]) => [
        full,
        { server: member.alias, name },
      ]),
    );
  }

  describe(): Description {
    return this.#whole.describe();
  }

  request(call: Call): Promise<JsonObject> {
    return this.#whole.request(call);
  }

  notify(method: string, params?: JsonObject): void {
    this.#whole.notify(method, params);
  }

  subscribe(uri: string): Promise<() => Promise<void>> {
    return this.#whole.subscribe(uri);
  }

  setLogLevel(level: LogLevel): Promise<void> {
    return this.#whole.setLogLevel(level);
  }

  on<E extends keyof UpstreamEvents>(event: E, listener: (...args: UpstreamEvents[E]) => void): () => void {
    return this.#whole.on(event, listener);
  }

  stats(): UpstreamStats {
    return this.#whole.stats();
  }

  /** `reason` is the message of calls that were running. */
  async close(reason?: string): Promise<void> {
    if (this.closed) return;
    this.closed = true;
    await Promise.allSettled([...this.members, ...this.#aside].map((member) => member.stop({ reason })));
    await Promise.allSettled([...this.#views].map((view) => view.close()));
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #useContracts(member: Member | undefined): void {
    this.#contractsMember = member;
    this.#contracts?.attach(member);
  }

  #relay<E extends "resourceUpdated" | "log">(from: Member, event: E, ...args: UpstreamEvents[E]): void {
    // Events of an old generation belong to the current one.
    const member = this.#members.get(from.alias);
    const current = from.user === undefined ? member : from;
    if (current !== undefined) for (const view of this.#views) view.relay(current, event, ...args);
  }

  #announce(): void {
    this.#isAnnouncing = false;
    if (this.closed) return;
    // Views merge on demand; one with diagnostics merges now, so that those whose cause is gone are forgotten.
    for (const [view, found] of this.#found) if (found.length > 0) void view.table;
    for (const view of this.#views) view.announce();
  }
}

function isContracts({ config }: Member): boolean {
  return config.endpoint.transport === "contracts";
}
