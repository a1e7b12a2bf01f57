// Multi-pattern search that skips most characters (Wu and Manber, "A fast algorithm for multi-pattern searching"). Words can be added
// and removed without building the tables of all others again.

export interface WordFinder {
  /** Each word needs at least two characters. */
  add(word: string): void;
  delete(word: string): void;
  /** Returns the position of the first word at or after `from`, or -1. The longest word wins if several start there. */
  find(text: string, from: number): number;
  /** Returns the end of the last word that `find` found. */
  end(): number;
}

const HASH_BITS = 14;
const MAX_WINDOW = 64;
/** Distances of removed words stay in the table. It is built again when it has more of them than of words, and at least this many. */
const MIN_REMOVED = 4_096;

export function createWordFinder(words: Iterable<string> = []): WordFinder {
  const known = new Set<string>();
  /** The skip distance depends on the first `window` characters of each word. */
  let window = MAX_WINDOW;
  let removed = 0;
  const skips = new Uint8Array(1 << HASH_BITS);
  /** Words by the hash of the last pair of their window, the longest first. */
  const endings = new Map<number, string[]>();
  let end = 0;

  const build = (): void => {
    removed = 0;
    skips.fill(window - 1);
    endings.clear();
    for (const word of [...known].sort((a, b) => b.length - a.length)) enter(word);
  };
  const enter = (word: string): void => {
    for (let at = 1; at < window; at += 1) {
      const hash = hashPair(word.charCodeAt(at - 1), word.charCodeAt(at));
      skips[hash] = Math.min(skips[hash] as number, window - 1 - at);
    }
    const same = endings.get(endingOf(word));
    if (same === undefined) return void endings.set(endingOf(word), [word]);
    const shorter = same.findLastIndex((other) => other.length >= word.length) + 1;
    same.splice(shorter, 0, word);
  };
  const endingOf = (word: string): number =>
    hashPair(word.charCodeAt(window - 2), word.charCodeAt(window - 1));

  const finder: WordFinder = {
    add(word) {
      if (known.has(word)) return;
      known.add(word);
      if (word.length >= window) return enter(word);
      window = word.length;
      build();
    },
    delete(word) {
      if (!known.delete(word)) return;
      const same = endings.get(endingOf(word)) ?? [];
      same.splice(same.indexOf(word), 1);
      if (same.length === 0) endings.delete(endingOf(word));
      removed += 1;
      if (removed > Math.max(known.size, MIN_REMOVED)) build();
    },
    find(text, from) {
      if (known.size === 0) return -1;
      let at = from + window - 1;
      while (at < text.length) {
        const hash = hashPair(text.charCodeAt(at - 1), text.charCodeAt(at));
        const skip = skips[hash] as number;
        if (skip > 0) {
          at += skip;
          continue;
        }
        const start = at - window + 1;
        const word = endings.get(hash)?.find((candidate) => text.startsWith(candidate, start));
        if (word !== undefined) {
          end = start + word.length;
          return start;
        }
        at += 1;
      }
      return -1;
    },
    end: () => end,
  };
  const first = [...new Set(words)];
  window = first.reduce((least, word) => Math.min(least, word.length), MAX_WINDOW);
  for (const word of first) known.add(word);
  build();
  return finder;
}

function hashPair(first: number, second: number): number {
  return ((first << 7) ^ second) & ((1 << HASH_BITS) - 1);
}
