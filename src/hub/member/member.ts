// Member: one server of a hub in one generation (one config of it), with its processes, inventory and last error.

import { isDeepStrictEqual } from "node:util";
import type { PortolanError } from "../../errors/index.ts";
import { type ServerConfig, DEFAULT_LIMITS, type JsonObject } from "../../model/index.ts";
import {
  type Call,
  isUnreachable,
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
import type { StderrLog, StderrLogs } from "./stderr-log.ts";
import type { OpenLoginPage } from "../../oauth/index.ts";
import { logInAt, toNeededLogin } from "../processes/log-in.ts";
import { EMPTY, type Inventory, type ListName } from "./inventory.ts";
import { checkSecrets, type ServerContext } from "../processes/open-server-session.ts";
import { MemberSubscriptions } from "./subscriptions.ts";
import { Processes } from "../processes/processes.ts";
import { explainStart } from "../processes/used-secrets.ts";
import type { InventoryStore } from "./inventory-store.ts";
import type { FailedReplacement } from "./failed-replacement.ts";
import { ALL_LISTS, InventoryCache } from "./inventory-cache.ts";
import { MemberCalls } from "./member-calls.ts";
import { MemberPins } from "./member-pins.ts";
import { memberPolicy } from "./member-policy.ts";
import { disabledError, stoppedError } from "./refusals.ts";
import { isPerCaller, UserMembers } from "./user-members.ts";
import { serverHint } from "./health.ts";
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

export interface MemberOptions extends ServerContext {
  readonly inventoryStore: InventoryStore;
  readonly pinBook: PinBook;
  readonly events: EventBus;
  readonly stderrLogs: StderrLogs;
  /** True in a gateway: servers with `per_caller` have a member for each of its callers. */
  readonly servesCallers?: boolean;
  /** True when a program opened the hub: no command shows the output of its servers. */
  readonly ofProgram?: boolean;
  /** Replaces the member of a user by one with new connections. */
  readonly renew?: () => Promise<void>;
  /** The inventory changed, or whether the member can be used. */
  readonly changed: () => void;
  readonly resourceUpdated: (from: Member, uri: string) => void;
  readonly log: (from: Member, message: JsonObject) => void;
}

const EVENTS: Readonly<Record<LifecycleEvent, ServerEvent["type"]>> = {
  ready: "mcp.server_ready",
  restarted: "mcp.server_restarted",
  recovered: "mcp.server_ready",
  failed: "mcp.server_failed",
  stopped: "mcp.server_stopped",
};

export class Member {
  readonly alias: string;
  readonly inventoryCache: InventoryCache;
  readonly lastError: LastError;
  /** The last lines of its stderr, also of earlier generations. */
  readonly stderrLog: StderrLog;
  readonly pins: MemberPins;
  readonly processes: Processes;
  /** The members of the callers that have an own login here. */
  readonly users: UserMembers;
  config: ServerConfig;
  since: Date = new Date();
  /** Set while this generation serves because a newer one could not start, or with secrets that cannot be read again. */
  failedReplacement: FailedReplacement | undefined;
  /** True while an earlier generation serves: a failure of this one is not yet a failure of the server. */
  isCandidate = false;
  readonly #options: MemberOptions;
  readonly #calls: MemberCalls;
  #policy: Policy;
  #subscriptions: MemberSubscriptions;
  /** The server failed, and has not worked since. */
  #isFailing = false;
  /** The first lists of the running server are being fetched. */
  #listing: Promise<void> | undefined;
  /** The session is open, but the ready event was not emitted yet. */
  #isReadyUnannounced = false;
  /** False until its first start has succeeded. */
  wasReady = false;
  /** True when the hashes of its tools are wanted, although nothing is compared. */
  #isHashed = false;
  /** True when another generation emits the events from now on. */
  #isSilent = false;
  #stopReason: string | undefined;
  /** True when a person stopped it, so that only a person starts it again. */
  isStoppedOnRequest = false;

  constructor(options: MemberOptions) {
    this.#options = options;
    this.config = options.config;
    this.alias = options.config.alias;
    this.#policy = this.#policyOf(options.config);
    this.users = new UserMembers(
      () => this.config,
      (user, renewals) => {
        const restart = `${this.#options.restart ?? 0} ${renewals}`;
        const own = { user, inventoryStore: NO_STORE, exchanged: new Map(), restart };
        const renew = (): Promise<void> => this.users.renew(user);
        return new Member({ ...this.#options, ...own, renew, config: this.config });
      },
    );
    const limits = { ...DEFAULT_LIMITS, ...options.config.limits };
    const callRedactor = new CallRedactor(options.redactor, this.alias);
    this.lastError = new LastError(this.alias, options.redactor);
    this.#calls = new MemberCalls({
      ...{ alias: this.alias, redactor: options.redactor, callRedactor, lastError: this.lastError },
      processes: () => this.processes,
      pins: () => this.pins,
      stopReason: () => this.#stopReason,
      refusal: () => (this.stopped || this.isStoppedOnRequest ? this.#notRunning() : undefined),
      timeoutOf: (call) => this.#timeoutOf(call),
      explainStart: (thrown) => explainStart(thrown, options),
    });
    this.stderrLog = options.stderrLogs.of(this.alias);
    this.processes = new Processes({
      ...options,
      ...{ limits, lastError: this.lastError },
      log: (message) => options.log(this, message),
      resourceUpdated: (uri) => options.resourceUpdated(this, uri),
      stderrLog: this.stderrLog,
      callRedactor,
      policy: () => this.#policy,
      busy: () => this.#calls.isBusy,
      changed: (state) => {
        this.#calls.probeError = undefined;
        const isFailed = state.kind === "failed" || state.kind === "blocked" || isUnreachable(state);
        // Later attempts do not change since when the server has been failing.
        if (this.#isFailing && (isFailed || state.kind === "starting")) return;
        this.#isFailing = isFailed || (state.kind === "starting" && state.why === "restart");
        this.since = new Date();
      },
      event: (event) => this.#report(event),
      started: () => this.#emit("mcp.server_started"),
      checkLate: (call) => this.#calls.checkPins(call),
      isReadOnlyTool: (tool) =>
        this.inventory.tools.find(({ name }) => name === tool)?.annotations?.readOnlyHint,
      checkTools: (session) => this.pins.checkSession(session, limits),
      outdated: (list) => {
        if (list === "tools") this.pins.outdated();
        this.inventoryCache.outdated(list);
      },
      opened: (_handle, isRenewed) => {
        this.secretsRead();
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
      changed: () => this.processes.recheckDedicated(),
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
        if (isUnreachable(state)) return "reconnecting";
        return this.#listing === undefined ? "ready" : "starting";
      default:
        return state.kind;
    }
  }

  get inventory(): Inventory {
    return this.inventoryCache.inventory;
  }

  /** The user of the gateway whose member it is; undefined for the owner of the workspace. */
  get user(): string | undefined {
    return this.#options.user?.id;
  }

  /** True if each caller of the gateway has a login and a member of its own. */
  get isPerCaller(): boolean {
    return this.#options.servesCallers === true && isPerCaller(this.config);
  }

  /** True if its tools are unknown because nobody has logged in. */
  get needsLogin(): boolean {
    const { unavailable } = this;
    return this.inventory === EMPTY && unavailable !== undefined && toNeededLogin(unavailable) !== undefined;
  }

  /** Logs the user in: `openLoginPage` takes the person to the login page. Then the server is started, and its lists are read. */
  async logIn(openLoginPage: OpenLoginPage, scope: string | undefined): Promise<void> {
    await logInAt(this.#options, openLoginPage, scope);
    const { renew } = this.#options;
    if (this.processes.main.live === undefined) await this.retry();
    else if (renew !== undefined) await renew();
    else await this.inventoryCache.refresh(ALL_LISTS).catch(() => {});
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
    return this.config.enabled ? this.processes.main.unavailable : disabledError(this.config);
  }

  /** True when its last start failed, also during the next attempt, and when it does not answer. */
  get isDown(): boolean {
    return this.stopped || this.processes.main.isDown;
  }

  /** The state before the attempt that runs now, if that attempt follows a failure; otherwise undefined. */
  get retriedState(): "failed" | "blocked" | undefined {
    return this.config.enabled ? this.processes.main.retriedState : undefined;
  }

  /** True while its tools are unknown because it is starting for the first time. */
  get isUnlisted(): boolean {
    return this.state === "starting" && this.inventory === EMPTY && !this.isDown;
  }

  /** Loads the inventory of the last run; false when there is none. */
  async load(): Promise<boolean> {
    return this.state === "disabled" || this.inventoryCache.load();
  }

  /** Loads the known inventory, and starts an eager server. Resolves when it is ready or has failed. */
  async begin(): Promise<void> {
    if (this.state === "disabled") return;
    // The owner may never use it, and need not have a login.
    if (this.isPerCaller) return;
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
    const limit = { server: this.alias, what: "starting", ms: this.#timeoutOf({ timeoutMs }), signal };
    const failed = (thrown: unknown) => Promise.reject(explainStart(thrown, this.#options));
    await within(this.start(), limit).catch(failed);
  }

  /** Tries to start a server that failed, before its retry time. */
  async retry(): Promise<void> {
    await this.processes.main.recheck().catch(() => {});
  }

  request(call: Call): Promise<JsonObject> {
    return this.#calls.request(call);
  }

  /** Asks the server whether it answers. Rejects if it does not. */
  probe(): Promise<void> {
    return this.#calls.probe();
  }

  /** The error of the last probe; undefined after an answer of the server. */
  get probeError(): PortolanError | undefined {
    return this.#calls.probeError;
  }

  /** Moving average of response times. */
  get latencyMs(): number | undefined {
    return this.#calls.latencyMs;
  }

  /** The subscription lasts through restarts and generations. */
  subscribe(uri: string): Promise<() => Promise<void>> {
    return this.#subscriptions.add(uri);
  }

  /** Applies other settings to the same processes: calls and sessions continue. */
  configure(config: ServerConfig): void {
    this.config = config;
    const { failedReplacement: failed } = this;
    this.failedReplacement = failed?.change === "secrets" ? { ...failed, config } : undefined;
    this.#policy = this.#policyOf(config);
    this.processes.configure(config);
    this.users.configure(config);
    this.pins.compare();
  }

  /** Notes where the config of the server is now. */
  move(origin: ServerConfig["origin"]): void {
    this.config = { ...this.config, origin };
    const { failedReplacement: failed } = this;
    if (failed !== undefined) this.failedReplacement = { ...failed, config: { ...failed.config, origin } };
  }

  /** The secrets could be read, or no process uses the earlier ones any more. */
  secretsRead(): void {
    if (this.failedReplacement?.change === "secrets") this.failedReplacement = undefined;
  }

  /** Takes over from an older generation, which finishes its calls. Resolves when that one has stopped. */
  async takeOver(old: Member): Promise<void> {
    if (this.isCandidate) this.#becomeCurrent();
    this.inheritLists(old);
    // The stderr of another program, or of one that failed, explains nothing about one that works.
    if (this.state !== "ready" && isDeepStrictEqual(this.config.endpoint, old.config.endpoint))
      this.lastError.stderr ||= old.lastError.stderr;
    this.processes.takeOver(old.processes);
    if (!this.stopped) {
      this.#subscriptions = old.#subscriptions;
      this.#subscriptions.moveTo(this.processes);
      old.#calls.successor = this.#calls;
      old.#isSilent = true;
    }
    const users = this.isPerCaller ? this.users.takeOver(old.users) : undefined;
    await Promise.all([old.drain(), users]);
  }

  /** Uses the lists of the earlier generation until its own are fetched. */
  inheritLists(old: Member): void {
    this.inventoryCache.inherit(old.inventory);
  }

  /** Rejects further calls, and stops after the last call in flight. */
  async drain(): Promise<void> {
    this.inventoryCache.stopRefreshing();
    await Promise.all([this.processes.main.drain(), this.users.drain()]);
    await this.stop();
  }

  /** Like `drain`, because a person requested it. The errors of further calls name the command that starts it again. */
  async stopOnRequest(): Promise<void> {
    this.isStoppedOnRequest = true;
    await this.drain();
  }

  /** `reason` is the message of calls that were running. */
  async stop({ isSilent = false, reason }: { isSilent?: boolean; reason?: string } = {}): Promise<void> {
    this.#isSilent ||= isSilent;
    this.#stopReason ??= reason;
    this.inventoryCache.stopRefreshing();
    await Promise.all([
      this.processes.main.close(),
      this.processes.closeDedicated(this.#notRunning()),
      this.users.stop(reason),
    ]);
    await this.inventoryCache.saved();
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
      this.wasReady = true;
      this.since = new Date();
      if (this.processes.main.live === session) this.#emit("mcp.server_ready");
    }
  }

  #report(event: LifecycleEvent): void {
    const { lastFault } = this.processes.main;
    // Its user sees other tools when a login is missing, and when there is one.
    if (this.isPerCaller) this.#options.changed();
    if (event === "failed") this.stderrLog.ended(lastFault?.error.data);
    if (event === "stopped") this.stderrLog.ended();
    if (this.processes.main.live === undefined) this.secretsRead();
    if (event === "failed" && lastFault !== undefined)
      this.lastError.error = this.lastError.note(lastFault.error);
    // A server is ready when its lists are fetched, so that event is emitted later.
    if (event === "ready") this.#isReadyUnannounced = true;
    else this.#emit(EVENTS[event]);
  }

  /** True when a program declares the server, or opened the workspace of its config file. */
  get isOfProgram(): boolean {
    return this.#options.ofProgram === true || this.config.origin.format === "program";
  }

  #notRunning(): PortolanError {
    if (!this.config.enabled) return disabledError(this.config);
    return this.isStoppedOnRequest ? stoppedError(this.alias) : neverSentError(this.alias);
  }

  /** Its failure, which was not reported before, is the failure of the server now. */
  #becomeCurrent(): void {
    this.isCandidate = false;
    if (this.state === "failed" || this.state === "blocked") this.#emit("mcp.server_failed");
  }

  #emit(type: ServerEvent["type"]): void {
    if (this.#isSilent || (this.isCandidate && type === "mcp.server_failed")) return;
    const { user, events } = this.#options;
    // A caller without a login is no failure of the server; the caller gets the link to one.
    const isLogin = this.processes.main.lastFault?.error.code === "AUTH_REQUIRED";
    if (user !== undefined && type === "mcp.server_failed" && isLogin) return;
    const { error } = this.lastError;
    const more =
      type === "mcp.server_failed" && error !== undefined
        ? { ...this.lastError.reason(), hint: serverHint(this, error) }
        : {};
    events.emit({ type, server: this.alias, caller: user?.name, ...more });
  }

  #policyOf(config: ServerConfig): Policy {
    const isOfUser = this.#options.user !== undefined;
    return memberPolicy(config, { isOfUser, isPerCaller: this.isPerCaller });
  }
}

/** The inventory of one user is not kept on disk. */
const NO_STORE: InventoryStore = { load: async () => undefined, save: async () => {} };
