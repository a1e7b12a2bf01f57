// Bounds on JSON text, checked before it is parsed: depth of nesting and amount of structure.

export interface JsonBounds {
  readonly depth: number;
  /** Largest weight. An item or a container weighs 1 and an object member 3, in proportion to the time that `JSON.parse` needs. */
  readonly weight: number;
}

export type JsonBound = "depth" | "weight";

const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const BACKSLASH = 0x5c;
const OPEN_ARRAY = 0x5b;
const OPEN_OBJECT = 0x7b;
const CLOSE_ARRAY = 0x5d;
const CLOSE_OBJECT = 0x7d;
/** A native search skips longer strings. */
const SHORT_STRING = 32;

/** Scans a text in chunks that may end anywhere. The text need not be valid JSON. */
export class JsonScanner {
  readonly #bounds: JsonBounds;
  #weight = 1;
  #depth = 0;
  #isInString = false;
  /** The last chunk ended in the middle of an escape sequence. */
  #isEscaped = false;

  constructor(bounds: JsonBounds) {
    this.#bounds = bounds;
  }

  get weight(): number {
    return this.#weight;
  }

  /** Bound that the text exceeds, if any. No more text needs to be scanned then. */
  push(bytes: Buffer): JsonBound | undefined {
    const { depth: maxDepth, weight: maxWeight } = this.#bounds;
    const end = bytes.length;
    let at = this.#isInString ? this.#skipString(bytes, this.#isEscaped ? 1 : 0) + 1 : 0;
    let depth = this.#depth;
    let weight = this.#weight;
    for (; at < end; at += 1) {
      switch (bytes[at]) {
        case QUOTE:
          at = this.#skipString(bytes, at + 1);
          continue;
        case OPEN_ARRAY:
        case OPEN_OBJECT:
          depth += 1;
          if (depth > maxDepth) return "depth";
          weight += 1;
          break;
        case CLOSE_ARRAY:
        case CLOSE_OBJECT:
          depth -= 1;
          continue;
        case COMMA:
          weight += 1;
          break;
        case COLON:
          weight += 2;
          break;
        default:
          continue;
      }
      if (weight > maxWeight) return "weight";
    }
    this.#depth = depth;
    this.#weight = weight;
    return undefined;
  }

  /** Returns the position of the closing quote, or the end of the chunk. `from` is not in the middle of an escape sequence. */
  #skipString(bytes: Buffer, from: number): number {
    const end = bytes.length;
    let at = from;
    this.#isInString = true;
    while (at < end) {
      const soon = Math.min(end, at + SHORT_STRING);
      for (; at < soon; at += 1) {
        const byte = bytes[at];
        if (byte === QUOTE) return this.#endString(at);
        if (byte === BACKSLASH) at += 1;
      }
      if (at >= end) break;
      const found = bytes.indexOf(QUOTE, at);
      const stop = found === -1 ? end : found;
      let backslashes = 0;
      while (stop - backslashes > at && bytes[stop - backslashes - 1] === BACKSLASH) backslashes += 1;
      const isEscape = backslashes % 2 === 1;
      if (found !== -1 && !isEscape) return this.#endString(found);
      at = isEscape ? stop + 1 : stop;
    }
    this.#isEscaped = at > end;
    return end;
  }

  #endString(at: number): number {
    this.#isInString = false;
    this.#isEscaped = false;
    return at;
  }
}
