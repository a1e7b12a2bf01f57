// Inventory cache of one server: loaded from the last run, refreshed on changes, stored for the next run.

import { toPortolanError, type ErrorCode, type Report } from "../../errors/index.ts";
import type { ServerConfig, Limits } from "../../model/index.ts";
import type { Redactor } from "../../secrets/index.ts";
import type { Caller, Description, Upstream } from "../../upstream/index.ts";
import type { EventBus } from "../events.ts";
import type { InventoryHashes } from "../pins/pinned-definitions.ts";
import {
  diffTools,
  EMPTY,
  fetchInventory,
  isNoChange,
  type HintedList,
  type Inventory,
  type ListName,
} from "./inventory.ts";
import { inventoryKey, type InventoryStore } from "./inventory-store.ts";
import type { HubUser } from "./user-members.ts";

const LIST_TIMEOUT_MS = 30_000;
/** Servers that start together do not wait for each other's files. */
const SAVE_DELAY_MS = 300;
export const ALL_LISTS: ReadonlySet<ListName> = new Set(["tools", "prompts", "resources"]);

export interface InventoryCacheOptions {
  readonly config: ServerConfig;
  readonly caller: Caller;
  readonly limits: Limits;
  readonly inventoryStore: InventoryStore;
  readonly redactor: Redactor;
  readonly events: EventBus;
  readonly report: Report;
  readonly user?: HubUser;
  readonly changed: () => void;
  /** The server's description of itself on its main connection. */
  readonly describe: () => Description | undefined;
  /** The connection to read lists from, while the server can be reached. */
  readonly upstream: () => Upstream | undefined;
  /** The open session. */
  readonly session: () => Upstream | undefined;
  /** Computes the hashes of the definitions, if they are compared with the lock file. */
  readonly hash: (inventory: Inventory) => Promise<InventoryHashes | undefined>;
  /** True when an inventory without hashes cannot be used. */
  readonly needsHashes: () => boolean;
  /** Called before anybody sees the inventory. */
  readonly replaced: () => void;
  /** A list of tools is being fetched. The returned function is called when it is in use. */
  readonly toolsRequested: () => () => void;
}

export class InventoryCache {
  #inventory: Inventory = EMPTY;
  readonly #options: InventoryCacheOptions;
  /** Identifies the server on disk. */
  readonly #key: string;
  readonly #refresher: ListRefresher<ListName>;
  /** When each list was last fetched from the running server. */
  readonly #fetchedAt = new Map<ListName, number>();
  #refreshing: Promise<void> = Promise.resolve();
  #loading: Promise<boolean> | undefined;
  /** The inventory is stored when this timer ends. */
  #saveTimer: NodeJS.Timeout | undefined;
  #saving: Promise<void> = Promise.resolve();
  /** True while the inventory of an earlier generation is in use, which is stored under another key. */
  #inherited = false;

  constructor(options: InventoryCacheOptions) {
    this.#options = options;
    this.#key = inventoryKey(options.config, Object.keys(options.caller.capabilities));
    this.#refresher = new ListRefresher((stale) => this.refresh(stale));
  }

  get inventory(): Inventory {
    return this.#inventory;
  }

  #replace(inventory: Inventory): void {
    this.#inventory = inventory;
    this.#options.replaced();
  }

  /** Loads the inventory of the last run; false when there is none. */
  load(): Promise<boolean> {
    this.#loading ??= this.#load();
    return this.#loading;
  }

  /** Takes the inventory of an earlier generation, unless one is known already. */
  inherit(inventory: Inventory): void {
    if (this.inventory !== EMPTY) return;
    this.#replace(inventory);
    this.#inherited = true;
  }

  /** The server announced a change of this list, so it is refreshed soon. */
  outdated(list: ListName): void {
    this.#refresher.mark(list);
  }

  /** Refreshes a list whose cache time is over. Until then the old list is used. */
  refreshWhenOld(list: ListName, field: HintedList): void {
    const ttlMs = this.inventory.hints?.[field]?.ttlMs;
    const at = this.#fetchedAt.get(list);
    if (ttlMs === undefined || at === undefined || performance.now() < at + ttlMs) return;
    this.#fetchedAt.delete(list);
    this.outdated(list);
  }

  /** Refreshes run one after the other, so that each keeps the lists that the one before it fetched. */
  refresh(lists: ReadonlySet<ListName>): Promise<void> {
    const refreshed = this.#refreshing.then(() => this.#refresh(lists));
    this.#refreshing = refreshed.catch(() => {});
    return refreshed;
  }

  async #refresh(lists: ReadonlySet<ListName>): Promise<void> {
    const { limits, report, redactor, events, changed } = this.#options;
    const { alias } = this.#options.config;
    const upstream = this.#options.upstream();
    if (upstream === undefined) return;
    const session = this.#options.session();
    const before = this.inventory;
    const done = lists.has("tools") ? this.#options.toolsRequested() : undefined;
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
        warn(
          code,
          `${method} of ${alias} failed, so Portolan uses the last known list, if there is one: ${message}`,
        );
      },
    });
    const hashes = await this.#hashesOf(fetched, before);
    this.#replace({ ...redactor.redactValue({ ...fetched, hashes: undefined }), hashes });
    done?.();
    for (const list of lists) this.#fetchedAt.set(list, performance.now());
    const tools = diffTools(before.tools, this.inventory.tools);
    const isSame = JSON.stringify(before) === JSON.stringify(this.inventory);
    if (!isSame || this.#inherited) this.#saveTimer ??= setTimeout(() => this.#save(), SAVE_DELAY_MS).unref();
    this.#inherited = false;
    if (isSame) return;
    if (!isNoChange(tools))
      events.emit({ type: "mcp.tools_changed", server: alias, caller: this.#options.user?.name, ...tools });
    changed();
  }

  /** A list that was not fetched is without its secrets, so that its earlier hashes count. */
  async #hashesOf(fetched: Inventory, before: Inventory): Promise<InventoryHashes | undefined> {
    const hashes = await this.#options.hash(fetched);
    if (hashes === undefined) return undefined;
    const tools = fetched.tools === before.tools ? before.hashes?.tools : hashes.tools;
    const prompts = fetched.prompts === before.prompts ? before.hashes?.prompts : undefined;
    return tools === undefined ? undefined : { ...hashes, tools, prompts: prompts ?? hashes.prompts };
  }

  stopRefreshing(): void {
    this.#refresher.stop();
  }

  /** Resolves when the inventory is on disk. */
  saved(): Promise<void> {
    if (this.#saveTimer !== undefined) this.#save();
    return this.#saving;
  }

  #save(): void {
    clearTimeout(this.#saveTimer);
    this.#saveTimer = undefined;
    this.#saving = this.#saving.then(() => this.#options.inventoryStore.save(this.#key, this.inventory));
  }

  async #load(): Promise<boolean> {
    const known = await this.#options.inventoryStore.load(this.#key);
    if (known === undefined) return this.inventory !== EMPTY;
    if (known.hashes === undefined && this.#options.needsHashes()) return this.inventory !== EMPTY;
    if (this.inventory === EMPTY) {
      this.#replace(known);
      this.#options.changed();
    }
    return true;
  }
}

/** The shortest time between two refreshes. */
const PAUSE_MS = 500;

/** Merges a storm of change notifications into few refreshes, with a pause between them. */
class ListRefresher<T> {
  readonly #refresh: (stale: ReadonlySet<T>) => Promise<void>;
  #stale = new Set<T>();
  #running = false;
  #lastAt = -Infinity;
  #timer: NodeJS.Timeout | undefined;
  #stopped = false;

  constructor(refresh: (stale: ReadonlySet<T>) => Promise<void>) {
    this.#refresh = refresh;
  }

  /** Refreshes these items soon. */
  mark(...items: T[]): void {
    for (const item of items) this.#stale.add(item);
    this.#schedule();
  }

  stop(): void {
    this.#stopped = true;
    clearTimeout(this.#timer);
  }

  #schedule(): void {
    if (this.#stopped || this.#running || this.#timer !== undefined || this.#stale.size === 0) return;
    const wait = Math.max(0, this.#lastAt + PAUSE_MS - performance.now());
    this.#timer = setTimeout(() => void this.#run(), wait).unref();
  }

  async #run(): Promise<void> {
    this.#timer = undefined;
    this.#running = true;
    const stale = this.#stale;
    this.#stale = new Set();
    try {
      await this.#refresh(stale);
    } catch {
      // The last good lists stay; the next notification or start refreshes again.
    }
    this.#lastAt = performance.now();
    this.#running = false;
    this.#schedule();
  }
}
