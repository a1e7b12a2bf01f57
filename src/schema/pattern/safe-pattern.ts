// Decides whether a pattern may run on JavaScript's backtracking engine: only if its cost has a plain bound.

import { type CharSet, parsePattern, type PatternNode } from "./syntax-tree.ts";

/** Limit on the number of paths through a pattern without loops. */
const MOST_WAYS = 64;
/** Limit on the copies of counted repetition. It is lower if the engine retries at every character. */
const MOST_COPIES = 1000;
const MOST_COPIES_UNANCHORED = 50;

/**
 * Returns true if a match takes time linear in the text, for one of two reasons: the pattern has few paths and no loop,
 * or it is anchored and each next character allows one path only, so that there is nothing to backtrack into
 * (a strongly deterministic expression: star height alone would refuse `^a(-a+)*$` and miss `^(a|a)*$` and `^a*a*$`).
 * Returns false for everything else, including many harmless patterns.
 */
export function isSafePattern(source: string): boolean {
  const tree = parsePattern(source);
  if (tree === undefined) return false;
  const anchored = isAnchored(tree);
  if (copies(tree) > (anchored ? MOST_COPIES : MOST_COPIES_UNANCHORED)) return false;
  return ways(tree) <= MOST_WAYS || (anchored && isDeterministic(tree));
}

function isAnchored(node: PatternNode): boolean {
  if (node.kind === "assertion") return node.start;
  if (node.kind === "choice") return node.parts.every(isAnchored);
  return node.kind === "sequence" && node.parts[0] !== undefined && isAnchored(node.parts[0]);
}

function copies(node: PatternNode): number {
  if (node.kind === "sequence" || node.kind === "choice")
    return node.parts.reduce((sum, part) => Math.max(sum, copies(part)), 1);
  if (node.kind !== "repeat") return 1;
  return copies(node.part) * Math.max(1, Number.isFinite(node.max) ? node.max : node.min);
}

/** Returns the number of paths at one starting point; infinite with a loop. */
function ways(node: PatternNode): number {
  if (node.kind === "choice") return node.parts.reduce((sum, part) => sum + ways(part), 0);
  if (node.kind === "sequence") return node.parts.reduce((product, part) => product * ways(part), 1);
  if (node.kind !== "repeat") return 1;
  const once = ways(node.part);
  if (once === 1) return node.max - node.min + 1;
  let total = 0;
  for (let count = node.min; count <= node.max && total <= MOST_WAYS; count += 1) total += once ** count;
  return total;
}

/** First and last positions of a part, and whether it may be empty. */
interface Edges {
  readonly first: readonly number[];
  readonly last: readonly number[];
  readonly empty: boolean;
}

/** Glushkov's construction, which stops at the first ambiguous position. */
function isDeterministic(root: PatternNode): boolean {
  const sets: CharSet[] = [];
  const follows: Set<number>[] = [];

  const disjoint = (positions: readonly number[]): boolean => {
    let seen = 0n;
    for (const position of positions) {
      const set = sets[position] ?? 0n;
      if ((seen & set) !== 0n) return false;
      seen |= set;
    }
    return true;
  };
  /** Returns false if a step is possible for two reasons: `(a+)+` goes from a to a by both loops. */
  const join = (from: readonly number[], to: readonly number[]): boolean =>
    from.every((position) =>
      to.every((next) => !follows[position]?.has(next) && follows[position]?.add(next)),
    );

  const visit = (node: PatternNode): Edges | undefined => {
    switch (node.kind) {
      case "assertion":
        return { first: [], last: [], empty: true };
      case "char": {
        const position = sets.push(node.set) - 1;
        follows.push(new Set());
        return { first: [position], last: [position], empty: false };
      }
      case "choice": {
        const parts = node.parts.map(visit);
        if (!parts.every((part) => part !== undefined) || parts.filter((part) => part.empty).length > 1)
          return undefined;
        return {
          first: parts.flatMap((p) => p.first),
          last: parts.flatMap((p) => p.last),
          empty: parts.some((p) => p.empty),
        };
      }
      case "sequence": {
        let [first, last, empty]: [readonly number[], readonly number[], boolean] = [[], [], true];
        for (const child of node.parts) {
          const part = visit(child);
          if (part === undefined || !join(last, part.first)) return undefined;
          if (empty) first = [...first, ...part.first];
          last = part.empty ? [...last, ...part.last] : part.last;
          empty &&= part.empty;
        }
        return { first, last, empty };
      }
      case "repeat": {
        const part = visit(node.part);
        // A loop over a part that may be empty splits the same text in many ways.
        if (part === undefined || part.empty) return undefined;
        // A fixed number of single characters is not ambiguous.
        const fixed = node.min === node.max && node.part.kind === "char";
        if (node.max > 1 && !fixed && !join(part.last, part.first)) return undefined;
        return { ...part, empty: node.min === 0 };
      }
    }
  };
  const edges = visit(root);
  return edges !== undefined && disjoint(edges.first) && follows.every((next) => disjoint([...next]));
}
