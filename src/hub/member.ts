// One server of a hub: started when it should be, tried again when it fails, stopped when nobody needs it; its last good lists stay.

import { PortolanError } from "../errors/index.ts";
import { type DeclaredServer, DEFAULT_LIMITS, type JsonObject, type Limits } from "../model/index.ts";
import { type Call, type Upstream, within } from "../upstream/index.ts";
import { tagsOfTool, type ToolTags } from "./contract-tags.ts";
import { withoutSecrets } from "./discreet.ts";
import type { EventBus, ServerEvent } from "./events.ts";
import { Faults, isBlocking } from "./faults.ts";
import type { Inventory, ListName } from "./inventory.ts";
import { checkSecrets, type LeaseOptions } from "./lease-server.ts";
import type { Lease } from "./pool.ts";
import { Processes } from "./processes.ts";
import { Retries } from "./retries.ts";
import type { Snapshots } from "./snapshots.ts";
import { ALL_LISTS, Stock } from "./stock.ts";
import { Usage } from "./usage.ts";

export type ServerState =
  | "disabled"
  | "blocked"
  | "idle"
  | "starting"
  | "ready"
  | "reconnecting"
  | "failed"
  | "stopped";

const DRAIN_LOOK_MS = 50;

export interface MemberOptions extends LeaseOptions {
  readonly snapshots: Snapshots;
  readonly events: EventBus;
  /** The member's inventory, or whether it can be used, is not what it was. */
  readonly changed: (lists: ReadonlySet<ListName>) => void;
  readonly resourceUpdated: (alias: string, uri: string) => void;
  readonly log: (alias: string, message: JsonObject) => void;
}

export class Member {
  readonly alias: string;
  readonly declared: DeclaredServer;
  readonly stock: Stock;
  readonly faults: Faults;
  readonly processes: Processes;
  readonly usage: Usage;
  state: ServerState;
  since: Date = new Date();
  readonly #options: MemberOptions;
  readonly #limits: Limits;
  readonly #retries = new Retries();
  #starting: Promise<Upstream> | undefined;
  #listeners: (() => void)[] = [];
  #leaving = new AbortController();

  constructor(options: MemberOptions) {
    this.#options = options;
    this.declared = options.declared;
    this.alias = options.declared.alias;
    this.state = options.declared.enabled ? "idle" : "disabled";
    const limits = { ...DEFAULT_LIMITS, ...options.declared.limits };
    this.#limits = limits;
    this.faults = new Faults(this.alias, options.redactor);
    this.processes = new Processes({
      ...{ ...options, limits, faults: this.faults },
      outdated: (list) => this.stock.outdated(list),
    });
    this.usage = new Usage(options.declared.idleStopMs, () => void this.stop("idle"));
    this.stock = new Stock({
      ...options,
      limits,
      describe: () => this.processes.main?.upstream.describe(),
      upstream: () => this.processes.lister,
    });
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
    const isDown = this.state === "failed" || this.state === "blocked";
    return isDown ? this.faults.unavailable() : undefined;
  }

  /** It did not come up when it was last tried, whatever is tried now. */
  get isDown(): boolean {
    return (
      this.stopped ||
      this.unavailable !== undefined ||
      (this.state === "starting" && this.#retries.failures > 0)
    );
  }

  /** Takes up what is known from before; false when there is nothing. */
  async load(): Promise<boolean> {
    return this.state === "disabled" || this.stock.load();
  }

  /** Loads what is known from before; an eager server also starts. Resolves when it is ready or has failed. */
  async begin(): Promise<void> {
    if (this.state === "disabled") return;
    // A lazy server that was never seen must be looked at once, or nobody would ever learn what it has.
    if (!(await this.load()) || this.declared.start !== "lazy") await this.start().catch(() => {});
    // One that waits to be needed still says now when it could not start.
    else if (this.state === "idle")
      await checkSecrets(this.#options).catch((thrown: unknown) => this.#failed(this.faults.note(thrown)));
  }

  /** The live server; starts it when it is not running. */
  start(): Promise<Upstream> {
    const { main } = this.processes;
    if (main !== undefined) return Promise.resolve(main.upstream);
    if (this.stopped) return Promise.reject(this.#notRunning());
    this.#starting ??= this.#start().finally(() => {
      this.#starting = undefined;
    });
    return this.#starting;
  }

  async request(call: Call): Promise<JsonObject> {
    const upstream = this.processes.main?.upstream ?? (await this.#startFor(call));
    const started = performance.now();
    this.usage.begin();
    try {
      const discreet = withoutSecrets(call, this.#options.redactor, this.alias);
      const result = await this.processes.request(upstream, discreet);
      // A stream of notifications lasts as long as somebody listens.
      if (call.method !== "subscriptions/listen") this.usage.answered(performance.now() - started);
      return this.#options.redactor.redactValue(result);
    } catch (thrown) {
      throw this.faults.note(thrown);
    } finally {
      this.usage.end();
      this.#rest();
    }
  }

  async subscribe(uri: string): Promise<() => Promise<void>> {
    return this.processes.subscribe(await this.start(), uri);
  }

  /** Takes the place of this member for the same server: what is known stays known, and the process goes on. */
  inherit(old: Member): void {
    this.stock.inventory = old.inventory;
    this.faults.stderr = old.faults.stderr;
    this.processes.inherit(old.processes, !this.stopped);
  }

  /** Resolves when no call is under way any more, when it was stopped, or when that has taken too long. */
  async drained(limitMs: number): Promise<void> {
    const begun = performance.now();
    // Whoever was sent here just now comes first.
    await pause(0);
    while (!this.stopped && performance.now() - begun < limitMs) {
      if (!this.usage.busy && this.processes.main?.busy?.() !== true) return;
      await pause(DRAIN_LOOK_MS);
    }
  }

  async stop(
    state: "stopped" | "idle" = "stopped",
    { quiet = false }: { quiet?: boolean } = {},
  ): Promise<void> {
    if (this.stopped) return;
    const wasDown = this.isDown;
    this.#retries.stop();
    this.usage.stop();
    if (state === "stopped") this.stock.stopRefreshing();
    this.#setState(state);
    this.#leaving.abort();
    this.#leaving = new AbortController();
    const lease = this.#letGo();
    const starting = this.#starting;
    // First: a start that waits for the lists of a server that hangs ends with its connection.
    await Promise.all([lease?.release(), this.processes.closeLanes(this.#notRunning())]);
    // Not one that began since: an idle server may have been needed again while it was stopped.
    if (starting !== undefined) {
      await starting.catch(() => {});
      await this.#letGo()?.release();
    }
    await this.stock.saved();
    // One that was tried in vain is not tried any more.
    if ((lease !== undefined || wasDown) && !quiet) this.#tell("mcp.server_stopped");
  }

  /** Starts for a call, unless the last attempt failed just now: then the call hears at once why. */
  async #startFor(call: Call): Promise<Upstream> {
    if (this.stopped) throw this.#notRunning();
    const unavailable = this.#retries.tooSoon ? this.unavailable : undefined;
    if (unavailable !== undefined) throw unavailable;
    const ms = call.timeoutMs ?? this.#limits.requestTimeoutMs;
    return within(this.start(), { server: this.alias, what: "starting", ms, signal: call.signal });
  }

  async #start(): Promise<Upstream> {
    this.#retries.stop();
    this.#setState("starting");
    this.#tell("mcp.server_started");
    try {
      const lease = await this.processes.open(this.#leaving.signal);
      if (this.stopped) {
        await lease.release();
        throw this.#notRunning();
      }
      this.processes.take(lease);
      this.#listen(lease.upstream);
      await this.stock.refresh(ALL_LISTS).catch((thrown: unknown) => {
        const { code, message } = this.faults.note(thrown);
        const what = `${this.alias} runs, but its tools could not be listed: ${message}`;
        if (this.processes.main === lease)
          this.#options.report({ code, severity: "error", server: this.alias, message: what });
      });
      if (this.processes.main !== lease) throw this.stopped ? this.#notRunning() : this.faults.unavailable();
      this.#retries.succeeded();
      // Lost again while its lists were read: it is ready when it is back.
      if (this.state !== "reconnecting") this.#setState("ready");
      this.#tell("mcp.server_ready");
      this.#rest();
      return lease.upstream;
    } catch (thrown) {
      const error = this.faults.note(thrown);
      if (!this.stopped && this.state !== "failed") this.#failed(error);
      throw error;
    }
  }

  #listen(upstream: Upstream): void {
    this.#listeners = [
      upstream.on("toolsChanged", () => this.stock.outdated("tools")),
      upstream.on("promptsChanged", () => this.stock.outdated("prompts")),
      upstream.on("resourcesChanged", () => this.stock.outdated("resources")),
      upstream.on("resourceUpdated", (uri) =>
        this.#options.resourceUpdated(this.alias, this.#options.redactor.redactText(uri)),
      ),
      upstream.on("stateChanged", (state, reason) => {
        if (reason !== undefined) this.faults.note(reason);
        if (state === "reconnecting") this.#lost();
        else if (state === "ready") this.#back();
        else if (state === "failed") void this.#gaveUp();
      }),
    ];
  }

  #lost(): void {
    this.#setState("reconnecting");
    this.#tell("mcp.server_failed", this.faults.reason());
  }

  #back(): void {
    this.processes.describe();
    this.#setState("ready");
    this.#tell("mcp.server_restarted");
  }

  /** The connection itself will not come back soon; from here on it is the hub that tries. */
  async #gaveUp(): Promise<void> {
    const lease = this.#letGo();
    this.#failed(
      this.faults.last ??
        new PortolanError("SERVER_CRASHED", `${this.alias} keeps crashing`, { server: this.alias }),
    );
    await lease?.release();
  }

  #failed(error: PortolanError): void {
    const blocked = isBlocking(error);
    this.faults.last = error;
    this.#retries.failed(blocked, this.declared.start === "lazy" ? undefined : this.#tryAgain);
    this.#setState(blocked ? "blocked" : "failed");
    this.#tell("mcp.server_failed", this.faults.reason());
  }

  readonly #tryAgain = (): void => {
    this.start().catch(() => {});
  };

  #letGo(): Lease | undefined {
    for (const off of this.#listeners.splice(0)) off();
    return this.processes.letGo();
  }

  #rest(): void {
    if (this.processes.main === undefined) this.usage.stop();
    else this.usage.rest();
  }

  #notRunning(): PortolanError {
    const what = this.state === "disabled" ? "is disabled" : "was stopped";
    return new PortolanError("CONNECTION_CLOSED", `${this.alias} ${what}`, { server: this.alias });
  }

  #tell(type: ServerEvent["type"], more?: ReturnType<Faults["reason"]>): void {
    this.#options.events.emit({ type, server: this.alias, ...more });
  }

  #setState(state: ServerState): void {
    if (this.state === state || (this.stopped && state !== "stopped")) return;
    this.state = state;
    this.since = new Date();
  }
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms).unref();
  });
}
