// Multi-pattern search that skips most characters (Wu and Manber, "A fast algorithm for multi-pattern searching").

export interface WordFinder {
  /** Returns the position of the first word at or after `from`, or -1. The longest word wins if several start there. */
  find(text: string, from: number): number;
  /** Returns the end of the last word that `find` found. */
  end(): number;
}

const HASH_BITS = 14;
const MAX_WINDOW = 255;

/** Each word needs at least two characters. */
export function createWordFinder(words: readonly string[]): WordFinder {
  // The skip distance depends on the first `window` characters of each word.
  const window = words.reduce((least, word) => Math.min(least, word.length), MAX_WINDOW);
  const skips = new Uint8Array(1 << HASH_BITS).fill(window - 1);
  const endings = new Map<number, string[]>();
  for (const word of [...words].sort((a, b) => b.length - a.length)) {
    for (let at = 1; at < window; at += 1) {
      const hash = hashPair(word.charCodeAt(at - 1), word.charCodeAt(at));
      skips[hash] = Math.min(skips[hash] as number, window - 1 - at);
      if (at < window - 1) continue;
      const same = endings.get(hash);
      if (same === undefined) endings.set(hash, [word]);
      else same.push(word);
    }
  }
  let end = 0;
  return {
    find(text, from) {
      if (words.length === 0) return -1;
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
}

function hashPair(first: number, second: number): number {
  return ((first << 7) ^ second) & ((1 << HASH_BITS) - 1);
}
