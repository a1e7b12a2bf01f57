// Foreign values and names in words: short, quoted, without anything that a terminal or a reader could trip over.

const LONGEST_VALUE = 60;
const LONGEST_LIST = 8;
/** Control characters beyond ASCII, and those that turn the direction of text or break lines: JSON leaves them as they are. */
// oxlint-disable-next-line no-control-regex
const UNSEEN = /[\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g;

/** `string "x"`, `number 5`, `array`: what a value is, with as much of it as helps. */
export function describe(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "array";
  if (typeof value === "object") return "object";
  return `${typeof value} ${quote(value)}`;
}

/** A value as JSON, cut to a bounded length. */
export function quote(value: unknown): string {
  if (typeof value === "string") {
    const cut = value.length > LONGEST_VALUE;
    const text = JSON.stringify(cut ? value.slice(0, LONGEST_VALUE) : value).replace(UNSEEN, escapeUnit);
    return cut || text.length > LONGEST_VALUE + 20 ? `${text.slice(0, LONGEST_VALUE)}…"` : text;
  }
  if (Array.isArray(value)) return value.length === 0 ? "[]" : "[…]";
  if (typeof value === "object" && value !== null) return Object.keys(value).length === 0 ? "{}" : "{…}";
  return String(value);
}

/** `"a", "b" or "c"`; a long list ends in how many more there are. */
export function alternatives(items: readonly string[]): string {
  if (items.length > LONGEST_LIST)
    return `${items.slice(0, LONGEST_LIST).join(", ")} or ${items.length - LONGEST_LIST} more`;
  return items.length < 2 ? (items[0] ?? "") : `${items.slice(0, -1).join(", ")} or ${items.at(-1) ?? ""}`;
}

/** Foreign text, such as an engine's message, on one bounded line. */
export function clip(text: string, length = 160): string {
  const line = (text.slice(0, length * 4).split("\n", 1)[0] ?? "").replace(UNSEEN, escapeUnit);
  return line.length > length ? `${line.slice(0, length - 1)}…` : line;
}

/** The name that was most likely meant, or undefined when none is close. */
export function nearest(name: string, candidates: readonly string[]): string | undefined {
  if (name.length > 64) return undefined;
  const plain = fold(name);
  let [best, least]: [string | undefined, number] = [undefined, Math.max(1, Math.floor(name.length / 3)) + 1];
  for (const candidate of candidates) {
    if (Math.abs(candidate.length - name.length) > 4 || candidate.length > 64) continue;
    const distance = fold(candidate) === plain ? 0.5 : editDistance(name, candidate);
    if (distance < least) [best, least] = [candidate, distance];
  }
  return best;
}

/** So that filePath, file_path and FILE-PATH are the same name. */
function fold(name: string): string {
  return name.replaceAll(/[-_.\s]/g, "").toLowerCase();
}

/** Letters to change, add, leave out or swap with their neighbour. */
function editDistance(a: string, b: string): number {
  let [before, row] = [[] as number[], Array.from({ length: b.length + 1 }, (_, index) => index)];
  for (let i = 1; i <= a.length; i += 1) {
    const next = [i];
    for (let j = 1; j <= b.length; j += 1) {
      const change = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      const swapped = a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      const swap = i > 1 && j > 1 && swapped ? (before[j - 2] ?? 0) + 1 : change;
      next.push(Math.min(change, swap, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    [before, row] = [row, next];
  }
  return row[b.length] ?? 0;
}

function escapeUnit(unit: string): string {
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;
}
