// Member: one server of a hub in one generation (one config of it), with its processes, inventory and last error.

import { PortolanError, toPortolanError } from "../../errors/index.ts";
import { type ServerConfig, DEFAULT_LIMITS, type JsonObject } from "../../model/index.ts";
import {
  type Call,
  type LifecycleEvent,
  neverSentError,
  type Policy,
  type Upstream,
  within,
} from "../../upstream/index.ts";
import { tagsOfTool, type ToolTags } from "./tool-tags.ts";
import { CallRedactor } from "./redact-call.ts";
import type { EventBus, ServerEvent } from "../events.ts";
import { LastError } from "./last-error.ts";
import type { Inventory, ListName } from "./inventory.ts";
import { checkSecrets, type ServerContext } from "../processes/open-server-session.ts";
import { MemberSubscriptions } from "./subscriptions.ts";
import { Processes } from "../processes/processes.ts";
import type { InventoryStore } from "./inventory-store.ts";
import { ALL_LISTS, InventoryCache } from "./inventory-cache.ts";
import { MemberPins } from "./member-pins.ts";
import type { PinBook } from "../pins/pin-book.ts";

/** The states in the lifecycle of a server. */
export type ServerState =
  | "disabled"
  | "blocked"
  | "idle"
  | "starting"
  | "ready"
  | "reconnecting"
  | "failed"
  | "stopped";

const TOOLS: ReadonlySet<ListName> = new Set(["tools"]);
/** The longest that an old generation may take to finish its calls. */
const DRAIN_MS = 5 * 60_000;

export interface MemberOptions extends ServerContext {
  readonly inventoryStore: InventoryStore;
  readonly pinBook: PinBook;
  readonly events: EventBus;
  /** The inventory changed, or whether the member can be used. */
  readonly changed: (lists: ReadonlySet<ListName>) => void;
  readonly resourceUpdated: (alias: string, uri: string) => void;
  readonly log: (alias: string, message: JsonObject) => void;
}

const EVENTS: Readonly<Record<LifecycleEvent, ServerEvent["type"]>> = {
  started: "mcp.server_started",
  ready: "mcp.server_ready",
  restarted: "mcp.server_restarted",
  failed: "mcp.server_failed",
  stopped: "mcp.server_stopped",
};

export class Member {
  readonly alias: string;
  readonly inventoryCache: InventoryCache;
  readonly lastError: LastError;
  readonly pins: MemberPins;
  readonly processes: Processes;
  config: ServerConfig;
  since: Date = new Date();
  /** Moving average of response times. */
  latencyMs: number | undefined;
  readonly #options: MemberOptions;
  readonly #callRedactor: CallRedactor;
  #policy: Policy;
  #subscriptions: MemberSubscriptions;
  /** The first lists of the running server are being fetched. */
  #listing: Promise<void> | undefined;
  #inFlight = 0;
  /** The session is open, but the ready event was not emitted yet. */
  #isReadyUnannounced = false;
  /** True when the hashes of its tools are wanted, although nothing is compared. */
  #isHashed = false;
  /** The generation that took over. */
  #successor: Member | undefined;
  /** True when another generation emits the events from now on. */
  #isSilent = false;

  constructor(options: MemberOptions) {
    this.#options = options;
    this.config = options.config;
    this.alias = options.config.alias;
    this.#policy = policyOf(options.config);
    const limits = { ...DEFAULT_LIMITS, ...options.config.limits };
    this.#callRedactor = new CallRedactor(options.redactor, this.alias);
    this.lastError = new LastError(this.alias, options.redactor);
    this.processes = new Processes({
      ...options,
      limits,
      lastError: this.lastError,
      callRedactor: this.#callRedactor,
      policy: () => this.#policy,
      busy: () => this.#inFlight > 0,
      changed: () => {
        this.since = new Date();
      },
      event: (event) => this.#report(event),
      outdated: (list) => {
        if (list === "tools") this.pins.outdated();
        this.inventoryCache.outdated(list);
      },
      opened: (_handle, isRenewed) => {
        this.pins.outdated();
        if (!isRenewed) this.#listing = this.#list();
        else if (this.#isReadyUnannounced) this.#emit("mcp.server_ready");
        this.#isReadyUnannounced = false;
      },
    });
    const { main } = this.processes;
    this.#subscriptions = new MemberSubscriptions(this.processes);
    const { pinBook } = options;
    this.pins = new MemberPins({
      book: pinBook,
      events: options.events,
      config: () => this.config,
      inventory: () => this.inventoryCache.inventory,
      list: () => this.#listing ?? this.inventoryCache.refresh(TOOLS),
      needsList: () => this.#listAgain(),
      isSilent: () => this.#isSilent,
    });
    this.inventoryCache = new InventoryCache({
      ...options,
      limits,
      describe: () => (main.live === undefined ? undefined : main.describe()),
      upstream: () => this.processes.lister,
      session: () => main.live,
      needsHashes: () => this.#needsHashes(),
      hash: async (inventory) => (this.#needsHashes() ? pinBook.hashesOf(inventory) : undefined),
      replaced: () => this.pins.compare(),
      toolsRequested: () => this.pins.listing(),
    });
    this.pins.compare();
  }

  get state(): ServerState {
    if (!this.config.enabled) return "disabled";
    const { state } = this.processes.main;
    switch (state.kind) {
      case "starting":
        return state.why === "restart" ? "reconnecting" : "starting";
      case "ready":
      case "draining":
        return this.#listing === undefined ? "ready" : "starting";
      default:
        return state.kind;
    }
  }

  get inventory(): Inventory {
    return this.inventoryCache.inventory;
  }

  get stopped(): boolean {
    return this.state === "stopped" || this.state === "disabled";
  }

  /** The tags of a tool, by the server's own name for it. */
  tagsOf(tool: string): ToolTags {
    return tagsOfTool(this.config, tool);
  }

  /** Why it cannot be used now; undefined when it can be used, or is starting. */
  get unavailable(): PortolanError | undefined {
    return this.config.enabled ? this.processes.main.unavailable : this.#disabled();
  }

  /** True when its last start failed, also during the next attempt. */
  get isDown(): boolean {
    return this.stopped || this.processes.main.isDown;
  }

  /** Loads the inventory of the last run; false when there is none. */
  async load(): Promise<boolean> {
    return this.state === "disabled" || this.inventoryCache.load();
  }

  /** Loads the known inventory, and starts an eager server. Resolves when it is ready or has failed. */
  async begin(): Promise<void> {
    if (this.state === "disabled") return;
    // A lazy server without a known inventory is started once, to learn its tools.
    if (!(await this.load()) || this.config.start !== "lazy") await this.start().catch(() => {});
    // A lazy server reports now if a secret is missing.
    else if (this.state === "idle")
      await checkSecrets(this.#options).catch((thrown: unknown) =>
        this.processes.main.checkFailed(this.lastError.note(thrown)),
      );
  }

  /** Starts the server if necessary. Resolves when its lists are known. */
  async start(): Promise<Upstream> {
    if (this.stopped) throw this.#notRunning();
    await this.processes.main.start();
    await this.#listing;
    return this.processes.main;
  }

  /** Like `start`, within the time limit of a call. */
  async listed({ timeoutMs, signal }: Pick<Call, "timeoutMs" | "signal">): Promise<void> {
    const ms = this.#timeoutOf({ timeoutMs });
    await within(this.start(), { server: this.alias, what: "starting", ms, signal });
  }

  /** Tries to start a server that failed, before its retry time. */
  async retry(): Promise<void> {
    await this.processes.main.recheck().catch(() => {});
  }

  /** Not async, because every call passes here and usually waits for its server only. */
  request(call: Call): Promise<JsonObject> {
    const isReady =
      this.processes.main.live !== undefined && this.#successor === undefined && !this.pins.isUnchecked;
    return isReady ? this.#send(call) : this.#requestLater(call);
  }

  /** The subscription lasts through restarts and generations. */
  subscribe(uri: string): Promise<() => Promise<void>> {
    return this.#subscriptions.add(uri);
  }

  /** Applies other settings to the same processes: calls and sessions continue. */
  configure(config: ServerConfig): void {
    this.config = config;
    this.#policy = policyOf(config);
    this.processes.configure(config);
    this.pins.compare();
  }

  /** Takes over from an older generation, which finishes its calls. Resolves when that one has stopped. */
  async takeOver(old: Member): Promise<void> {
    this.inheritLists(old);
    this.lastError.stderr ||= old.lastError.stderr;
    this.processes.takeOver(old.processes);
    if (!this.stopped) {
      this.#subscriptions = old.#subscriptions;
      this.#subscriptions.moveTo(this.processes);
      old.#successor = this;
      old.#isSilent = true;
    }
    await old.drain();
  }

  /** Uses the lists of the earlier generation until its own are fetched. */
  inheritLists(old: Member): void {
    this.inventoryCache.inherit(old.inventory);
  }

  /** Rejects further calls, and stops after the last call in flight. */
  async drain(): Promise<void> {
    this.inventoryCache.stopRefreshing();
    await this.processes.main.drain();
    await this.stop();
  }

  async stop({ isSilent = false }: { isSilent?: boolean } = {}): Promise<void> {
    this.#isSilent ||= isSilent;
    this.inventoryCache.stopRefreshing();
    await Promise.all([this.processes.main.close(), this.processes.closeDedicated(this.#notRunning())]);
    await this.inventoryCache.saved();
  }

  async #requestLater(call: Call): Promise<JsonObject> {
    if (this.#successor !== undefined) return this.#successor.request(call);
    if (this.stopped) throw this.#notRunning();
    try {
      await this.processes.main.ready(call);
    } catch (thrown) {
      return this.#passOn(toPortolanError(thrown, { server: this.alias }), call);
    }
    if (this.pins.isUnchecked && call.method === "tools/call")
      await this.pins.check(call, this.#timeoutOf(call));
    return this.#send(call);
  }

  #timeoutOf({ timeoutMs }: Pick<Call, "timeoutMs">): number {
    return timeoutMs ?? this.config.limits?.requestTimeoutMs ?? DEFAULT_LIMITS.requestTimeoutMs;
  }

  #needsHashes(): boolean {
    return this.#isHashed || this.#options.pinBook.needsHashes(this.alias, this.config.pins);
  }

  /** Reads the lists with the hashes of their definitions. A server that does not run has none. */
  async hashTools(): Promise<void> {
    this.#isHashed = true;
    await this.inventoryCache.refresh(ALL_LISTS).catch(() => {});
  }

  /** The list of the last run, or of an earlier generation, cannot be compared with the lock file. */
  #listAgain(): void {
    const listed = this.processes.main.live === undefined ? this.start() : this.inventoryCache.refresh(TOOLS);
    // The failure of a start, and of a list, is reported there.
    listed.catch(() => {});
  }

  #send(call: Call): Promise<JsonObject> {
    const { redactor } = this.#options;
    const sentAt = performance.now();
    this.#inFlight += 1;
    return this.processes.request(this.#callRedactor.call(call)).then(
      (result) => {
        // A notification stream lasts as long as its client listens, so it is not measured.
        if (call.method !== "subscriptions/listen") this.#answered(performance.now() - sentAt);
        this.#ended();
        return redactor.redactValue(result);
      },
      (thrown: unknown) => {
        this.#ended();
        return this.#passOn(this.lastError.note(thrown), call);
      },
    );
  }

  #answered(ms: number): void {
    this.latencyMs = this.latencyMs === undefined ? ms : this.latencyMs * 0.8 + ms * 0.2;
  }

  #ended(): void {
    this.#inFlight -= 1;
    if (this.#inFlight === 0) this.processes.main.otherCallEnded();
  }

  /** A call that this generation did not send goes to the next one. */
  #passOn(error: PortolanError, call: Call): Promise<JsonObject> {
    const isUnsent = error.code === "CONNECTION_CLOSED" && error.data.neverRan === true;
    if (isUnsent && this.#successor !== undefined) return this.#successor.request(call);
    return Promise.reject(error);
  }

  /** Fetches the lists of the server that was just started. */
  async #list(): Promise<void> {
    const session = this.processes.main.live;
    try {
      await this.inventoryCache.refresh(ALL_LISTS);
      await this.pins.explained();
    } catch (thrown) {
      const { code, message } = this.lastError.note(thrown);
      const what = `${this.alias} runs, but its tools could not be listed: ${message}`;
      if (this.processes.main.live === session)
        this.#options.report({ code, severity: "error", server: this.alias, message: what });
    } finally {
      this.#listing = undefined;
      this.since = new Date();
      if (this.processes.main.live === session) this.#emit("mcp.server_ready");
    }
  }

  #report(event: LifecycleEvent): void {
    const { lastFault } = this.processes.main;
    if (event === "failed" && lastFault !== undefined)
      this.lastError.error = this.lastError.note(lastFault.error);
    // A server is ready when its lists are fetched, so that event is emitted later.
    if (event === "ready") this.#isReadyUnannounced = true;
    else this.#emit(EVENTS[event]);
  }

  #notRunning(): PortolanError {
    return this.config.enabled ? neverSentError(this.alias) : this.#disabled();
  }

  #disabled(): PortolanError {
    const { alias, origin } = this.config;
    const hint = `Its config is in ${origin.file}:${origin.line}; enable it there.`;
    return new PortolanError("SERVER_DISABLED", `${alias} is disabled`, { server: alias, hint });
  }

  #emit(type: ServerEvent["type"]): void {
    if (this.#isSilent) return;
    const more = type === "mcp.server_failed" ? this.lastError.reason() : {};
    this.#options.events.emit({ type, server: this.alias, ...more });
  }
}

function policyOf({ start, idleStopMs, endpoint }: ServerConfig): Policy {
  const isNeverIdle = idleStopMs === undefined || idleStopMs <= 0 || endpoint.transport === "contracts";
  return {
    restarts: true,
    keepsTrying: start !== "lazy",
    startRetries: 0,
    idleMs: isNeverIdle ? undefined : idleStopMs,
    drainMs: DRAIN_MS,
  };
}
