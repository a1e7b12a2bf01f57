// One server of a hub: started when it should be, tried again when it fails, stopped when nobody needs it; its last good lists stay.

import { PortolanError, toPortolanError } from "../errors/index.ts";
import type { LaunchPlan } from "../launch/index.ts";
import {
  type DeclaredServer,
  DEFAULT_LIMITS,
  type JsonObject,
  type Limits,
  type LogLevel,
  type LogMessage,
} from "../model/index.ts";
import { withRedactedError } from "../secrets/index.ts";
import { type Call, type Description, type Upstream, within } from "../upstream/index.ts";
import { tagsOfTool, type ToolTags } from "./contract-tags.ts";
import { discreetLog, withoutSecrets } from "./discreet.ts";
import { type EventBus, toLaunchEvent } from "./events.ts";
import type { Inventory, ListName } from "./inventory.ts";
import { Lanes, type LanesOptions } from "./lanes.ts";
import { checkSecrets, type LeaseOptions, leaseServer } from "./lease-server.ts";
import type { Heard, Lease } from "./pool.ts";
import type { Snapshots } from "./snapshots.ts";
import { ALL_LISTS, Stock } from "./stock.ts";

export type ServerState =
  | "disabled"
  | "blocked"
  | "idle"
  | "starting"
  | "ready"
  | "reconnecting"
  | "failed"
  | "stopped";

const FIRST_RETRY_MS = 500;
const MAX_RETRY_MS = 30_000;
const STDERR_CHARS = 4_096;
const DRAIN_LOOK_MS = 50;

export interface MemberOptions extends LeaseOptions {
  readonly snapshots: Snapshots;
  readonly events: EventBus;
  /** The member's inventory, or whether it can be used, is not what it was. */
  readonly changed: (lists: ReadonlySet<ListName>) => void;
  readonly resourceUpdated: (alias: string, uri: string) => void;
  readonly log: (alias: string, message: JsonObject) => void;
}

/** Errors that say nothing about the server's health. */
const ABOUT_THE_CALL: ReadonlySet<string> = new Set([
  "CANCELLED",
  "CONNECTION_CLOSED",
  "FORBIDDEN",
  "INPUT_INVALID",
  "PROMPT_NOT_FOUND",
  "RESOURCE_NOT_FOUND",
  "RPC_ERROR",
  "SANDBOX_DENIED",
  "TOOL_NOT_FOUND",
]);

/** What does not go away by trying again. */
const BLOCKING: ReadonlySet<string> = new Set([
  "PLATFORM_UNSUPPORTED",
  "SANDBOX_UNAVAILABLE",
  "SECRET_MISSING",
  "SECRET_STORE_FAILED",
  "VERSION_MISMATCH",
]);

/** Where the reason is likely to be what the server wrote last. */
const OF_A_PROCESS: ReadonlySet<string> = new Set(["SERVER_CRASHED", "SERVER_START_FAILED"]);

export class Member {
  readonly alias: string;
  readonly declared: DeclaredServer;
  readonly stock: Stock;
  state: ServerState;
  since: Date = new Date();
  lastError: PortolanError | undefined;
  latencyMs: number | undefined;
  stderr = "";
  description: Description | undefined;
  /** How its program was started last. */
  plan: LaunchPlan | undefined;
  readonly #options: MemberOptions;
  readonly #limits: Limits;
  #lease: Lease | undefined;
  #lanes: Lanes;
  /** The server does not say which call a question belongs to. */
  #needsLanes = false;
  #starting: Promise<Upstream> | undefined;
  #listeners: (() => void)[] = [];
  #failures = 0;
  #retry: NodeJS.Timeout | undefined;
  #retryAt = 0;
  #idle: NodeJS.Timeout | undefined;
  #busy = 0;
  #pastRestarts = 0;
  #logLevel: LogLevel | undefined;
  #leaving = new AbortController();

  constructor(options: MemberOptions) {
    this.#options = options;
    this.declared = options.declared;
    this.alias = options.declared.alias;
    this.state = options.declared.enabled ? "idle" : "disabled";
    this.#limits = { ...DEFAULT_LIMITS, ...options.declared.limits };
    this.stock = new Stock({
      ...options,
      alias: this.alias,
      // The declaration as written: references, not values, so that no secret reaches the disk.
      key: JSON.stringify([
        this.alias,
        options.declared.endpoint,
        options.declared.era ?? "auto",
        // A server may show more tools to a client that can answer questions.
        Object.keys(options.caller.capabilities).toSorted(),
      ]),
      limits: this.#limits,
      upstream: () => this.#lease?.upstream,
    });
    this.#lanes = new Lanes(this.#laneOptions());
  }

  get inventory(): Inventory {
    return this.stock.inventory;
  }

  get restarts(): number {
    return this.#pastRestarts + (this.#lease?.upstream.stats().restarts ?? 0);
  }

  /** Processes beside the main one. */
  get lanes(): number {
    return this.#lanes.spares;
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
    return isDown ? this.#unavailable() : undefined;
  }

  /** It did not come up when it was last tried, whatever is tried now. */
  get isDown(): boolean {
    return (
      this.stopped || this.unavailable !== undefined || (this.state === "starting" && this.#failures > 0)
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
      await checkSecrets(this.#options).catch((thrown: unknown) => this.#failed(this.#noted(thrown)));
  }

  /** The live server; starts it when it is not running. */
  start(): Promise<Upstream> {
    if (this.#lease !== undefined) return Promise.resolve(this.#lease.upstream);
    if (this.stopped) return Promise.reject(this.#notRunning());
    this.#starting ??= this.#start().finally(() => {
      this.#starting = undefined;
    });
    return this.#starting;
  }

  async request(call: Call): Promise<JsonObject> {
    const upstream = this.#lease?.upstream ?? (await this.#startFor(call));
    const started = performance.now();
    this.#busy += 1;
    clearTimeout(this.#idle);
    try {
      const discreet = withoutSecrets(call, this.#options.redactor, this.alias);
      const result = await (this.#needsLanes
        ? this.#lanes.request(upstream, discreet)
        : upstream.request(discreet));
      const took = performance.now() - started;
      this.latencyMs = this.latencyMs === undefined ? took : this.latencyMs * 0.8 + took * 0.2;
      return this.#options.redactor.redactValue(result);
    } catch (thrown) {
      throw this.#noted(thrown);
    } finally {
      this.#busy -= 1;
      this.#armIdle();
    }
  }

  notify(method: string, params?: JsonObject): void {
    this.#lease?.upstream.notify(method, params);
    this.#lanes.each((spare) => spare.notify(method, params));
  }

  async subscribe(uri: string): Promise<() => Promise<void>> {
    return (await this.start()).subscribe(uri);
  }

  async setLogLevel(level: LogLevel): Promise<void> {
    this.#logLevel = level;
    this.#lanes.each((spare) => void spare.setLogLevel(level).catch(() => {}));
    await this.#lease?.upstream.setLogLevel(level);
  }

  /** Takes the place of this member for the same server: what is known stays known, and the process goes on. */
  inherit(old: Member): void {
    this.stock.inventory = old.inventory;
    this.stderr = old.stderr;
    this.#pastRestarts = old.restarts;
    if (this.stopped) return;
    this.#lanes = old.#lanes;
    this.#lanes.configure(this.#laneOptions());
    old.#lanes = new Lanes(old.#laneOptions());
  }

  /** Resolves when no call is under way any more, when it was stopped, or when that has taken too long. */
  async drained(limitMs: number): Promise<void> {
    const begun = performance.now();
    // Whoever was sent here just now comes first.
    await pause(0);
    while (!this.stopped && performance.now() - begun < limitMs) {
      if (this.#busy === 0 && this.#lease?.busy?.() !== true) return;
      await pause(DRAIN_LOOK_MS);
    }
  }

  async stop(
    state: "stopped" | "idle" = "stopped",
    { quiet = false }: { quiet?: boolean } = {},
  ): Promise<void> {
    if (this.stopped) return;
    const wasDown = this.isDown;
    clearTimeout(this.#retry);
    clearTimeout(this.#idle);
    if (state === "stopped") this.stock.stopRefreshing();
    this.#setState(state);
    this.#leaving.abort();
    this.#leaving = new AbortController();
    const lease = this.#letGo();
    // First: a start that waits for the lists of a server that hangs ends with its connection.
    await Promise.all([lease?.release(), this.#lanes.close(this.#notRunning())]);
    await this.#starting?.catch(() => {});
    await this.#letGo()?.release();
    await this.stock.saved();
    // One that was tried in vain is not tried any more.
    if ((lease !== undefined || wasDown) && !quiet)
      this.#options.events.emit({ type: "mcp.server_stopped", server: this.alias });
  }

  /** Starts for a call, unless the last attempt failed just now: then the call hears at once why. */
  async #startFor(call: Call): Promise<Upstream> {
    if (this.stopped) throw this.#notRunning();
    if ((this.state === "failed" || this.state === "blocked") && performance.now() < this.#retryAt)
      throw this.#unavailable();
    const ms = call.timeoutMs ?? this.#limits.requestTimeoutMs;
    return within(this.start(), { server: this.alias, what: "starting", ms, signal: call.signal });
  }

  async #start(): Promise<Upstream> {
    clearTimeout(this.#retry);
    this.#setState("starting");
    this.#options.events.emit({ type: "mcp.server_started", server: this.alias });
    try {
      const lease = await this.#open();
      if (this.stopped) {
        await lease.release();
        throw this.#notRunning();
      }
      this.#lease = lease;
      this.#describe(lease.upstream);
      this.#listen(lease.upstream);
      await this.stock.refresh(ALL_LISTS).catch((thrown: unknown) => {
        const { code, message } = this.#noted(thrown);
        const what = `${this.alias} runs, but its tools could not be listed: ${message}`;
        if (this.#lease === lease)
          this.#options.report({ code, severity: "error", server: this.alias, message: what });
      });
      if (this.#lease !== lease) throw this.stopped ? this.#notRunning() : this.#unavailable();
      this.#failures = 0;
      // Lost again while its lists were read: it is ready when it is back.
      if (this.state !== "reconnecting") this.#setState("ready");
      this.#options.events.emit({ type: "mcp.server_ready", server: this.alias });
      this.#armIdle();
      return lease.upstream;
    } catch (thrown) {
      const error = this.#noted(thrown);
      if (!this.stopped && this.state !== "failed") this.#failed(error);
      throw error;
    }
  }

  #open(): Promise<Lease> {
    return leaseServer(this.#options, this.#limits, this.#leaving.signal, this.#heard);
  }

  readonly #heard: Heard = {
    stderr: (text) => {
      // Redacted after joining: a secret may come in two pieces.
      this.stderr = this.#options.redactor.redactText(this.stderr + text).slice(-STDERR_CHARS);
    },
    launch: (news) => {
      if (news.type === "planned") this.plan = news.plan;
      const event = toLaunchEvent(this.alias, news, this.#options.redactor);
      if (event !== undefined) this.#options.events.emit(event);
    },
  };

  #laneOptions(): LanesOptions {
    return {
      alias: this.alias,
      maxSpares: this.declared.lanes,
      timeoutMs: this.#limits.requestTimeoutMs,
      report: this.#options.report,
      main: () => this.#lease?.upstream,
      open: (signal) => leaseServer(this.#options, this.#limits, signal, this.#heard, true),
      opened: (spare) => {
        spare.on("log", this.#logged);
        if (this.#logLevel !== undefined) spare.setLogLevel(this.#logLevel).catch(() => {});
      },
    };
  }

  /** What a server says about itself may repeat what it was given. */
  #describe(upstream: Upstream): void {
    this.description = this.#options.redactor.redactValue(upstream.describe());
    // Over HTTP a question comes on the stream of its call; the modern era asks by answering.
    this.#needsLanes = this.description.era === "legacy" && this.description.transport !== "http";
  }

  #listen(upstream: Upstream): void {
    this.#listeners = [
      upstream.on("toolsChanged", () => this.stock.outdated("tools")),
      upstream.on("promptsChanged", () => this.stock.outdated("prompts")),
      upstream.on("resourcesChanged", () => this.stock.outdated("resources")),
      upstream.on("resourceUpdated", (uri) =>
        this.#options.resourceUpdated(this.alias, this.#options.redactor.redactText(uri)),
      ),
      upstream.on("log", this.#logged),
      upstream.on("stateChanged", (state, reason) => {
        if (reason !== undefined) this.#noted(reason);
        if (state === "reconnecting") this.#lost();
        else if (state === "ready") this.#back(upstream);
        else if (state === "failed") void this.#gaveUp();
      }),
    ];
    if (this.#logLevel !== undefined) upstream.setLogLevel(this.#logLevel).catch(() => {});
  }

  readonly #logged = (message: LogMessage): void =>
    this.#options.log(this.alias, discreetLog(message, this.#options.redactor, this.alias));

  #lost(): void {
    this.#setState("reconnecting");
    this.#options.events.emit({
      type: "mcp.server_failed",
      server: this.alias,
      ...this.#reason(this.lastError),
    });
  }

  #back(upstream: Upstream): void {
    this.#describe(upstream);
    this.#setState("ready");
    this.#options.events.emit({ type: "mcp.server_restarted", server: this.alias });
  }

  /** The connection itself will not come back soon; from here on it is the hub that tries. */
  async #gaveUp(): Promise<void> {
    const lease = this.#letGo();
    this.#failed(
      this.lastError ??
        new PortolanError("SERVER_CRASHED", `${this.alias} keeps crashing`, { server: this.alias }),
    );
    await lease?.release();
  }

  #failed(error: PortolanError): void {
    this.lastError = error;
    this.#failures += 1;
    const blocked = BLOCKING.has(error.code);
    const backoff = blocked
      ? MAX_RETRY_MS
      : Math.min(FIRST_RETRY_MS * 2 ** (this.#failures - 1), MAX_RETRY_MS);
    const delay = backoff * (0.8 + Math.random() * 0.4);
    this.#retryAt = performance.now() + delay;
    this.#setState(blocked ? "blocked" : "failed");
    this.#options.events.emit({ type: "mcp.server_failed", server: this.alias, ...this.#reason(error) });
    if (this.declared.start === "lazy") return;
    this.#retry = setTimeout(this.#tryAgain, delay).unref();
  }

  readonly #tryAgain = (): void => {
    this.start().catch(() => {});
  };

  #letGo(): Lease | undefined {
    const lease = this.#lease;
    this.#lease = undefined;
    for (const off of this.#listeners.splice(0)) off();
    if (lease !== undefined) this.#pastRestarts += lease.upstream.stats().restarts;
    return lease;
  }

  #armIdle(): void {
    clearTimeout(this.#idle);
    const { idleStopMs } = this.declared;
    if (idleStopMs === undefined || idleStopMs <= 0 || this.#busy > 0 || this.#lease === undefined) return;
    this.#idle = setTimeout(() => {
      if (this.#busy === 0) void this.stop("idle");
    }, idleStopMs).unref();
  }

  /** The error with its place and without secrets; remembered when it says something about the server. */
  #noted(thrown: unknown): PortolanError {
    const error = withRedactedError(toPortolanError(thrown, { server: this.alias }), this.#options.redactor);
    if (!ABOUT_THE_CALL.has(error.code)) this.lastError = error;
    return error;
  }

  #unavailable(): PortolanError {
    const last = this.lastError;
    if (last !== undefined && BLOCKING.has(last.code)) return last;
    return new PortolanError(
      "SERVER_UNAVAILABLE",
      `${this.alias} is not running${last === undefined ? "" : `: ${last.message}`}`,
      {
        server: this.alias,
        stderr: last?.stderr,
        hint: last?.hint,
        cause: last,
      },
    );
  }

  #notRunning(): PortolanError {
    const what = this.state === "disabled" ? "is disabled" : "was stopped";
    return new PortolanError("CONNECTION_CLOSED", `${this.alias} ${what}`, { server: this.alias });
  }

  #reason(error: PortolanError | undefined): { code?: PortolanError["code"]; reason?: string } {
    if (error === undefined) return {};
    const lastWords = OF_A_PROCESS.has(error.code) ? (this.stderr.trim().split("\n").at(-1) ?? "") : "";
    return {
      code: error.code,
      reason: lastWords === "" ? error.message : `${error.message}: ${lastWords.slice(0, 200)}`,
    };
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
