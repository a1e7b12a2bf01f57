// The difference of two texts, line by line: removed lines with -, added ones with +, and a line around them.

import type { Colors } from "../terminal/colors.ts";
import { plainText } from "../terminal/safe-text.ts";

const MAX_LINES = 2_000;
const CONTEXT = 1;

export interface DiffLine {
  readonly sign: " " | "-" | "+";
  readonly text: string;
}

/** The lines that differ, with one line of context. Texts that are too long are one removal and one addition. */
export function diffLines(before: string, after: string): DiffLine[] {
  const [old, now] = [linesOf(before), linesOf(after)];
  let start = 0;
  while (start < Math.min(old.length, now.length) && old[start] === now[start]) start += 1;
  let end = 0;
  while (end < Math.min(old.length, now.length) - start && old.at(-1 - end) === now.at(-1 - end)) end += 1;
  const [removed, added] = [old.slice(start, old.length - end), now.slice(start, now.length - end)];
  const middle =
    removed.length + added.length > MAX_LINES
      ? [...signed("-", removed), ...signed("+", added)]
      : common(removed, added);
  const whole = [...signed(" ", old.slice(0, start)), ...middle, ...signed(" ", old.slice(old.length - end))];
  const changed = whole.flatMap(({ sign }, index) => (sign === " " ? [] : [index]));
  const isNear = (index: number): boolean => changed.some((at) => Math.abs(at - index) <= CONTEXT);
  return changed.length > MAX_LINES ? middle : whole.filter((_, index) => isNear(index));
}

export function describeDiff(before: string, after: string, colors: Colors): string {
  const paint = { " ": colors.dim, "-": colors.red, "+": colors.green };
  return diffLines(before, after)
    .map(({ sign, text }) => paint[sign](`  ${sign} ${plainText(text).slice(0, 500)}`))
    .join("\n");
}

function linesOf(text: string): string[] {
  return text === "" ? [] : text.replace(/\n$/, "").split(/\r?\n/);
}

function signed(sign: DiffLine["sign"], lines: readonly string[]): DiffLine[] {
  return lines.map((text) => ({ sign, text }));
}

/** The longest common subsequence decides which lines stay. */
function common(removed: readonly string[], added: readonly string[]): DiffLine[] {
  const width = added.length + 1;
  const lengths = new Uint32Array((removed.length + 1) * width);
  const at = (i: number, j: number): number => lengths[i * width + j] ?? 0;
  for (let i = removed.length - 1; i >= 0; i -= 1)
    for (let j = added.length - 1; j >= 0; j -= 1)
      lengths[i * width + j] =
        removed[i] === added[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1));
  const lines: DiffLine[] = [];
  let [i, j] = [0, 0];
  while (i < removed.length || j < added.length) {
    if (i < removed.length && j < added.length && removed[i] === added[j]) {
      lines.push({ sign: " ", text: removed[i] ?? "" });
      i += 1;
      j += 1;
    } else if (j >= added.length || (i < removed.length && at(i + 1, j) >= at(i, j + 1))) {
      lines.push({ sign: "-", text: removed[i] ?? "" });
      i += 1;
    } else {
      lines.push({ sign: "+", text: added[j] ?? "" });
      j += 1;
    }
  }
  return lines;
}
