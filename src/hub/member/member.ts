// One server of a hub in one generation: one config of it, with its processes, its inventory and its last error.

import { PortolanError, toPortolanError } from "../../errors/index.ts";
import { type DeclaredServer, DEFAULT_LIMITS, type JsonObject } from "../../model/index.ts";
import {
  type Call,
  type LifecycleEvent,
  neverSentError,
  type Policy,
  type Upstream,
} from "../../upstream/index.ts";
import { tagsOfTool, type ToolTags } from "./tool-tags.ts";
import { withoutSecrets } from "./redact-call.ts";
import type { EventBus, ServerEvent } from "../events.ts";
import { Faults } from "./last-error.ts";
import type { Inventory, ListName } from "./inventory.ts";
import { checkSecrets, type LeaseOptions } from "../processes/open-session.ts";
import { MemberSubscriptions } from "./subscriptions.ts";
import { Processes } from "../processes/processes.ts";
import type { Snapshots } from "./inventory-store.ts";
import { ALL_LISTS, Stock } from "./inventory-cache.ts";

export type ServerState =
  | "disabled"
  | "blocked"
  | "idle"
  | "starting"
  | "ready"
  | "reconnecting"
  | "failed"
  | "stopped";

/** The longest that an old generation goes on with the calls that it has. */
const DRAIN_MS = 5 * 60_000;

export interface MemberOptions extends LeaseOptions {
  readonly snapshots: Snapshots;
  readonly events: EventBus;
  /** The member's inventory, or whether it can be used, is not what it was. */
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
  readonly stock: Stock;
  readonly faults: Faults;
  readonly processes: Processes;
  declared: DeclaredServer;
  since: Date = new Date();
  /** Of its answers; later ones count more. */
  latencyMs: number | undefined;
  readonly #options: MemberOptions;
  #policy: Policy;
  #subscriptions: MemberSubscriptions;
  /** The first lists of the server that runs now are being read. */
  #listing: Promise<void> | undefined;
  #inFlight = 0;
  /** It was opened, which nobody has been told yet. */
  #isUntold = false;
  /** The generation that took over. */
  #successor: Member | undefined;
  /** It is replaced by another generation, which says what happens from now on. */
  #isSilent = false;

  constructor(options: MemberOptions) {
    this.#options = options;
    this.declared = options.declared;
    this.alias = options.declared.alias;
    this.#policy = policyOf(options.declared);
    const limits = { ...DEFAULT_LIMITS, ...options.declared.limits };
    this.faults = new Faults(this.alias, options.redactor);
    this.processes = new Processes({
      ...options,
      limits,
      faults: this.faults,
      policy: () => this.#policy,
      busy: () => this.#inFlight > 0,
      changed: () => {
        this.since = new Date();
      },
      event: (event) => this.#report(event),
      outdated: (list) => this.stock.outdated(list),
      opened: (_lease, isRenewed) => {
        if (!isRenewed) this.#listing = this.#list();
        else if (this.#isUntold) this.#tell("mcp.server_ready");
        this.#isUntold = false;
      },
    });
    const { main } = this.processes;
    this.#subscriptions = new MemberSubscriptions(this.processes);
    this.stock = new Stock({
      ...options,
      limits,
      describe: () => (main.live === undefined ? undefined : main.describe()),
      upstream: () => this.processes.lister,
      session: () => main.live,
    });
  }

  get state(): ServerState {
    if (!this.declared.enabled) return "disabled";
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
    return this.stock.inventory;
  }

  get stopped(): boolean {
    return this.state === "stopped" || this.state === "disabled";
  }

  /** Of one of its tools, by the server's own name for it. */
  tagsOf(tool: string): ToolTags {
    return tagsOfTool(this.declared, tool);
  }

  /** Why it cannot be used now; undefined when it can, or may soon. */
  get unavailable(): PortolanError | undefined {
    return this.declared.enabled ? this.processes.main.unavailable : undefined;
  }

  /** It did not start when it was last tried, whatever is tried now. */
  get isDown(): boolean {
    return this.stopped || this.processes.main.isDown;
  }

  /** Takes up what is known from before; false when there is nothing. */
  async load(): Promise<boolean> {
    return this.state === "disabled" || this.stock.load();
  }

  /** Loads what is known from before; an eager server also starts. Resolves when it is ready or has failed. */
  async begin(): Promise<void> {
    if (this.state === "disabled") return;
    // A lazy server that was never started must be started once, or nobody would ever learn what it has.
    if (!(await this.load()) || this.declared.start !== "lazy") await this.start().catch(() => {});
    // One that waits to be needed still reports now when it could not start.
    else if (this.state === "idle")
      await checkSecrets(this.#options).catch((thrown: unknown) =>
        this.processes.main.checkFailed(this.faults.note(thrown)),
      );
  }

  /** The server, once it runs and its lists are known; starts it when it is not running. */
  async start(): Promise<Upstream> {
    if (this.stopped) throw this.#notRunning();
    await this.processes.main.start();
    await this.#listing;
    return this.processes.main;
  }

  /** Tries a server that failed once more, before its time. */
  async retry(): Promise<void> {
    await this.processes.main.recheck().catch(() => {});
  }

  /** Not async: every call passes here, and most have nothing to wait for but their server. */
  request(call: Call): Promise<JsonObject> {
    const isReady = this.processes.main.live !== undefined && this.#successor === undefined;
    return isReady ? this.#send(call) : this.#requestLater(call);
  }

  /** The subscription follows the server through restarts and to the next generation. */
  subscribe(uri: string): Promise<() => Promise<void>> {
    return this.#subscriptions.add(uri);
  }

  /** Other settings for the same processes: calls and sessions go on. */
  configure(declared: DeclaredServer): void {
    this.declared = declared;
    this.#policy = policyOf(declared);
    this.processes.configure(declared);
  }

  /** Serves in the place of an older generation from now on; that one finishes its calls. Resolves when it is gone. */
  async takeOver(old: Member): Promise<void> {
    this.inheritLists(old);
    this.faults.stderr ||= old.faults.stderr;
    this.processes.takeOver(old.processes);
    if (!this.stopped) {
      this.#subscriptions = old.#subscriptions;
      this.#subscriptions.moveTo(this.processes);
      old.#successor = this;
      old.#isSilent = true;
    }
    await old.drain();
  }

  /** Until its own lists were read, it has those of the generation before it. */
  inheritLists(old: Member): void {
    this.stock.inherit(old.inventory);
  }

  /** Accepts no call any more, and stops with the last one. */
  async drain(): Promise<void> {
    this.stock.stopRefreshing();
    await this.processes.main.drain();
    await this.stop();
  }

  async stop({ isSilent = false }: { isSilent?: boolean } = {}): Promise<void> {
    this.#isSilent ||= isSilent;
    this.stock.stopRefreshing();
    await Promise.all([this.processes.main.close(), this.processes.closeLanes(this.#notRunning())]);
    await this.stock.saved();
  }

  async #requestLater(call: Call): Promise<JsonObject> {
    if (this.#successor !== undefined) return this.#successor.request(call);
    if (this.stopped) throw this.#notRunning();
    try {
      await this.processes.main.ready(call);
    } catch (thrown) {
      return this.#passOn(toPortolanError(thrown, { server: this.alias }), call);
    }
    return this.#send(call);
  }

  #send(call: Call): Promise<JsonObject> {
    const { redactor } = this.#options;
    const sentAt = performance.now();
    this.#inFlight += 1;
    return this.processes.request(withoutSecrets(call, redactor, this.alias)).then(
      (result) => {
        // A stream of notifications lasts as long as somebody listens.
        if (call.method !== "subscriptions/listen") this.#answered(performance.now() - sentAt);
        this.#ended();
        return redactor.redactValue(result);
      },
      (thrown: unknown) => {
        this.#ended();
        return this.#passOn(this.faults.note(thrown), call);
      },
    );
  }

  #answered(ms: number): void {
    this.latencyMs = this.latencyMs === undefined ? ms : this.latencyMs * 0.8 + ms * 0.2;
  }

  #ended(): void {
    this.#inFlight -= 1;
    if (this.#inFlight === 0) this.processes.main.quiet();
  }

  /** A call that this generation did not send any more goes to the next one. */
  #passOn(error: PortolanError, call: Call): Promise<JsonObject> {
    const isUnsent = error.code === "CONNECTION_CLOSED" && error.data.neverRan === true;
    if (isUnsent && this.#successor !== undefined) return this.#successor.request(call);
    return Promise.reject(error);
  }

  /** Resolves when the lists of the server that was just started are known. */
  async #list(): Promise<void> {
    const session = this.processes.main.live;
    try {
      await this.stock.refresh(ALL_LISTS);
    } catch (thrown) {
      const { code, message } = this.faults.note(thrown);
      const what = `${this.alias} runs, but its tools could not be listed: ${message}`;
      if (this.processes.main.live === session)
        this.#options.report({ code, severity: "error", server: this.alias, message: what });
    } finally {
      this.#listing = undefined;
      this.since = new Date();
      if (this.processes.main.live === session) this.#tell("mcp.server_ready");
    }
  }

  #report(event: LifecycleEvent): void {
    const { lastFault } = this.processes.main;
    if (event === "failed" && lastFault !== undefined) this.faults.last = this.faults.note(lastFault.error);
    // A server is ready when its lists were read.
    if (event === "ready") this.#isUntold = true;
    else this.#tell(EVENTS[event]);
  }

  #notRunning(): PortolanError {
    if (this.declared.enabled) return neverSentError(this.alias);
    return new PortolanError("CONNECTION_CLOSED", `${this.alias} is disabled`, { server: this.alias });
  }

  #tell(type: ServerEvent["type"]): void {
    if (this.#isSilent) return;
    const more = type === "mcp.server_failed" ? this.faults.reason() : {};
    this.#options.events.emit({ type, server: this.alias, ...more });
  }
}

function policyOf({ start, idleStopMs, endpoint }: DeclaredServer): Policy {
  const isNeverIdle = idleStopMs === undefined || idleStopMs <= 0 || endpoint.transport === "contracts";
  return {
    keepsTrying: start !== "lazy",
    startRetries: 0,
    idleMs: isNeverIdle ? undefined : idleStopMs,
    drainMs: DRAIN_MS,
  };
}
