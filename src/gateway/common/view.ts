// What one kind of client is offered at one address: a view of the hub, heard once for all who listen.

import { didYouMean, PortolanError } from "../../errors/index.ts";
import type { Hub, HubView } from "../../hub/index.ts";
import type { JsonObject, LogMessage } from "../../model/index.ts";
import type { Principal } from "../access/access-control.ts";
import { forLegacy } from "../legacy/downgrade.ts";
import { frameFor, modernText, type ResultFrame } from "./lists.ts";

/** The part of the hub that an address is about. */
export type Scope =
  | { readonly kind: "all" }
  | { readonly kind: "server"; readonly alias: string }
  | { readonly kind: "tag"; readonly tag: string };

/** Hears what servers say by themselves. */
export interface Hearer {
  listChanged(list: "tools" | "prompts" | "resources"): void;
  resourceUpdated(uri: string): void;
  logged(message: LogMessage): void;
}

export class Offer {
  readonly key: string;
  readonly view: HubView;
  readonly #hearers = new Set<Hearer>();
  readonly #texts = new WeakMap<JsonObject, { modern?: string; legacy?: string }>();
  #frame: ResultFrame | undefined;
  #wantsHeaders: boolean | undefined;

  constructor(key: string, view: HubView) {
    this.key = key;
    this.view = view;
    for (const list of ["tools", "prompts", "resources"] as const) {
      view.on(`${list}Changed`, () => {
        this.#frame = undefined;
        this.#wantsHeaders = undefined;
        for (const hearer of this.#hearers) hearer.listChanged(list);
      });
    }
    view.on("resourceUpdated", (uri) => {
      for (const hearer of this.#hearers) hearer.resourceUpdated(uri);
    });
    view.on("log", (message) => {
      for (const hearer of this.#hearers) hearer.logged(message);
    });
  }

  /** Whether a server may want to know the headers of the client's own request. */
  get wantsHeaders(): boolean {
    this.#wantsHeaders ??= this.view.members.some(({ declared }) => declared.endpoint.transport === "invoke");
    return this.#wantsHeaders;
  }

  /** What a modern result says about who made it. */
  get frame(): ResultFrame {
    this.#frame ??= frameFor(this.view.describe().info);
    return this.#frame;
  }

  join(hearer: Hearer): () => void {
    this.#hearers.add(hearer);
    return () => this.#hearers.delete(hearer);
  }

  /** A list as JSON: written once for as long as it stays the same. */
  listText(method: string, list: JsonObject, era: "modern" | "legacy"): string {
    let texts = this.#texts.get(list);
    if (texts === undefined) this.#texts.set(list, (texts = {}));
    texts[era] ??=
      era === "modern" ? modernText(method, list, this.frame) : JSON.stringify(forLegacy(method, list));
    return texts[era];
  }
}

export class Offers {
  readonly #hub: Hub;
  readonly #name: string;
  readonly #bare: boolean;
  readonly #offers = new Map<string, Offer>();

  /** With `bare`, a server that is the only one is offered as itself, for as long as it is the only one. */
  constructor(hub: Hub, name: string, bare = false) {
    this.#hub = hub;
    this.#name = name;
    this.#bare = bare;
  }

  /** Throws when there is no such server or tag, or when the caller may not know that there is. */
  for({ view }: Principal, scope: Scope): Offer {
    const key = `${scopeKey(scope)}\n${view?.key ?? ""}`;
    const known = this.#offers.get(key);
    if (scope.kind !== "all") this.#check(scope, view);
    if (known !== undefined) return known;
    const inScope = (member: Hub["members"][number]): boolean =>
      scope.kind === "all" ||
      (scope.kind === "server"
        ? member.alias === scope.alias
        : member.declared.tags?.includes(scope.tag) === true);
    const visible = (member: Hub["members"][number]): boolean =>
      view === undefined || this.#isVisible(view, member);
    const aloneIn = (): string | undefined =>
      scope.kind === "server" ? scope.alias : scope.kind === "all" ? this.#onlyServer() : undefined;
    const offer = new Offer(
      key,
      this.#hub.view({
        name: this.#name,
        cutsResults: true,
        // Asked anew with every change: servers come and go while declarations are edited.
        get alone() {
          return aloneIn();
        },
        includes:
          scope.kind === "all" && view === undefined
            ? undefined
            : (member) => inScope(member) && visible(member),
        // By the name that it has among all, at every address: a rule must not depend on the way that is taken.
        admits:
          view === undefined
            ? undefined
            : (tool) => view.admits({ ...tool, name: this.#hub.fullToolName(tool.alias, tool.own) }),
      }),
    );
    this.#offers.set(key, offer);
    return offer;
  }

  #onlyServer(): string | undefined {
    if (!this.#bare) return undefined;
    const [first, second] = this.#hub.members.filter(({ declared }) => declared.enabled);
    return second === undefined ? first?.alias : undefined;
  }

  #check(scope: Exclude<Scope, { kind: "all" }>, view: Principal["view"]): void {
    const { members } = this.#hub;
    const visible =
      view === undefined
        ? members
        : // Of a server that was never seen it is not known yet whether it has anything for this caller.
          members.filter((member) =>
            member.inventory.tools.length === 0
              ? view.admitsServer({ alias: member.alias, tags: member.declared.tags ?? [] })
              : this.#isVisible(view, member),
          );
    const isServer = scope.kind === "server";
    const name = isServer ? scope.alias : scope.tag;
    const names = new Set(
      visible.flatMap(({ alias, declared }) => (isServer ? [alias] : (declared.tags ?? []))),
    );
    if (names.has(name)) return;
    const message = isServer ? `there is no server "${name}" here` : `no server here has the tag "${name}"`;
    throw new PortolanError("SERVER_UNKNOWN", message, { hint: didYouMean(name, names) });
  }

  /** Prompts and resources have no rules of their own: who may use none of a server's tools sees nothing else of it either. */
  #isVisible(view: NonNullable<Principal["view"]>, member: Hub["members"][number]): boolean {
    const { alias, declared, inventory } = member;
    // Contracts have tags of their own, each its own.
    const single = declared.endpoint.transport === "contracts" && inventory.tools.length > 0;
    if (!single && !view.admitsServer({ alias, tags: declared.tags ?? [] })) return false;
    if (!single && !view.limitsTools) return true;
    return inventory.tools.some(({ name: own, annotations }) =>
      view.admits({
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
