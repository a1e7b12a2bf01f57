// Live feed of the console: events and states for all open pages, collected and sent ten times a second as server-sent events.

import type { GatewayFacts } from "../control/index.ts";
import { EventWriter, type HttpResponse } from "../gateway/index.ts";
import { type HubEvent, type OpenedWorkspace, readHealth } from "../hub/index.ts";
import { measureMemory } from "../process/index.ts";
import { type CallRecord, workMs } from "../telemetry/index.ts";
import type { CallSeries } from "./series.ts";

const FLUSH_MS = 100;
const SAMPLE_MS = 2_000;
/** Memory is measured with one of this many samples, because that reads the state of every process of the machine. */
const SAMPLES_PER_MEASUREMENT = 5;
const MAX_RECENT = 500;
const MAX_CALLS = 300;
/** More events than this in one message are dropped, and counted. */
const MAX_BATCH = 500;
/** Most calls in one message. A busier gateway shows a part of its calls, because nobody reads as fast, and counts all. */
const MAX_SHOWN_CALLS = 50;
/** Most calls in the message after a full one: what is shown is a sample then, and each shown call costs time. */
const MAX_SAMPLED_CALLS = 10;
const MAX_PAGES = 50;
/** Calls are still counted for a while after the last page was closed, because it may be opened again. */
const LINGER_MS = 60_000;
/** Without a page, calls are kept for the next one, up to this many in a second; a busy gateway pauses, because observing costs time. */
const UNWATCHED_CALLS = 20;
const PAUSE_MS = 5_000;

export interface LiveFeedOptions {
  readonly workspace: OpenedWorkspace;
  readonly facts: () => GatewayFacts;
  readonly series: CallSeries;
}

/** An event with the number by which a page that reconnects asks for later ones. */
interface Numbered {
  readonly n: number;
  readonly event: HubEvent;
}

export class LiveFeed {
  readonly #options: LiveFeedOptions;
  readonly #pages = new Set<EventWriter>();
  readonly #recent: Numbered[] = [];
  #waiting: Numbered[] = [];
  /** Records of calls, the oldest first. */
  readonly #calls: CallRecord[] = [];
  #newCalls: CallRecord[] = [];
  #maxNewCalls = MAX_SHOWN_CALLS;
  #dropped = 0;
  /** Numbers begin at the start time, so that those of an earlier gateway are lower. */
  #number = Date.now();
  #statesChanged = false;
  #listsChanged = false;
  /** Set while all calls are counted. */
  #offCounted: (() => void) | undefined;
  /** Set while calls are shown. */
  #offShown: (() => void) | undefined;
  #offDrivers: (() => void) | undefined;
  /** The calls of one second without a page. */
  #unwatched = { since: 0, calls: 0 };
  #pause: NodeJS.Timeout | undefined;
  readonly #offEvents: () => void;
  #timers: NodeJS.Timeout[] = [];
  #samples = 0;
  /** The memory of processes, by process group. */
  #memory: ReadonlyMap<number, number> = new Map();
  #lingering: NodeJS.Timeout | undefined;

  constructor(options: LiveFeedOptions) {
    this.#options = options;
    this.#offEvents = options.workspace.events.on((event) => this.#add(event), { calls: false });
    this.#showCalls();
  }

  get recent(): readonly HubEvent[] {
    return this.#recent.map(({ event }) => event);
  }

  /** Sends the present state to a page, then every change. */
  open(response: HttpResponse, lastEventId: string | undefined): void {
    if (this.#pages.size >= MAX_PAGES) return void response.destroy();
    // Sends the waiting events to the other pages: the new page gets them with the present state.
    this.#flush();
    const page = new EventWriter(response, { "x-content-type-options": "nosniff" });
    this.#pages.add(page);
    response.on("close", () => this.#closed(page));
    const after = Number(lastEventId ?? 0);
    const missed = this.#recent.filter(({ n }) => n > after).map(({ event }) => event);
    page.event(JSON.stringify(this.#options.facts()), undefined, "hello");
    page.event(this.#states(), undefined, "servers");
    page.event(JSON.stringify({ events: missed, dropped: 0 }), String(this.#number), "events");
    page.event(JSON.stringify(this.#calls), undefined, "history");
    this.#watch();
  }

  close(): void {
    this.#offEvents();
    this.#rest();
    this.#hideCalls();
    for (const page of this.#pages) page.end();
  }

  #closed(page: EventWriter): void {
    this.#pages.delete(page);
    if (this.#pages.size > 0) return;
    for (const timer of this.#timers.splice(0)) clearInterval(timer);
    this.#newCalls = [];
    this.#showCalls();
    this.#lingering = setTimeout(() => this.#rest(), LINGER_MS).unref();
  }

  /** Every call is measured only while somebody looks. */
  #watch(): void {
    clearTimeout(this.#lingering);
    const { workspace } = this.#options;
    this.#offCounted ??= workspace.calls.add({ ended: (record) => this.#count(record) });
    this.#showCalls();
    // Only contracts have events about single calls that the records do not contain.
    if (workspace.hub.members.some(({ config }) => config.endpoint.transport === "contracts"))
      this.#offDrivers ??= workspace.events.on((event) => {
        if (event.type.startsWith("driver.")) this.#add(event);
      });
    if (this.#timers.length === 0)
      this.#timers = [
        setInterval(() => this.#flush(), FLUSH_MS).unref(),
        setInterval(() => this.#sample(), SAMPLE_MS).unref(),
      ];
  }

  #rest(): void {
    for (const timer of this.#timers.splice(0)) clearInterval(timer);
    clearTimeout(this.#lingering);
    this.#offCounted?.();
    this.#offCounted = undefined;
    this.#offDrivers?.();
    this.#offDrivers = undefined;
  }

  /** A part of the calls would be a wrong number, so they are counted only while every call is. */
  #count(record: CallRecord): void {
    const { method, server, tool = "", outcome } = record;
    if (method !== "tools/call" || server === undefined) return;
    this.#options.series.count({ server, tool, failed: FAILED.has(outcome), durationMs: workMs(record) });
  }

  #showCalls(): void {
    clearTimeout(this.#pause);
    this.#offShown ??= this.#options.workspace.calls.add({
      needs: { phases: true },
      ended: (record) => this.#show(record),
    });
  }

  #hideCalls(): void {
    clearTimeout(this.#pause);
    this.#offShown?.();
    this.#offShown = undefined;
  }

  #show(record: CallRecord): void {
    if (this.#offCounted === undefined) this.#limitUnwatched();
    if (!SHOWN.has(record.method)) return;
    this.#calls.push(record);
    if (this.#calls.length > MAX_CALLS) this.#calls.shift();
    if (this.#pages.size === 0) return;
    this.#newCalls.push(record);
    // Until the next message.
    if (this.#newCalls.length >= this.#maxNewCalls) this.#hideCalls();
  }

  #limitUnwatched(): void {
    const now = performance.now();
    if (now - this.#unwatched.since > 1_000) this.#unwatched = { since: now, calls: 0 };
    this.#unwatched.calls += 1;
    if (this.#unwatched.calls < UNWATCHED_CALLS) return;
    this.#hideCalls();
    this.#pause = setTimeout(() => this.#showCalls(), PAUSE_MS).unref();
  }

  #add(event: HubEvent): void {
    const numbered = { n: (this.#number += 1), event };
    this.#recent.push(numbered);
    if (this.#recent.length > MAX_RECENT) this.#recent.shift();
    if (!isCall(event)) this.#statesChanged = true;
    if (LIST_EVENTS.has(event.type) || event.type.startsWith("gateway.approval")) this.#listsChanged = true;
    if (this.#pages.size === 0) return;
    if (this.#waiting.length < MAX_BATCH) this.#waiting.push(numbered);
    else this.#dropped += 1;
  }

  #flush(): void {
    if (this.#statesChanged) {
      this.#statesChanged = false;
      this.#send("servers", this.#states());
    }
    if (this.#listsChanged) {
      this.#listsChanged = false;
      this.#send("lists", "{}");
    }
    if (this.#newCalls.length > 0) {
      this.#send("calls", JSON.stringify(this.#newCalls));
      this.#maxNewCalls = this.#newCalls.length < this.#maxNewCalls ? MAX_SHOWN_CALLS : MAX_SAMPLED_CALLS;
      this.#newCalls = [];
      this.#showCalls();
    }
    if (this.#waiting.length === 0) return;
    const events = this.#waiting.map(({ event }) => event);
    const last = this.#waiting.at(-1)?.n ?? this.#number;
    this.#waiting = [];
    this.#send("events", JSON.stringify({ events, dropped: this.#dropped }), String(last));
    this.#dropped = 0;
  }

  #sample(): void {
    const { series, workspace } = this.#options;
    const hasNew = workspace.hub.members.some(({ processes }) => hasOther(processes.groups, this.#memory));
    if (hasNew || this.#samples % SAMPLES_PER_MEASUREMENT === 0) this.#measureMemory();
    this.#samples += 1;
    const memory = this.#memory;
    const servers = workspace.hub.members.map((member) => {
      const last = series.points(member.alias).at(-1);
      const isNew = last !== undefined && last.time > Date.now() - 2 * SAMPLE_MS - 10_000;
      return {
        alias: member.alias,
        latencyMs: member.latencyMs,
        p50: isNew ? last.p50 : undefined,
        memory: sumOf(member.processes.groups, memory),
        processes: [...member.processes.groups].flatMap((pid) => {
          const bytes = memory.get(pid);
          return bytes === undefined ? [] : [{ pid, memory: bytes }];
        }),
        inFlight: member.processes.main.stats().inFlight,
      };
    });
    const gateway = { memory: process.memoryUsage.rss() };
    this.#send("sample", JSON.stringify({ time: Date.now(), gateway, servers }));
  }

  #measureMemory(): void {
    const groups = this.#options.workspace.hub.members.map(({ processes }) => processes.groups);
    const measured = new Set(groups.flatMap((ids) => [...ids]));
    this.#memory = measureMemory(measured);
    // Processes that have ended are forgotten, but not those that were started meanwhile.
    for (const ids of groups) for (const id of measured) if (!this.#memory.has(id)) ids.delete(id);
  }

  #states(): string {
    return JSON.stringify(readHealth(this.#options.workspace.hub.members));
  }

  #send(name: string, text: string, id?: string): void {
    for (const page of this.#pages) page.event(text, id, name);
  }
}

const FAILED: ReadonlySet<string> = new Set(["error", "tool_error"]);
/** Lists and handshakes would hide the calls. */
const SHOWN: ReadonlySet<string> = new Set(["tools/call", "prompts/get", "resources/read"]);

/** True if one of the process groups was not measured. */
function hasOther(ids: ReadonlySet<number>, memory: ReadonlyMap<number, number>): boolean {
  return [...ids].some((id) => !memory.has(id));
}

function sumOf(ids: ReadonlySet<number>, memory: ReadonlyMap<number, number>): number | undefined {
  const known = [...ids].flatMap((id) => memory.get(id) ?? []);
  return known.length === 0 ? undefined : known.reduce((sum, bytes) => sum + bytes, 0);
}

const LIST_EVENTS: ReadonlySet<string> = new Set([
  "mcp.config_reloaded",
  "mcp.pins_compared",
  "mcp.server_failed",
  "mcp.server_ready",
  "mcp.server_replacement_failed",
  "mcp.server_restarted",
  "mcp.server_stopped",
  "mcp.tools_changed",
]);

function isCall({ type }: HubEvent): boolean {
  return type.startsWith("mcp.tool_") || type.startsWith("driver.") || type.startsWith("secret.");
}
