// Layout of text on a terminal: its width in columns, truncation, line wrapping, counts and sizes.

import type { Colors, Paint } from "./colors.ts";

const STYLE = /\u001b\[\d+m/g;
const ZERO = /^[\p{Mn}\p{Me}\u200b-\u200f]$/u;
const DOUBLE =
  /^[\p{Emoji_Presentation}\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\ua960-\ua97f\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{20000}-\u{3fffd}]$/u;
const LIST_MARK = /^\s*(?:[-*•]\s+|\d{1,3}[.)]\s+)?/;

/** The width of a text in columns, without our own colours. Where terminals differ, the larger width counts. */
export function displayWidth(text: string): number {
  const shown = text.replace(STYLE, "");
  if (/^[ -~]*$/.test(shown)) return shown.length;
  let width = 0;
  for (const character of shown) width += widthOf(character);
  return width;
}

/** Truncates a text to `width` columns, with an ellipsis. The text must not hold colours. */
export function cut(text: string, width: number): string {
  if (displayWidth(text) <= width) return text;
  let kept = "";
  let left = width - 1;
  for (const character of text) {
    left -= widthOf(character);
    if (left < 0) break;
    kept += character;
  }
  return `${kept.trimEnd()}…`;
}

/**
 * Wraps lines between words. A word that is too long stays whole, so that it can be copied.
 * Later lines are indented to the text after a list mark, plus `hang` columns. Without a width nothing changes.
 */
export function wrap(text: string, width: number | undefined, hang = 0): string {
  if (width === undefined) return text;
  return text
    .split("\n")
    .map((line) => (displayWidth(line) <= width ? line : wrapLine(line, width, hang)))
    .join("\n");
}

function wrapLine(line: string, width: number, hang: number): string {
  const lead = LIST_MARK.exec(line)?.[0] ?? "";
  const indent = " ".repeat(Math.min(displayWidth(lead) + hang, Math.floor(width / 2)));
  const lines: string[] = [];
  let current = lead;
  let empty = true;
  for (const word of line.slice(lead.length).split(/\s+/)) {
    if (!empty && displayWidth(current) + 1 + displayWidth(word) > width) {
      lines.push(current);
      current = indent;
      empty = true;
    }
    current += empty ? word : ` ${word}`;
    empty = false;
  }
  return [...lines, current].join("\n");
}

function widthOf(character: string): number {
  if (character === "\t") return 8;
  return ZERO.test(character) ? 0 : DOUBLE.test(character) ? 2 : 1;
}

export interface Row {
  readonly name: string;
  /** A row with an empty value is not shown. */
  readonly value: string;
  readonly paint?: Paint;
}

export function renderRows(
  rows: readonly Row[],
  { colors, width }: { readonly colors: Colors; readonly width: number | undefined },
): string {
  const shown = rows.filter(({ value }) => value !== "");
  const column = Math.max(...shown.map(({ name }) => displayWidth(name))) + 2;
  return shown
    .map(({ name, value, paint = (same) => same }) => {
      const wrapped = wrap(value, width === undefined ? undefined : width - column);
      const text = wrapped.replaceAll("\n", `\n${" ".repeat(column)}`);
      return `${colors.dim(name.padEnd(column))}${paint(text)}`;
    })
    .join("\n");
}

const MEGABYTE = 1_000_000;

/** `1 tool`, `2 tools` */
export function count(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? "" : "s"}`;
}

/** `15 minutes`, `1 hour`, `90 seconds`: the largest unit without a rest. */
export function formatDuration(ms: number): string {
  const units = [
    ["hour", 3_600_000],
    ["minute", 60_000],
  ] as const;
  const [noun, size] = units.find((unit) => ms % unit[1] === 0) ?? ["second", 1_000];
  return count(ms / size, noun);
}

export function formatBytes(size: number): string {
  if (size < 1_000) return `${size} B`;
  if (size < MEGABYTE) return `${(size / 1_000).toFixed(1)} kB`;
  return `${(size / MEGABYTE).toFixed(1)} MB`;
}

/** `1.2 of 3.4 MB` */
export function formatDownload({ received, total }: { received: number; total?: number }): string {
  const shown = (received / MEGABYTE).toFixed(1);
  return total === undefined ? `${shown} MB` : `${shown} of ${(total / MEGABYTE).toFixed(1)} MB`;
}
