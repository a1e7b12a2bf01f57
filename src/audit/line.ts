// Lines of the audit log, and their groups. Each line is JSON with its number. The lines of one write are a group: the last of them
// ends with the hash of the group before it, and the hash of its own group.

import { createHash, hash } from "node:crypto";

/** The hash before the first group. */
export const GENESIS = "A".repeat(43);

const GROUP_END = /,"prev":"([\w-]{43})","h":"([\w-]{43})"\}$/;
const NUMBER = /^\{"n":([1-9]\d{0,15}),.*\}$/;

/** The last line of a group: its number, and the hash of the group. */
export interface Head {
  readonly n: number;
  readonly h: string;
}

export const START: Head = { n: 0, h: GENESIS };

/** An entry before it gets its number. */
export type Entry = { readonly type: string; readonly time: string } & Readonly<Record<string, unknown>>;

/** A line is never longer, so that every line can be verified, also one with texts that a caller chose. */
export const MAX_LINE_BYTES: number = 64 * 1024;
/** The lines of a group are not longer together, unless the group has one line only. */
export const MAX_GROUP_BYTES: number = 256 * 1024;
const MAX_CUT_CHARS = 1_000;
/** The longest UTF-8 form of one UTF-16 unit. */
const MAX_CHAR_BYTES = 3;
/** Number, hashes and their names. */
const FRAME_BYTES = 200;
/** What the end of a group takes in addition to its lines. */
export const GROUP_END_BYTES: number = groupEnd(START, GENESIS).length - "}\n".length;

/** The line of an entry. `text` is the JSON of the entry. */
export function entryLine(text: string, n: number): string {
  return `{"n":${n},${text.slice(1)}\n`;
}

/** Takes the place of the last brace and line feed of a group. */
function groupEnd(previous: Head, h: string): string {
  return `${previousHash(previous)},"h":"${h}"}\n`;
}

/** The end of a group as far as the hash of the group covers it. */
function previousHash({ h }: Head): string {
  return `,"prev":"${h}"`;
}

/** Makes a group of whole lines. Returns its bytes and its hash. */
export function groupLines(lines: Buffer, previous: Head): { readonly bytes: Buffer; readonly h: string } {
  const start = lines.length - "}\n".length;
  const bytes = Buffer.allocUnsafe(lines.length + GROUP_END_BYTES);
  lines.copy(bytes, 0, 0, start);
  const covered = start + bytes.write(previousHash(previous), start, "latin1");
  const h = hash("sha256", bytes.subarray(0, covered), "base64url");
  bytes.write(groupEnd(previous, h), start, "latin1");
  return { bytes, h };
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

/** The number of a line; undefined if it is no complete line. `line` is without its line feed. */
export function lineNumber(line: string): number | undefined {
  const [, n] = NUMBER.exec(line) ?? [];
  return n === undefined ? undefined : Number(n);
}

/** The end of a group that was read. */
export interface CheckedGroup {
  /** As the group names it: if it was changed, this is not the hash of its bytes. */
  readonly h: string;
  /** The hash of the group before it. */
  readonly prev: string;
  readonly isUnchanged: boolean;
}

/** Computes the hashes of groups, line by line. */
export class GroupReader {
  #hash = createHash("sha256");

  /**
   * `line` is without its line feed, one character for each byte, so that every changed byte shows. Returns the group if the line
   * is its last one.
   */
  add(line: string): CheckedGroup | undefined {
    const [end, prev, h] = GROUP_END.exec(line) ?? [];
    if (end === undefined || prev === undefined || h === undefined) {
      this.#hash.update(`${line}\n`, "latin1");
      return undefined;
    }
    const covered = line.slice(0, -end.length) + previousHash({ n: 0, h: prev });
    const found = this.#hash.update(covered, "latin1").digest("base64url");
    this.#hash = createHash("sha256");
    return { h, prev, isUnchanged: found === h };
  }
}

/** True for the last line of a group. */
export function endsGroup(line: string): boolean {
  return GROUP_END.test(line);
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
