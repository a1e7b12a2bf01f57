// Keys that have no place here: those that moved elsewhere, told with where to, and those that look like a slip of the pen.

import { didYouMean } from "../../errors/index.ts";
import { type ObjectNode, type Diagnostics, quoted, toLabel } from "../document/index.ts";

export interface Moved {
  readonly hint: string;
  /** Without it, the key is an error: what it says would be lost. */
  readonly severity?: "warning" | undefined;
}

/** Keys that people write on purpose, though they are near to others. */
const ORDINARY: ReadonlySet<string> = new Set([
  "spec",
  "title",
  "author",
  "authors",
  "license",
  "homepage",
  "repository",
]);

/** The node without such keys, each of them told. */
export function takeMoved(
  node: ObjectNode,
  moved: Readonly<Record<string, Moved>>,
  diagnostics: Diagnostics,
): ObjectNode {
  const kept = node.entries.filter((entry) => {
    const found = Object.hasOwn(moved, entry.key) ? moved[entry.key] : undefined;
    if (found === undefined) return true;
    const where = toLabel(node.path);
    diagnostics.add(
      entry,
      `${entry.key} has no place ${where === "" ? "here" : `in ${where}`}`,
      found.hint,
      found.severity ?? "error",
    );
    return false;
  });
  return kept.length === node.entries.length ? node : { ...node, entries: kept };
}

/** In an object that is open to other keys, one that is nearly a known one is probably meant as that. */
export function noteSlips(node: ObjectNode, known: readonly string[], diagnostics: Diagnostics): void {
  for (const entry of node.entries) {
    if (known.includes(entry.key) || ORDINARY.has(entry.key) || entry.key.startsWith("x-")) continue;
    if (diagnostics.list.length >= 100) return;
    const hint = didYouMean(entry.key, known);
    if (hint === undefined) continue;
    const where = toLabel(node.path);
    diagnostics.warn(
      entry,
      `the key ${quoted(entry.key)}${where === "" ? "" : ` in ${where}`} is not known and has no effect`,
      hint,
    );
  }
}
