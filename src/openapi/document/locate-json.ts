// Finds the positions of values in a JSON text: one pass that visits only the wanted paths, so that a large file needs no tree.

import type { Path } from "../types.ts";

interface Wanted {
  readonly below: Map<string, Wanted>;
  /** Positions in the list of paths. */
  readonly asked: number[];
}

/** The offset of the key or item at each path, or of the nearest thing around it that is there. The text is valid JSON. */
export function findInJson(text: string, paths: readonly Path[]): number[] {
  const offsets = paths.map(() => 0);
  const root: Wanted = { below: new Map(), asked: [] };
  paths.forEach((path, index) => want(root, path, index));

  const settle = (wanted: Wanted, offset: number): void => {
    for (const index of wanted.asked) offsets[index] = offset;
    for (const below of wanted.below.values()) settle(below, offset);
  };

  /** Visits the value at `start` and returns the offset after it. */
  const visit = (start: number, wanted: Wanted): number => {
    const open = text[start];
    if (wanted.below.size === 0 || (open !== "{" && open !== "[")) return skipValue(text, start);
    let at = skipSpace(text, start + 1);
    for (let index = 0; at < text.length && text[at] !== "}" && text[at] !== "]"; index += 1) {
      const entry = at;
      let key = String(index);
      if (open === "{") {
        const end = skipString(text, at);
        key = String(JSON.parse(text.slice(at, end)));
        at = skipSpace(text, skipSpace(text, end) + 1);
      }
      const below = wanted.below.get(key);
      if (below === undefined) at = skipValue(text, at);
      else {
        settle(below, entry);
        at = visit(at, below);
      }
      at = skipSpace(text, at);
      if (text[at] === ",") at = skipSpace(text, at + 1);
    }
    return at + 1;
  };

  const start = skipSpace(text, 0);
  settle(root, start);
  visit(start, root);
  return offsets;
}

function want(root: Wanted, path: Path, index: number): void {
  let wanted = root;
  for (const step of path) {
    const key = String(step);
    const below: Wanted = wanted.below.get(key) ?? { below: new Map(), asked: [] };
    wanted.below.set(key, below);
    wanted = below;
  }
  wanted.asked.push(index);
}

function skipValue(text: string, start: number): number {
  let depth = 0;
  let at = start;
  while (at < text.length) {
    const char = text[at];
    if (char === '"') {
      at = skipString(text, at);
      if (depth === 0) return at;
      continue;
    }
    if (char === "{" || char === "[") depth += 1;
    else if (char === "}" || char === "]") {
      depth -= 1;
      if (depth <= 0) return depth === 0 ? at + 1 : at;
    } else if (char === "," && depth === 0) return at;
    at += 1;
  }
  return at;
}

function skipString(text: string, start: number): number {
  let at = start + 1;
  while (at < text.length && text[at] !== '"') at += text[at] === "\\" ? 2 : 1;
  return at + 1;
}

function skipSpace(text: string, start: number): number {
  let at = start;
  while (at < text.length && " \t\r\n".includes(text[at] ?? "x")) at += 1;
  return at;
}
