// Live state: the gateway's event stream as signals. It reconnects by itself, also after a restart of the gateway.

import { batch, signal } from "@preact/signals";
import { call, isSignedIn } from "../api.ts";
import type { CallRecord, GatewayFacts, HubEvent, SeriesPoint, ServerHealth, ToolSummary } from "../types.ts";
import type { MemorySample, Point } from "./memory-lines.ts";

export type Connection = "connecting" | "open" | "lost";

export const connection = signal<Connection>("connecting");
export const facts = signal<GatewayFacts | undefined>(undefined);
export const servers = signal<readonly ServerHealth[] | undefined>(undefined);
/** The newest first. */
export const events = signal<readonly LiveEvent[]>([]);
/** The newest first. */
export const calls = signal<readonly CallRecord[]>([]);
/** Grows when lists of tools, prompts or resources may have changed. */
export const listVersion = signal(0);
/** Grows when a call begins or ceases to wait for approval. */
export const approvalVersion = signal(0);
export const samples = signal<ReadonlyMap<string, readonly Sample[]>>(new Map());
/** The memory of the gateway itself, by time. */
export const gatewayMemory = signal<readonly Point[]>([]);
/** True when the gateway was replaced by another version than the page's. */
export const isOutdated = signal(false);

export type LiveEvent = HubEvent & { readonly key: number };

export interface Sample extends MemorySample {
  readonly latencyMs?: number;
  readonly inFlight: number;
}

export interface Series {
  readonly points: readonly SeriesPoint[];
  readonly tools: readonly ToolSummary[];
}

const MAX_EVENTS = 1_000;
const MAX_CALLS = 500;
const MAX_SAMPLES = 90;
const SHOW_MS = 500;
const RETRY_MS = 1_500;

let source: EventSource | undefined;
let key = 0;

export function connect(): void {
  disconnect();
  const stream = new EventSource("/console/api/stream");
  source = stream;
  stream.addEventListener("open", () => (connection.value = "open"));
  stream.addEventListener("error", () => {
    connection.value = "lost";
    // A refused request ends the stream for good; a lost connection is renewed by the browser.
    if (stream.readyState === EventSource.CLOSED) void retry(stream);
  });
  on(stream, "hello", (value: GatewayFacts) => {
    isOutdated.value = facts.value !== undefined && facts.value.version !== value.version;
    facts.value = value;
    connection.value = "open";
    listVersion.value += 1;
    approvalVersion.value += 1;
  });
  on(stream, "servers", (value: ServerHealth[]) => (servers.value = value));
  on(stream, "lists", () => (listVersion.value += 1));
  on(stream, "events", (value: { events: HubEvent[] }) => addEvents(value.events));
  on(stream, "history", (value: CallRecord[]) => (calls.value = value.toReversed()));
  on(stream, "calls", (value: CallRecord[]) => {
    newCalls = [...value.toReversed(), ...newCalls].slice(0, MAX_CALLS);
    show();
  });
  on(stream, "sample", addSample);
}

export function disconnect(): void {
  source?.close();
  source = undefined;
}

async function retry(stream: EventSource): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
  if (source !== stream) return;
  // The request tells whether the session has ended, which a stream cannot.
  await call("events").catch(() => {});
  if (isSignedIn.value) connect();
}

function on(stream: EventSource, name: string, listener: (value: never) => void): void {
  stream.addEventListener(name, (event) =>
    batch(() => listener(JSON.parse((event as MessageEvent<string>).data) as never)),
  );
}

function addEvents(added: readonly HubEvent[]): void {
  if (added.length === 0) return;
  if (added.some(({ type }) => type.startsWith("gateway.approval_"))) approvalVersion.value += 1;
  const numbered: LiveEvent[] = added.map((event) => ({ ...event, key: (key += 1) })).toReversed();
  newEvents = [...numbered, ...newEvents].slice(0, MAX_EVENTS);
  show();
}

let newCalls: readonly CallRecord[] = [];
let newEvents: readonly LiveEvent[] = [];
let shownAt = 0;
let showing: ReturnType<typeof setTimeout> | undefined;

/** Shows what has arrived: at once, but at most twice a second, because nobody reads faster. */
function show(): void {
  showing ??= setTimeout(
    () => {
      showing = undefined;
      shownAt = performance.now();
      batch(() => {
        if (newCalls.length > 0) calls.value = [...newCalls, ...calls.value].slice(0, MAX_CALLS);
        if (newEvents.length > 0) events.value = [...newEvents, ...events.value].slice(0, MAX_EVENTS);
      });
      newCalls = [];
      newEvents = [];
    },
    Math.max(0, SHOW_MS - (performance.now() - shownAt)),
  );
}

interface SampleMessage {
  readonly time: number;
  readonly gateway: { readonly memory: number };
  readonly servers: readonly (Omit<Sample, "time"> & { readonly alias: string })[];
}

function addSample({ time, gateway, servers: measured }: SampleMessage): void {
  const next = new Map<string, readonly Sample[]>();
  for (const { alias, ...sample } of measured)
    next.set(alias, [...(samples.value.get(alias) ?? []), { time, ...sample }].slice(-MAX_SAMPLES));
  samples.value = next;
  gatewayMemory.value = [...gatewayMemory.value, [time, gateway.memory] as const].slice(-MAX_SAMPLES);
}
