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

/** With its line feed. */
export function writeLine(
  entry: Entry,
  { n, h: prev }: Head,
): { readonly line: string; readonly head: Head } {
  const body = `{"n":${n + 1},"prev":"${prev}",${JSON.stringify(entry).slice(1)}`;
  const h = hash("sha256", body, "base64url");
  return { line: `${body.slice(0, -1)},"h":"${h}"}\n`, head: { n: n + 1, h } };
}

export type CheckedLine =
  | { readonly ok: true; readonly head: Head; readonly prev: string }
  | { readonly ok: false; readonly reason: string };

/** `line` is without its line feed, one character for each byte, so that every changed byte shows. */
export function checkLine(line: string): CheckedLine {
  const [end, h] = END.exec(line) ?? [];
  const [, n, prev] = HEAD.exec(line) ?? [];
  if (end === undefined || h === undefined || n === undefined || prev === undefined)
    return { ok: false, reason: "it is not a line of an audit log" };
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
