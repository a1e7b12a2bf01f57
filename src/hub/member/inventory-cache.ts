// What one server has: known from the last run, refreshed when it changes, kept for the next.

import { type ErrorCode, type Report, toPortolanError } from "../../errors/index.ts";
import type { DeclaredServer, Limits } from "../../model/index.ts";
import type { Redactor } from "../../secrets/index.ts";
import type { Caller, Description, Upstream } from "../../upstream/index.ts";
import type { EventBus } from "../events.ts";
import {
  diffTools,
  EMPTY,
  fetchInventory,
  type HintedList,
  type Inventory,
  isNoChange,
  type ListName,
} from "./inventory.ts";
import { Refresher } from "./list-refresher.ts";
import type { Snapshots } from "./inventory-store.ts";

const LIST_TIMEOUT_MS = 30_000;
export const ALL_LISTS: ReadonlySet<ListName> = new Set(["tools", "prompts", "resources"]);

export interface StockOptions {
  readonly declared: DeclaredServer;
  readonly caller: Caller;
  readonly limits: Limits;
  readonly snapshots: Snapshots;
  readonly redactor: Redactor;
  readonly events: EventBus;
  readonly report: Report;
  readonly changed: (lists: ReadonlySet<ListName>) => void;
  /** The server's description of itself on its main connection. */
  readonly describe: () => Description | undefined;
  /** Where lists are read, while the server can be reached. */
  readonly upstream: () => Upstream | undefined;
  /** Its open session. */
  readonly session: () => Upstream | undefined;
}

export class Stock {
  inventory: Inventory = EMPTY;
  readonly #options: StockOptions;
  /** Names the server on disk. */
  readonly #key: string;
  readonly #refresher: Refresher<ListName>;
  /** When each list was last fetched from the running server. */
  readonly #fetchedAt = new Map<ListName, number>();
  #refreshing: Promise<void> = Promise.resolve();
  #loading: Promise<boolean> | undefined;
  #saving: Promise<void> | undefined;

  constructor(options: StockOptions) {
    this.#options = options;
    this.#key = keyOf(options);
    this.#refresher = new Refresher((stale) => this.refresh(stale));
  }

  /** Takes up what is known from before; false when there is nothing. */
  load(): Promise<boolean> {
    this.#loading ??= this.#load();
    return this.#loading;
  }

  /** Takes lists of an earlier generation, unless some are known already. */
  inherit(inventory: Inventory): void {
    if (this.inventory === EMPTY) this.inventory = inventory;
  }

  /** The server said that this list is not what it was; it is asked for again soon. */
  outdated(list: ListName): void {
    this.#refresher.mark(list);
  }

  /** A server that says how long its list holds is asked again after that; until it has answered the last answer stands. */
  refreshWhenOld(list: ListName, field: HintedList): void {
    const ttlMs = this.inventory.hints?.[field]?.ttlMs;
    const at = this.#fetchedAt.get(list);
    if (ttlMs === undefined || at === undefined || performance.now() < at + ttlMs) return;
    this.#fetchedAt.delete(list);
    this.outdated(list);
  }

  /** One after the other: each leaves the other lists as the one before it found them. */
  refresh(lists: ReadonlySet<ListName>): Promise<void> {
    const refreshed = this.#refreshing.then(() => this.#refresh(lists));
    this.#refreshing = refreshed.catch(() => {});
    return refreshed;
  }

  async #refresh(lists: ReadonlySet<ListName>): Promise<void> {
    const { limits, report, redactor, events, changed } = this.#options;
    const { alias } = this.#options.declared;
    const upstream = this.#options.upstream();
    if (upstream === undefined) return;
    const session = this.#options.session();
    const before = this.inventory;
    const warn = (code: ErrorCode, message: string): void =>
      report({ code, severity: "warning", server: alias, message });
    const fetched = await fetchInventory(upstream, lists, before, {
      description: this.#options.describe() ?? upstream.describe(),
      timeoutMs: Math.min(LIST_TIMEOUT_MS, limits.requestTimeoutMs),
      maxPages: limits.maxPages,
      onLoop: (message) => warn("PROTOCOL_ERROR", message),
      onMissing: (method, reason) => {
        if (session !== this.#options.session()) return;
        const { code, message } = toPortolanError(reason);
        warn(code, `${method} of ${alias} failed, and is left as it was: ${message}`);
      },
    });
    this.inventory = redactor.redactValue(fetched);
    for (const list of lists) this.#fetchedAt.set(list, performance.now());
    const tools = diffTools(before.tools, this.inventory.tools);
    if (JSON.stringify(before) === JSON.stringify(this.inventory)) return;
    if (!isNoChange(tools)) events.emit({ type: "mcp.tools_changed", server: alias, ...tools });
    changed(lists);
    // Nobody waits for the disk but whoever stops.
    this.#saving = this.#options.snapshots.save(this.#key, this.inventory);
  }

  stopRefreshing(): void {
    this.#refresher.stop();
  }

  /** Resolves when what is known is on disk. */
  async saved(): Promise<void> {
    await this.#saving;
  }

  async #load(): Promise<boolean> {
    const known = await this.#options.snapshots.load(this.#key);
    if (known === undefined) return this.inventory !== EMPTY;
    if (this.inventory === EMPTY) {
      this.inventory = known;
      this.#options.changed(ALL_LISTS);
    }
    return true;
  }
}

/** The declaration as written: references, not values, so that no secret reaches the disk. */
function keyOf({ declared: { alias, endpoint, era = "auto" }, caller }: StockOptions): string {
  // A server may show more tools to a client that can answer questions.
  return JSON.stringify([alias, endpoint, era, Object.keys(caller.capabilities).toSorted()]);
}
