// Gateway views: what one kind of caller sees at one address, as a view of the hub that all its clients share.

import { didYouMean, PortolanError, unknownServer } from "../../errors/index.ts";
import type { Hidden, Hub, HubView, OfferLogin, ViewOptions } from "../../hub/index.ts";
import { type JsonObject, type LogMessage, showsApps } from "../../model/index.ts";
import type { NoteCallRefusal } from "../access/refusal-events.ts";
import type { AuthenticatedCaller, ToolFilter } from "../access/types.ts";
import { frameFor, type ResultFrame } from "./lists.ts";
import { type GatewayUser, GatewayUsers } from "./users.ts";

/** The part of the hub that an address selects. */
export type Scope =
  | { readonly kind: "all" }
  | { readonly kind: "server"; readonly alias: string }
  | { readonly kind: "tag"; readonly tag: string };

/** Receives the notifications of servers. */
export interface ViewListener {
  listChanged(list: "tools" | "prompts" | "resources"): void;
  resourceUpdated(uri: string): void;
  logged(message: LogMessage): void;
}

export class GatewayView {
  readonly key: string;
  readonly hubView: HubView;
  /** The user that alone has this view; undefined for a view of several callers. */
  readonly user: string | undefined;
  /** The view for clients that show apps, which also has the tools that only apps may call. */
  readonly #createWithApps: (() => GatewayView) | undefined;
  #withApps: GatewayView | undefined;
  readonly #listeners = new Set<ViewListener>();
  readonly #texts = new WeakMap<JsonObject, { modern?: string; legacy?: string }>();
  #frame: ResultFrame | undefined;
  #usesHeaders: boolean | undefined;

  constructor(
    key: string,
    hubView: HubView,
    options: { readonly user?: string; readonly createWithApps?: () => GatewayView } = {},
  ) {
    this.key = key;
    this.user = options.user;
    this.hubView = hubView;
    this.#createWithApps = options.createWithApps;
    for (const list of ["tools", "prompts", "resources"] as const) {
      hubView.on(`${list}Changed`, () => {
        this.#frame = undefined;
        this.#usesHeaders = undefined;
        for (const listener of this.#listeners) listener.listChanged(list);
      });
    }
    hubView.on("resourceUpdated", (uri) => {
      for (const listener of this.#listeners) listener.resourceUpdated(uri);
    });
    hubView.on("log", (message) => {
      for (const listener of this.#listeners) listener.logged(message);
    });
  }

  /** This view as a client with these capabilities sees it. */
  for(capabilities: JsonObject): GatewayView {
    if (this.#createWithApps === undefined || !showsApps(capabilities)) return this;
    this.#withApps ??= this.#createWithApps();
    return this.#withApps;
  }

  /** True for the same view, also as another client sees it. */
  isSameAs(view: GatewayView): boolean {
    return this === view || this === view.#withApps || this.#withApps === view;
  }

  /** True if a server of the view is an mcpfile, whose templates may use headers of the client's request. */
  get usesHeaders(): boolean {
    this.#usesHeaders ??= this.hubView.members.some(({ config }) => config.endpoint.transport === "invoke");
    return this.#usesHeaders;
  }

  /** The `_meta` that names the server in modern results. */
  get frame(): ResultFrame {
    this.#frame ??= frameFor(this.hubView.describe().info);
    return this.#frame;
  }

  get isListenedTo(): boolean {
    return this.#listeners.size > 0;
  }

  /** Returns the function that removes the listener. */
  addListener(listener: ViewListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** The JSON of a list, serialised once per era until the list changes. */
  listText(list: JsonObject, era: "modern" | "legacy", serialise: () => string): string {
    let texts = this.#texts.get(list);
    if (texts === undefined) this.#texts.set(list, (texts = {}));
    return (texts[era] ??= serialise());
  }
}

export interface GatewayViewsOptions {
  readonly name: string;
  /** A single enabled server keeps its own tool names and identity, until a second one is added. */
  readonly bare?: boolean;
  /** Called when the rules of a caller refuse a call. */
  readonly refused?: NoteCallRefusal;
  /** Offers logins at servers to a caller; undefined without login pages. */
  readonly offerLogin?: (caller: string) => OfferLogin | undefined;
}

/** Users that are away longest lose their connections if there are more. */
const MAX_USERS = 1_000;

export class GatewayViews {
  readonly #hub: Hub;
  readonly #options: GatewayViewsOptions;
  readonly #views = new Map<string, GatewayView>();
  readonly #users = new GatewayUsers(MAX_USERS);

  constructor(hub: Hub, options: GatewayViewsOptions) {
    this.#hub = hub;
    this.#options = options;
  }

  /** Throws when the server or tag does not exist, or when the caller must not see it. */
  for(caller: AuthenticatedCaller, scope: Scope): GatewayView {
    const { toolFilter: filter, name } = caller;
    const user = this.#users.of(caller, this.#hub.hasUsers);
    const key = `${scopeKey(scope)}\n${filter?.key ?? ""}\n${userKey(user, name)}`;
    const known = this.#views.get(key);
    if (scope.kind !== "all") this.#check(scope, filter);
    if (known !== undefined) return known;
    if (user.kind === "user") this.#removeOldUsers();
    const inScope = (member: Hub["members"][number]): boolean =>
      scope.kind === "all" ||
      (scope.kind === "server"
        ? member.alias === scope.alias
        : member.config.tags?.includes(scope.tag) === true);
    const visible = (member: Hub["members"][number]): boolean =>
      filter === undefined || this.#isVisible(filter, member);
    const onlyServerOf = (): string | undefined =>
      scope.kind === "server" ? scope.alias : scope.kind === "all" ? this.#onlyServer() : undefined;
    const optionsOf = (appTools: boolean): ViewOptions => ({
      name: this.#options.name,
      appTools,
      cutsResults: true,
      user: user.kind === "user" ? user.user : user.kind === "nobody" ? "none" : undefined,
      offerLogin: user.kind === "nobody" || name === "stdio" ? undefined : this.#options.offerLogin?.(name),
      // Evaluated after every change, because servers are added and removed while config files are edited.
      get alone() {
        return onlyServerOf();
      },
      includes:
        scope.kind === "all" && filter === undefined
          ? undefined
          : (member) => inScope(member) && visible(member),
      // Rules match the name that a tool has at /mcp, so that they do not depend on the address in use.
      admits:
        filter === undefined
          ? undefined
          : (tool) => filter.admits({ ...tool, name: this.#hub.fullToolName(tool.alias, tool.own) }),
      admitsUnlisted:
        filter?.limitsTools !== true
          ? undefined
          : (member, own) => inScope(member) && this.#admitsUnlisted(filter, member, own),
      hiddenBy:
        filter === undefined
          ? undefined
          : (hidden, { method, caller: by }) => {
              const rule = this.#hidingRule(filter, hidden, method);
              if (rule === undefined) return undefined;
              // Callers with the same rules share a view.
              const refusal = { server: hidden.member.alias, tool: hidden.own, caller: by?.account ?? name };
              this.#options.refused?.({ ...refusal, rule });
              return rule;
            },
    });
    const owner = user.kind === "user" ? user.user.id : undefined;
    const create = (ownKey: string, appTools: boolean): GatewayView => {
      const view = new GatewayView(ownKey, this.#hub.view(optionsOf(appTools)), {
        user: owner,
        createWithApps: appTools ? undefined : () => create(`${key}\napps`, true),
      });
      this.#views.set(ownKey, view);
      return view;
    };
    return create(key, false);
  }

  /** The views and connections of users that have been away for the longest time. */
  #removeOldUsers(): void {
    const viewsOf = (id: string): [string, GatewayView][] =>
      [...this.#views].filter(([, { user }]) => user === id);
    for (const id of this.#users.takeOld((one) => viewsOf(one).some(([, view]) => view.isListenedTo))) {
      for (const [key, view] of viewsOf(id)) {
        this.#views.delete(key);
        void this.#hub.removeView(view.hubView);
      }
      void this.#hub.releaseUser(id);
    }
  }

  #onlyServer(): string | undefined {
    if (this.#options.bare !== true) return undefined;
    const [first, second] = this.#hub.members.filter(({ config }) => config.enabled);
    return second === undefined ? first?.alias : undefined;
  }

  #check(scope: Exclude<Scope, { kind: "all" }>, filter: ToolFilter | undefined): void {
    const { members } = this.#hub;
    const visible =
      filter === undefined
        ? members
        : // The tools of a server that has never started are unknown, so only the rules about servers apply.
          members.filter((member) =>
            member.inventory.tools.length === 0
              ? filter.admitsServer({ alias: member.alias, tags: member.config.tags ?? [] })
              : this.#isVisible(filter, member),
          );
    const isServer = scope.kind === "server";
    const name = isServer ? scope.alias : scope.tag;
    const names = new Set(visible.flatMap(({ alias, config }) => (isServer ? [alias] : (config.tags ?? []))));
    if (names.has(name)) return;
    if (isServer)
      throw unknownServer(name, names, names.size === 0 ? "This caller sees no servers." : undefined);
    throw new PortolanError(
      "SERVER_UNKNOWN",
      `This caller sees no server with the tag ${JSON.stringify(name)}.`,
      {
        hint:
          didYouMean(name, names) ??
          (names.size === 0
            ? "None of the servers that this caller sees has a tag."
            : `The tags are ${[...names].join(", ")}.`),
      },
    );
  }

  /** The rule that hides a tool, or a prompt or resource with its server; undefined if it is not the rules that hide it. */
  #hidingRule(filter: ToolFilter, { member, own }: Hidden, method: string): string | undefined {
    const { alias, config, inventory } = member;
    if (method === "tools/call") {
      const annotations = inventory.tools.find(({ name }) => name === own)?.annotations;
      const name = this.#hub.fullToolName(alias, own);
      return filter.refusalOf({ name, own, alias, ...member.tagsOf(own), annotations });
    }
    const isContracts = config.endpoint.transport === "contracts";
    if (!isContracts && this.#isVisible(filter, member)) return undefined;
    const ofServer = isContracts ? undefined : filter.refusalOfServer({ alias, tags: config.tags ?? [] });
    return ofServer ?? "none of the tools of the server is allowed";
  }

  /** The annotations of such a tool are unknown, so that it counts as one without annotations. */
  #admitsUnlisted(filter: ToolFilter, member: Hub["members"][number], own: string): boolean {
    const { alias } = member;
    const name = this.#hub.fullToolName(alias, own);
    return filter.admits({ name, own, alias, ...member.tagsOf(own), annotations: undefined });
  }

  /** Prompts and resources have no rules of their own: a caller sees those of a server if it sees one of its tools. */
  #isVisible(filter: ToolFilter, member: Hub["members"][number]): boolean {
    const { alias, config, inventory } = member;
    // Each contract has tags of its own.
    const isPerTool = config.endpoint.transport === "contracts" && inventory.tools.length > 0;
    if (!isPerTool && !filter.admitsServer({ alias, tags: config.tags ?? [] })) return false;
    if (!isPerTool && (!filter.limitsTools || member.needsLogin)) return true;
    return inventory.tools.some(({ name: own, annotations }) =>
      filter.admits({
        name: this.#hub.fullToolName(alias, own),
        own,
        alias,
        ...member.tagsOf(own),
        annotations,
      }),
    );
  }
}

function userKey(user: GatewayUser, name: string): string {
  return user.kind === "user" ? `user ${user.user.key}` : user.kind === "owner" ? `owner ${name}` : "";
}

function scopeKey(scope: Scope): string {
  return scope.kind === "all" ? "*" : scope.kind === "server" ? `server ${scope.alias}` : `tag ${scope.tag}`;
}
