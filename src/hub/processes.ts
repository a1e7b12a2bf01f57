// The processes of one server: the one that calls share, and lanes beside it. What concerns the client is told to all of them.

import type { PortolanError } from "../errors/index.ts";
import type { LaunchPlan } from "../launch/index.ts";
import type { JsonObject, Limits, LogLevel, LogMessage } from "../model/index.ts";
import type { Call, Description, Upstream } from "../upstream/index.ts";
import { discreetLog } from "./discreet.ts";
import { type EventBus, toLaunchEvent } from "./events.ts";
import type { Faults } from "./faults.ts";
import type { ListName } from "./inventory.ts";
import { type LeaseOptions, leaseServer } from "./lease-server.ts";
import { Placement, type PlacementOptions } from "./placement.ts";
import type { Heard, Lease } from "./pool.ts";

const LISTS = ["tools", "prompts", "resources"] as const;

export interface ProcessesOptions extends LeaseOptions {
  readonly limits: Limits;
  readonly faults: Faults;
  readonly events: EventBus;
  readonly log: (alias: string, message: JsonObject) => void;
  readonly resourceUpdated: (alias: string, uri: string) => void;
  /** A list of the server has changed. */
  readonly outdated: (list: ListName) => void;
}

export class Processes {
  description: Description | undefined;
  /** How its program was started last. */
  plan: LaunchPlan | undefined;
  readonly #options: ProcessesOptions;
  readonly #alias: string;
  #main: Lease | undefined;
  #placement: Placement;
  #lister: Upstream | undefined;
  #logLevel: LogLevel | undefined;
  #deaf: () => void = () => {};
  #pastRestarts = 0;
  /** Of a process that others had before, and that are not ours to count. */
  #othersRestarts = 0;

  constructor(options: ProcessesOptions) {
    this.#options = options;
    this.#alias = options.declared.alias;
    this.#placement = new Placement(this.#placementOptions());
  }

  /** The shared one, while there is one. */
  get main(): Lease | undefined {
    return this.#main;
  }

  get restarts(): number {
    const now = this.#main?.upstream.stats().restarts ?? this.#othersRestarts;
    return this.#pastRestarts + now - this.#othersRestarts;
  }

  /** Where lists are read: at the connection that last reported a change of them. */
  get lister(): Upstream | undefined {
    return this.#lister ?? this.#main?.upstream;
  }

  subscribe(main: Upstream, uri: string): Promise<() => Promise<void>> {
    return this.#placement.subscribe(main, uri);
  }

  /** How many there are beside the shared one. */
  get lanes(): number {
    return this.#placement.count;
  }

  open(leave: AbortSignal): Promise<Lease> {
    return leaseServer(this.#options, this.#options.limits, leave, this.#heard);
  }

  /** This is the shared one from now on. */
  take(lease: Lease): void {
    const { upstream } = lease;
    this.#main = lease;
    this.#othersRestarts = upstream.stats().restarts;
    this.describe();
    this.#lister = undefined;
    for (const list of LISTS)
      upstream.on(`${list}Changed`, () => {
        this.#lister = undefined;
      });
    this.#deaf = upstream.on("log", this.#logged);
    if (this.#logLevel !== undefined) upstream.setLogLevel(this.#logLevel).catch(() => {});
  }

  /** There is none any more; whoever asks has to release it. */
  letGo(): Lease | undefined {
    const lease = this.#main;
    this.#pastRestarts = this.restarts;
    this.#othersRestarts = 0;
    this.#main = undefined;
    this.#deaf();
    return lease;
  }

  /** What a server says about itself may repeat what it was given, and may be something else after a restart. */
  describe(): void {
    if (this.#main === undefined) return;
    this.description = this.#options.redactor.redactValue(this.#main.upstream.describe());
    this.#placement.describe(this.description);
  }

  request(main: Upstream, call: Call): Promise<JsonObject> {
    return this.#placement.request(main, call);
  }

  notify(method: string, params?: JsonObject): void {
    this.#main?.upstream.notify(method, params);
    this.#placement.notify(method, params);
  }

  async setLogLevel(level: LogLevel): Promise<void> {
    this.#logLevel = level;
    this.#placement.setLogLevel(level);
    await this.#main?.upstream.setLogLevel(level);
  }

  /** Takes the place of others of the same server, which go on when it does. */
  inherit(old: Processes, goesOn: boolean): void {
    this.#pastRestarts = old.restarts;
    this.#logLevel = old.#logLevel;
    if (!goesOn) return;
    this.#placement = old.#placement;
    this.#placement.configure(this.#placementOptions());
    old.#placement = new Placement(old.#placementOptions());
  }

  /** Calls that wait for a lane hear the reason. */
  closeLanes(reason: PortolanError): Promise<void> {
    return this.#placement.close(reason);
  }

  #placementOptions(): PlacementOptions {
    const { declared, limits, report } = this.#options;
    return {
      alias: this.#alias,
      declared,
      timeoutMs: limits.requestTimeoutMs,
      report,
      main: () => this.#main?.upstream,
      open: (signal, caller) =>
        leaseServer(this.#options, limits, signal, this.#heard, { dedicatedTo: caller }),
      opened: (other) => {
        other.on("log", this.#logged);
        if (this.#logLevel !== undefined) other.setLogLevel(this.#logLevel).catch(() => {});
      },
      sessionOpened: (other) => this.#listenTo(other),
    };
  }

  /** A server reports what a call changed on the session of that call. */
  #listenTo(other: Upstream): void {
    const { outdated, redactor, resourceUpdated } = this.#options;
    for (const list of LISTS)
      other.on(`${list}Changed`, () => {
        this.#lister = other;
        outdated(list);
      });
    other.on("resourceUpdated", (uri) => resourceUpdated(this.#alias, redactor.redactText(uri)));
    other.on("stateChanged", (state) => {
      if (this.#lister !== other || (state !== "closed" && state !== "failed")) return;
      this.#lister = undefined;
      for (const list of LISTS) outdated(list);
    });
  }

  readonly #heard: Heard = {
    stderr: (text) => this.#options.faults.wrote(text),
    launch: (news) => {
      if (news.type === "planned") this.plan = news.plan;
      const event = toLaunchEvent(this.#alias, news, this.#options.redactor);
      if (event !== undefined) this.#options.events.emit(event);
    },
  };

  readonly #logged = (message: LogMessage): void =>
    this.#options.log(this.#alias, discreetLog(message, this.#options.redactor, this.#alias));
}
