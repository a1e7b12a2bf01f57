// Lines of the audit log: JSON with its number, the hash of the line before it, and its own hash at the end.

import { hash } from "node:crypto";

/** The hash before the first line. */
export const GENESIS = "A".repeat(43);

const END = /,"h":"([\w-]{43})"\}$/;
const HEAD = /^\{"n":([1-9]\d{0,15}),"prev":"([\w-]{43})",/;

/** The last line of a chain, by number and hash. */
export interface Head {
  readonly n: number;
  readonly h: string;
}

export const START: Head = { n: 0, h: GENESIS };

/** An entry before it gets its number and hashes. */
export type Entry = { readonly type: string; readonly time: string } & Readonly<Record<string, unknown>>;

/** A line is never longer, so that every line can be verified, also one with texts that a caller chose. */
export const MAX_LINE_BYTES: number = 64 * 1024;
const MAX_CUT_CHARS = 1_000;
/** The longest UTF-8 form of one UTF-16 unit. */
const MAX_CHAR_BYTES = 3;
/** Number, hashes and their names. */
const FRAME_BYTES = 200;

/** The line of an entry without its own hash, which is the hash of this text. `text` is the JSON of the entry. */
export function lineBody(text: string, { n, h: prev }: Head): string {
  return `{"n":${n + 1},"prev":"${prev}",${text.slice(1)}`;
}

/** The end of a line: takes the place of the last brace of its body. */
export function lineEnd(h: string): string {
  return `,"h":"${h}"}\n`;
}

/** The JSON of an entry. An entry that is too long has its long values cut, and says so with `cut`. */
export function entryText(entry: Entry): string {
  const text = boundedText(JSON.stringify(entry));
  if (text !== undefined) return text;
  const { type, time, ...others } = entry;
  const cut = Object.entries(others).map(([name, value]) => [name, cutValue(value)] as const);
  const shorter = JSON.stringify({ type, time, ...Object.fromEntries(cut), cut: true });
  return boundedText(shorter) ?? JSON.stringify({ type, time, cut: true });
}

/** Undefined if the text is too long for a line. */
export function boundedText(text: string): string | undefined {
  const max = MAX_LINE_BYTES - FRAME_BYTES;
  return text.length * MAX_CHAR_BYTES <= max || Buffer.byteLength(text) <= max ? text : undefined;
}

function cutValue(value: unknown): unknown {
  if (typeof value === "string") return value.slice(0, MAX_CUT_CHARS);
  const text = JSON.stringify(value);
  return text === undefined || text.length <= MAX_CUT_CHARS ? value : text.slice(0, MAX_CUT_CHARS);
}

export type CheckedLine =
  | { readonly ok: true; readonly head: Head; readonly prev: string }
  | { readonly ok: false; readonly reason: string };

/** `line` is without its line feed, one character for each byte, so that every changed byte shows. */
export function checkLine(line: string): CheckedLine {
  const [end, h] = END.exec(line) ?? [];
  const [, n, prev] = HEAD.exec(line) ?? [];
  if (end === undefined || h === undefined || n === undefined || prev === undefined)
    return { ok: false, reason: "it is not a complete record of an audit log" };
  const body = `${line.slice(0, -end.length)}}`;
  if (hash("sha256", Buffer.from(body, "latin1"), "base64url") !== h)
    return { ok: false, reason: "it was changed: its hash does not match" };
  return { ok: true, head: { n: Number(n), h }, prev };
}

/** The fields of a line, or undefined if it is not JSON. `line` has one character for each byte. */
export function parseLine(line: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(Buffer.from(line, "latin1").toString("utf8"));
    return typeof value === "object" && value !== null && !Array.isArray(value)
      ? (value as Readonly<Record<string, unknown>>)
      : undefined;
  } catch {
    return undefined;
  }
}
