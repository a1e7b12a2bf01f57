// Keeps one session open: starts it, starts it again after a loss with growing pauses, and gives up on a crash loop.

import { ERROR_CODES, isPortolanError, PortolanError, toPortolanError } from "../errors/index.ts";
import type { LaunchPlan } from "../launch/index.ts";
import { type LaunchSettings, modeWords, type ServerDefinition, shellWord } from "../model/index.ts";
import { connect, type Reach } from "./connect.ts";
import type { EraMemory } from "./era-memory.ts";
import { fetcherHint } from "./fetcher-hint.ts";
import type { LaunchReports } from "./launch-reports.ts";
import type { Session, SessionOptions } from "./session.ts";
import type { Call, Description, UpstreamState } from "./types.ts";
import { pause, timerMs, within } from "./waiting.ts";

const FIRST_RESTART_MS = 500;
const MAX_RESTART_MS = 30_000;
const CRASH_WINDOW_MS = 60_000;
const MAX_CRASHES = 5;
const TIMEOUTS_BEFORE_KILL = 3;
const MAX_WAITING = 1_000;

export interface KeeperOptions extends Pick<
  SessionOptions,
  "definition" | "caller" | "ask" | "report" | "notice" | "onStderr" | "onLaunch"
> {
  readonly reach: Reach;
  readonly eras: EraMemory;
  /** A session is ready for use; the first one, or one that replaces a lost one. */
  readonly opened: (session: Session, again: boolean) => void;
  readonly lost: (session: Session) => void;
  readonly stateChanged: (state: UpstreamState) => void;
  readonly explain: LaunchReports["explain"];
}

export class Keeper {
  session: Session | undefined;
  description: Description | undefined;
  state: UpstreamState = "reconnecting";
  lastError: PortolanError | undefined;
  restarts = 0;
  probes = 0;
  readonly #options: KeeperOptions;
  readonly #definition: ServerDefinition;
  readonly #name: string;
  readonly #closing = new AbortController();
  #opening: Promise<Session> | undefined;
  #crashes: number[] = [];
  #waiting = 0;
  /** How its program was started last. */
  #plan: LaunchPlan | undefined;
  #closed: Promise<void> | undefined;
  /** Sessions that the server forgot, whose last requests are still in flight. */
  readonly #retired = new Set<Session>();

  constructor(options: KeeperOptions) {
    this.#options = options;
    this.#definition = options.definition;
    this.#name = options.definition.name;
  }

  /** The first start: its failure is the caller's to hear, and is not tried again. */
  async start(signal: AbortSignal | undefined): Promise<void> {
    try {
      this.#adopt(await this.#open(signal), false);
    } catch (error) {
      this.state = "failed";
      throw error;
    }
  }

  /** The session, as soon as there is one, within the patience of the call that waits for it. */
  async ready(call: Call | undefined): Promise<Session> {
    if (this.session !== undefined) return this.session;
    if (this.state === "closed") throw this.closedError();
    if (this.state === "failed" && this.#crashedLately() >= MAX_CRASHES) throw this.unavailable();
    if (this.#waiting >= MAX_WAITING) {
      throw new PortolanError("BUSY", `${MAX_WAITING} requests already wait for ${this.#name} to come back`, {
        server: this.#name,
      });
    }
    this.#opening ??= this.#reopen(0);
    this.#waiting += 1;
    try {
      const ms = call?.timeoutMs ?? this.#definition.limits.requestTimeoutMs;
      return await within(this.#opening, {
        server: this.#name,
        what: "coming back",
        ms,
        signal: call?.signal,
      });
    } finally {
      this.#waiting -= 1;
    }
  }

  /** This session is of no use any more; another is started after the delay. */
  lose(session: Session, error: PortolanError, delay: number = this.#restartDelay()): void {
    if (this.session !== session) return;
    this.lastError = error;
    this.session = undefined;
    this.#options.lost(session);
    if (error.code === "SESSION_LOST") this.#retire(session);
    else void session.close();
    if (this.state === "closed") return;
    this.#setState("reconnecting");
    this.#opening = this.#reopen(delay);
    // Whoever waits for it sees the failure; without anybody waiting the state tells.
    this.#opening.catch(() => {});
  }

  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  closedError(): PortolanError {
    return new PortolanError("CONNECTION_CLOSED", `the connection to ${this.#name} is closed`, {
      server: this.#name,
    });
  }

  unavailable(): PortolanError {
    const last = this.lastError;
    return new PortolanError(
      "SERVER_UNAVAILABLE",
      `${this.#name} failed repeatedly${last === undefined ? "" : `, last: ${last.message}`}`,
      {
        server: this.#name,
        stderr: last?.stderr,
        cause: last,
      },
    );
  }

  /** A download has its own time; the patience with a start begins after it. */
  async #installed(signal: AbortSignal | undefined): Promise<void> {
    const { reach, report, onLaunch } = this.#options;
    const endpoint = reach.transport === "http" ? reach.program : reach;
    if (endpoint === undefined || !("command" in endpoint)) return;
    const { name: server, launch: settings } = this.#definition;
    const signals = [this.#closing.signal, ...(signal === undefined ? [] : [signal])];
    const { install } = await import("../launch/index.ts");
    await install({ server, endpoint, settings, report, onLaunch, signal: AbortSignal.any(signals) });
  }

  async #open(signal: AbortSignal | undefined): Promise<Session> {
    await this.#installed(signal);
    const { startTimeoutMs } = this.#definition.limits;
    const startedAt = performance.now();
    const tooLate = new AbortController();
    const giveUp = (): void => {
      const message = `${this.#name} was not ready after ${startTimeoutMs} ms`;
      tooLate.abort(new PortolanError("TIMEOUT", message, { server: this.#name, data: { startTimeoutMs } }));
    };
    const timer = startTimeoutMs === 0 ? undefined : setTimeout(giveUp, timerMs(startTimeoutMs));
    const start = AbortSignal.any([
      tooLate.signal,
      this.#closing.signal,
      ...(signal === undefined ? [] : [signal]),
    ]);
    const { reach, eras, definition, caller, ask, report, notice, onStderr, onLaunch } = this.#options;
    const options: SessionOptions = {
      definition,
      caller,
      ask,
      report,
      notice,
      onStderr,
      onLaunch: (news) => {
        if (news.type === "planned") this.#plan = news.plan;
        onLaunch?.(news);
      },
      knownLegacy: this.description?.era === "legacy",
      signal: start,
      unresponsive: (session, consecutive) => this.#unresponsive(session, consecutive),
      closed: (session, error) => this.lose(session, error),
      onProbe: () => {
        this.probes += 1;
      },
    };
    try {
      start.throwIfAborted();
      return await connect(reach, options, eras);
    } catch (thrown) {
      if (signal?.aborted) {
        throw new PortolanError("CANCELLED", `connecting to ${this.#name} was cancelled`, {
          server: this.#name,
          cause: signal.reason,
        });
      }
      const error = this.#startError(isPortolanError(start.reason) ? start.reason : thrown, thrown);
      throw this.#options.explain(error, startedAt);
    } finally {
      clearTimeout(timer);
    }
  }

  /** Whatever kept the server from being ready is one thing to the caller: it did not start. */
  #startError(reason: unknown, thrown: unknown): PortolanError {
    const error = toPortolanError(reason, { server: this.#name });
    if (error.code !== "SERVER_CRASHED" && error.code !== "CONNECTION_LOST" && error.code !== "TIMEOUT")
      return error;
    return new PortolanError("SERVER_START_FAILED", error.message, {
      server: this.#name,
      stderr: error.stderr ?? (isPortolanError(thrown) ? thrown.stderr : undefined),
      data: error.data,
      cause: error,
      hint: startHint(error, this.#plan, this.#definition.launch),
    });
  }

  async #reopen(delay: number): Promise<Session> {
    try {
      if (delay > 0) await pause(delay, this.#closing.signal);
      const session = await this.#open(undefined);
      this.restarts += 1;
      this.#adopt(session, true);
      return session;
    } catch (thrown) {
      if (this.state === "closed") throw this.closedError();
      this.lastError = toPortolanError(thrown, { server: this.#name });
      const next = this.#restartDelay();
      if (this.#crashedLately() < MAX_CRASHES) return this.#reopen(next);
      this.#opening = undefined;
      this.#setState("failed");
      throw this.unavailable();
    }
  }

  #adopt(session: Session, again: boolean): void {
    if (session.peer.dead !== undefined) throw session.peer.dead;
    this.#opening = undefined;
    this.session = session;
    this.description = session.description;
    this.#setState("ready");
    this.#options.opened(session, again);
  }

  async #close(): Promise<void> {
    const { session } = this;
    this.#setState("closed");
    this.session = undefined;
    this.#closing.abort(this.closedError());
    if (session !== undefined) this.#options.lost(session);
    const open = session === undefined ? [...this.#retired] : [session, ...this.#retired];
    await Promise.all(open.map((each) => each.close()));
    await this.#opening?.then((late) => late.close()).catch(() => {});
  }

  #retire(session: Session): void {
    this.#retired.add(session);
    session.retire(() => this.#retired.delete(session));
  }

  #unresponsive(session: Session, consecutive: number): void {
    if (consecutive < TIMEOUTS_BEFORE_KILL || this.description?.transport !== "stdio") return;
    const message = `${this.#name} was stopped: ${consecutive} requests in a row ran into their time limit`;
    const error = new PortolanError("SERVER_CRASHED", message, {
      server: this.#name,
      stderr: session.peer.wire.stderrTail(),
    });
    void session.peer.close(error);
    this.lose(session, error);
  }

  #crashedLately(): number {
    const now = performance.now();
    this.#crashes = this.#crashes.filter((at) => now - at < CRASH_WINDOW_MS);
    return this.#crashes.length;
  }

  /** Counts a crash; the more of them lately, the longer the pause. */
  #restartDelay(): number {
    this.#crashes.push(performance.now());
    const backoff = Math.min(FIRST_RESTART_MS * 2 ** (this.#crashedLately() - 1), MAX_RESTART_MS);
    return backoff * (0.8 + Math.random() * 0.4);
  }

  #setState(state: UpstreamState): void {
    if (this.state === state) return;
    this.state = state;
    this.#options.stateChanged(state);
  }
}

/** What to do when a start failed. No call was made yet, so the words about calls that may have run do not fit. */
function startHint(
  { code, hint }: PortolanError,
  plan: LaunchPlan | undefined,
  settings: LaunchSettings | undefined,
): string | undefined {
  if (code === "SERVER_CRASHED") return plan === undefined ? undefined : boxHint(plan, settings);
  if (hint !== ERROR_CODES.CONNECTION_LOST.hint) return hint;
  return "Check the URL, and that the server runs and can be reached from here.";
}

/** A program that does not start in a box may miss something there. */
function boxHint(plan: LaunchPlan, settings: LaunchSettings | undefined): string | undefined {
  const { notGranted, sandbox } = plan;
  if (sandbox.backend === "none") return undefined;
  const fetching = fetcherHint(plan);
  if (fetching !== undefined) return fetching;
  if (notGranted.length === 0)
    return `It runs in a sandbox: portolan why --plan shows what it may touch, and ${modeWords(settings, "off")} whether that is the reason.`;
  const [path = ""] = notGranted;
  const word = shellWord(path);
  return `Its arguments name ${notGranted.join(", ")}, which its sandbox does not grant: --allow-read ${word} or --allow-write ${word}, or fs: { read: [${word === path ? path : JSON.stringify(path)}] } in its sandbox.`;
}
