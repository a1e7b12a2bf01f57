// Gateway views: what one kind of caller sees at one address, as a view of the hub that all its clients share.

import { didYouMean, PortolanError } from "../../errors/index.ts";
import type { Hub, HubView } from "../../hub/index.ts";
import type { JsonObject, LogMessage } from "../../model/index.ts";
import type { AuthenticatedCaller, ToolFilter } from "../access/types.ts";
import { frameFor, type ResultFrame } from "./lists.ts";

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
  readonly #listeners = new Set<ViewListener>();
  readonly #texts = new WeakMap<JsonObject, { modern?: string; legacy?: string }>();
  #frame: ResultFrame | undefined;
  #usesHeaders: boolean | undefined;

  constructor(key: string, hubView: HubView) {
    this.key = key;
    this.hubView = hubView;
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

export class GatewayViews {
  readonly #hub: Hub;
  readonly #name: string;
  readonly #bare: boolean;
  readonly #views = new Map<string, GatewayView>();

  /** With `bare`, a single enabled server keeps its own tool names and identity, until a second one is added. */
  constructor(hub: Hub, name: string, bare = false) {
    this.#hub = hub;
    this.#name = name;
    this.#bare = bare;
  }

  /** Throws when the server or tag does not exist, or when the caller must not see it. */
  for({ toolFilter: filter }: AuthenticatedCaller, scope: Scope): GatewayView {
    const key = `${scopeKey(scope)}\n${filter?.key ?? ""}`;
    const known = this.#views.get(key);
    if (scope.kind !== "all") this.#check(scope, filter);
    if (known !== undefined) return known;
    const inScope = (member: Hub["members"][number]): boolean =>
      scope.kind === "all" ||
      (scope.kind === "server"
        ? member.alias === scope.alias
        : member.config.tags?.includes(scope.tag) === true);
    const visible = (member: Hub["members"][number]): boolean =>
      filter === undefined || this.#isVisible(filter, member);
    const onlyServerOf = (): string | undefined =>
      scope.kind === "server" ? scope.alias : scope.kind === "all" ? this.#onlyServer() : undefined;
    const view = new GatewayView(
      key,
      this.#hub.view({
        name: this.#name,
        cutsResults: true,
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
      }),
    );
    this.#views.set(key, view);
    return view;
  }

  #onlyServer(): string | undefined {
    if (!this.#bare) return undefined;
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
    const message = isServer ? `there is no server "${name}"` : `no server has the tag "${name}"`;
    throw new PortolanError("SERVER_UNKNOWN", message, { hint: didYouMean(name, names) });
  }

  /** Prompts and resources have no rules of their own: a caller sees those of a server if it sees one of its tools. */
  #isVisible(filter: ToolFilter, member: Hub["members"][number]): boolean {
    const { alias, config, inventory } = member;
    // Each contract has tags of its own.
    const isPerTool = config.endpoint.transport === "contracts" && inventory.tools.length > 0;
    if (!isPerTool && !filter.admitsServer({ alias, tags: config.tags ?? [] })) return false;
    if (!isPerTool && !filter.limitsTools) return true;
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

function scopeKey(scope: Scope): string {
  return scope.kind === "all" ? "*" : scope.kind === "server" ? `server ${scope.alias}` : `tag ${scope.tag}`;
}
