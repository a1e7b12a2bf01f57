// Processes of one generation of a server: the main instance that calls share, and dedicated ones beside it.

import { homedir } from "node:os";
import type { PortolanError } from "../../errors/index.ts";
import type { LaunchPlan } from "../../launch/index.ts";
import {
  dataFileAdvice,
  grantCommand,
  type ServerConfig,
  type JsonObject,
  type Limits,
  type LogLevel,
  type LogMessage,
} from "../../model/index.ts";
import {
  type Call,
  type Caller,
  createLaunchDiagnostics,
  type Description,
  type LaunchDiagnostics,
  type PathDenial,
  type SessionHandle,
  SupervisedUpstream,
  type SupervisionOptions,
  type Upstream,
} from "../../upstream/index.ts";
import type { CallRedactor } from "../member/redact-call.ts";
import { type EventBus, toLaunchEvent } from "../events.ts";
import type { LastError } from "../member/last-error.ts";
import type { StderrLog } from "../member/stderr-log.ts";
import type { ListName } from "../member/inventory.ts";
import {
  checkSecrets,
  type ServerContext,
  openServerSession,
  type OpenTerms,
} from "./open-server-session.ts";
import { Placement, type PlacementOptions } from "./placement.ts";
import type { ProcessListener } from "./process-pool.ts";

const LISTS = ["tools", "prompts", "resources"] as const;

export interface ProcessesOptions
  extends
    ServerContext,
    Pick<SupervisionOptions, "policy" | "opened" | "event" | "changed" | "busy" | "checkLate"> {
  readonly limits: Limits;
  readonly lastError: LastError;
  readonly stderrLog: StderrLog;
  readonly callRedactor: CallRedactor;
  readonly events: EventBus;
  /** The process of the main instance was started; without a process of its own: its session was opened. */
  readonly started: () => void;
  readonly log: (message: JsonObject) => void;
  readonly resourceUpdated: (uri: string) => void;
  /** A list of the server has changed. */
  readonly outdated: (list: ListName) => void;
  /** Whether a tool only reads, as its annotations say. */
  readonly isReadOnlyTool: (tool: string) => boolean | undefined;
  /** Compares the tools of a process or session beside the main one with the pins. Rejects if they differ. */
  readonly checkTools: (session: Upstream) => Promise<void>;
}

export class Processes {
  /** The instance that calls share. */
  readonly main: SupervisedUpstream;
  description: Description | undefined;
  /** The package that Portolan installs for the next start, in the words of its progress; undefined if it installs none. */
  installing: { readonly what: string; readonly since: Date } | undefined;
  /** The process groups that were started, by id; some may have ended. */
  readonly groups = new Set<number>();
  /** The launch plans of the last starts: of the server, or of each driver of the contracts. */
  readonly #plans = new Map<string, LaunchPlan>();
  readonly #options: ProcessesOptions;
  readonly #alias: string;
  readonly #launches: LaunchDiagnostics;
  readonly #placement: Placement;
  #handle: SessionHandle | undefined;
  /** The connection beside the main one that last reported a change of the lists. */
  #lister: Upstream | undefined;
  #logLevel: LogLevel | undefined;
  /** Restarts of earlier generations. */
  #pastRestarts = 0;
  /** The end of the old process, when this one cannot run beside it. */
  #after: Promise<void> | undefined;

  constructor(options: ProcessesOptions) {
    const { config, limits, lastError } = options;
    this.#options = options;
    this.#alias = config.alias;
    const command = grantCommand(config, options.launchContext.hintFolder);
    const { file, line, format } = config.origin;
    this.#launches = createLaunchDiagnostics(config.alias, options.report, undefined, {
      command,
      // A server of the command line has no config file.
      place: format === "command line" ? undefined : `${file}:${line}`,
      dataFile: dataFileAdvice(config, homedir(), command),
      onDeniedPath: this.#deniedPath,
      isReadOnlyTool: options.isReadOnlyTool,
    });
    this.#placement = new Placement(this.#placementOptions(config));
    this.main = new SupervisedUpstream({
      ...options,
      name: config.alias,
      requestTimeoutMs: limits.requestTimeoutMs,
      open: async (signal, before) => {
        lastError.begins();
        options.stderrLog.begins();
        let isSecondTry = false;
        const started = this.#once(signal);
        const onProcess = (): void => {
          // A server that died of the era probe is started again. Contracts have the output of all drivers.
          if (config.endpoint.transport !== "contracts") {
            lastError.begins();
            options.stderrLog.begins(isSecondTry);
            isSecondTry = true;
          }
          started();
        };
        try {
          await this.#after;
          const handle = await this.#open(signal, { knownLegacy: before?.era === "legacy" }, onProcess);
          started();
          return handle;
        } catch (thrown) {
          throw lastError.note(thrown);
        } finally {
          this.installing = undefined;
        }
      },
      opened: (handle, isRenewed) => {
        this.#handle = handle;
        lastError.sessionName = handle.upstream.name;
        this.#lister = undefined;
        this.#describe(handle);
        options.opened?.(handle, isRenewed);
      },
    });
    this.main.on("log", this.#logged);
    this.main.on("resourceUpdated", this.#updated);
    for (const list of LISTS)
      this.main.on(`${list}Changed`, () => {
        this.#lister = undefined;
        options.outdated(list);
      });
  }

  readonly #deniedPath = ({ path, access, message: reason, grant }: PathDenial): void => {
    const { events, redactor } = this.#options;
    events.emit({
      ...{ type: "mcp.sandbox_path_denied", server: this.#alias, access, grant },
      ...{ path: redactor.redactText(path), reason: redactor.redactText(reason) },
    });
  };

  /** The launch plan of the last start. Of several drivers, the one with the weakest sandbox mode. */
  get plan(): LaunchPlan | undefined {
    const plans = [...this.#plans.values()];
    return (
      (["off", "warn"] as const)
        .map((mode) => plans.find(({ sandbox }) => sandbox.mode === mode))
        .find((plan) => plan !== undefined) ?? plans.at(-1)
    );
  }

  /** The open session, whose upstream may be shared with other servers. */
  get handle(): SessionHandle | undefined {
    return this.main.live === undefined ? undefined : this.#handle;
  }

  get restarts(): number {
    return this.#pastRestarts + this.main.restarts;
  }

  /** The connection to read lists from: the one that last reported a change of them. */
  get lister(): Upstream | undefined {
    return this.#lister ?? (this.main.live === undefined ? undefined : this.main);
  }

  subscribe(uri: string): Promise<() => Promise<void>> {
    return this.#placement.subscribe(this.main, uri);
  }

  /** Like `subscribe`, but begins with the next session when none is open. */
  keepSubscribed(uri: string): Promise<() => Promise<void>> {
    return this.#placement.subscribe({ subscribe: async (one) => this.main.keepSubscribed(one) }, uri);
  }

  /** Number of dedicated processes and sessions. */
  get dedicatedCount(): number {
    return this.#placement.count;
  }

  /** Delays the first session until the promise settles. */
  startAfter(end: Promise<void>): void {
    this.#after = end.catch(() => {});
  }

  request(call: Call): Promise<JsonObject> {
    return this.#placement.request(this.main, call);
  }

  notify(method: string, params?: JsonObject): void {
    this.main.notify(method, params);
    this.#placement.notify(method, params);
  }

  async setLogLevel(level: LogLevel): Promise<void> {
    this.#logLevel = level;
    this.#placement.setLogLevel(level);
    await this.main.setLogLevel(level);
  }

  /** Takes the log level and the number of restarts of the earlier generation. */
  takeOver(old: Processes): void {
    this.#pastRestarts = old.restarts;
    if (old.#logLevel !== undefined) void this.setLogLevel(old.#logLevel).catch(() => {});
  }

  /** Applies changed settings to the dedicated processes. */
  configure(config: ServerConfig): void {
    this.#placement.configure(this.#placementOptions(config));
  }

  /** The pins have changed, so the tools of the dedicated processes and sessions are compared again. */
  recheckDedicated(): void {
    this.#placement.recheck();
  }

  /**
   * True if the secrets of the config have other values than those that the last session was opened with. Throws if one that it was
   * opened with is missing now.
   */
  async hasNewSecrets(): Promise<boolean> {
    const { digest, hasNew } = this.#options.usedSecrets;
    if (hasNew !== undefined) return hasNew();
    // Its first start is looking them up now.
    if (digest === undefined && !this.main.isDown) return false;
    try {
      return (await checkSecrets({ ...this.#options, report: () => {} })) !== digest;
    } catch (error) {
      if (digest === undefined) return false;
      throw error;
    }
  }

  /** Calls that wait for a dedicated process are rejected with the reason. */
  closeDedicated(reason: PortolanError): Promise<void> {
    return this.#placement.close(reason);
  }

  /** A server's description may contain secrets, and may change with a restart. */
  #describe({ upstream }: SessionHandle): void {
    this.description = this.#options.redactor.redactValue(upstream.describe());
    this.#placement.describe(this.description);
  }

  /** Reports one start once: a server that dies of the era probe has a second process. */
  #once(signal: AbortSignal): () => void {
    let isReported = false;
    return () => {
      if (isReported || signal.aborted) return;
      isReported = true;
      this.#options.started();
    };
  }

  #open(
    leave: AbortSignal,
    more: Pick<OpenTerms, "knownLegacy" | "dedicated">,
    onProcess: () => void = () => {},
  ): Promise<SessionHandle> {
    const { limits } = this.#options;
    const listener: ProcessListener = {
      stderr: this.#listener.stderr,
      launch: (news) => {
        if (news.type === "started") onProcess();
        this.#listener.launch(news);
      },
    };
    return openServerSession(
      { ...this.#options, onDeniedPath: this.#deniedPath },
      {
        limits,
        leave,
        listener,
        launches: this.#launches,
        ...more,
      },
    );
  }

  /** Another process of the same program may offer other tools, so they are compared before the first call. */
  async #openDedicated(leave: AbortSignal, caller: Caller | undefined): Promise<SessionHandle> {
    const handle = await this.#open(leave, { dedicated: { dedicatedTo: caller } });
    try {
      await this.#options.checkTools(handle.upstream);
      return handle;
    } catch (error) {
      await handle.release();
      throw error;
    }
  }

  #placementOptions(config: ServerConfig): PlacementOptions {
    const { limits, report, checkTools } = this.#options;
    return {
      alias: this.#alias,
      config,
      timeoutMs: limits.requestTimeoutMs,
      report,
      main: () => this.main,
      open: (signal, caller) => this.#openDedicated(signal, caller),
      checkTools,
      opened: (other) => {
        other.on("log", this.#logged);
        if (this.#logLevel !== undefined) other.setLogLevel(this.#logLevel).catch(() => {});
      },
      sessionOpened: (other) => this.#listenTo(other),
      // The state of the server is the state of the main session.
      unreachable: () => void this.main.probe().catch(() => {}),
    };
  }

  /** Listens to a dedicated session: a server reports the effects of a call on the session of that call. */
  #listenTo(other: Upstream): void {
    const { outdated } = this.#options;
    for (const list of LISTS)
      other.on(`${list}Changed`, () => {
        this.#lister = other;
        outdated(list);
      });
    other.on("resourceUpdated", this.#updated);
    other.on("stateChanged", (state) => {
      if (this.#lister !== other || (state !== "closed" && state !== "failed")) return;
      this.#lister = undefined;
      for (const list of LISTS) outdated(list);
    });
  }

  readonly #updated = (uri: string): void =>
    this.#options.resourceUpdated(this.#options.redactor.redactText(uri));

  readonly #listener: ProcessListener = {
    stderr: (text) => {
      this.#options.lastError.wrote(text);
      this.#options.stderrLog.write(text);
    },
    launch: (news) => {
      if (news.type === "progress" && news.what !== this.installing?.what)
        this.installing = { what: this.#options.redactor.redactText(news.what), since: new Date() };
      // The words of a plan contain resolved secrets, and other commands and the console show them.
      // A shared process was planned for the server that opened it.
      if (news.type === "planned") {
        this.installing = undefined;
        const key = this.#options.config.endpoint.transport === "contracts" ? news.plan.server : this.#alias;
        this.#plans.set(key, { ...this.#options.redactor.redactValue(news.plan), server: this.#alias });
        // The diagnostics of its plan are reported for each server.
        this.#launches.onLaunch(news);
      }
      if (news.type === "started") this.groups.add(news.pid);
      const event = toLaunchEvent(this.#alias, news, this.#options.redactor);
      if (event !== undefined) this.#options.events.emit(event);
    },
  };

  readonly #logged = (message: LogMessage): void =>
    this.#options.log(this.#options.callRedactor.log(message));
}
