// The JSON text of the entry of one call. Calls of one tool by one caller differ only in a few fields, so the text of the others is
// made once: writing all fields as JSON takes three times as long as the rest of a call's line.

import type { CallRecord } from "../telemetry/index.ts";
import { boundedText, entryText } from "./line.ts";

/** A text that comes from a client, without secrets, and at most this long. */
const MAX_TEXT = 500;
/** Tools, prompts and resources whose texts are kept. Clients could name any number of them. */
const MAX_KEPT = 1_000;

/** Removes secrets from a text. */
export type Redact = (text: string) => string;

/** The fields that calls of one tool by one caller share, and their text. */
interface Kept {
  readonly target: string | undefined;
  readonly client: string | undefined;
  readonly tool: string | undefined;
  readonly record: CallRecord;
  readonly route: string;
  readonly ending: string;
}

export class CallEntries {
  readonly #redact: Redact;
  readonly #byTarget = new Map<string, Kept>();

  constructor(redact: Redact) {
    this.#redact = redact;
  }

  textOf(record: CallRecord, digest: string | undefined): string {
    const { time, id, durationMs, waitedMs, trace } = record;
    const { route, ending } = this.#kept(record);
    const digested = digest === undefined ? "" : `"digest":"${digest}",`;
    const waited = waitedMs === undefined ? "" : `,"waitedMs":${round(waitedMs)}`;
    const traced = trace === undefined ? "" : `,"trace":${JSON.stringify(trace.traceId)}`;
    const text = `{"type":"call","time":"${time}","id":"${id}",${route},${digested}${ending},"durationMs":${round(durationMs)}${waited}${traced}}`;
    return boundedText(text) ?? entryText(JSON.parse(text));
  }

  #kept(record: CallRecord): Kept {
    const target = clientText(record.target, this.#redact);
    const client = clientText(record.client?.name, this.#redact);
    const tool = clientText(record.tool, this.#redact);
    const key = target ?? "";
    const known = this.#byTarget.get(key);
    if (
      known !== undefined &&
      known.target === target &&
      known.client === client &&
      known.tool === tool &&
      isAlike(known.record, record)
    )
      return known;
    const { method, caller, server, driver, decision, outcome, code, rpcCode } = record;
    const kept = {
      ...{ target, client, tool, record },
      route: members({ method, target, caller, client, server, tool, driver }),
      ending: members({ decision, outcome, code, rpcCode }),
    };
    if (this.#byTarget.size >= MAX_KEPT) this.#byTarget.clear();
    this.#byTarget.set(key, kept);
    return kept;
  }
}

/** True if the other fields of the kept text are equal. Decisions of ordinary calls are one object. */
function isAlike(a: CallRecord, b: CallRecord): boolean {
  return (
    a.method === b.method &&
    a.caller === b.caller &&
    a.server === b.server &&
    a.driver === b.driver &&
    a.decision === b.decision &&
    a.outcome === b.outcome &&
    a.code === b.code &&
    a.rpcCode === b.rpcCode
  );
}

/** The JSON of an object without its braces. */
function members(fields: Readonly<Record<string, unknown>>): string {
  return JSON.stringify(fields).slice(1, -1);
}

export function clientText(text: string | undefined, redact: Redact): string | undefined {
  // Redacted before it is cut: the first half of a secret would stay.
  return typeof text === "string" ? redact(text).slice(0, MAX_TEXT) : undefined;
}

/** To microseconds. */
function round(ms: number): number {
  return Math.round(ms * 1_000) / 1_000;
}
