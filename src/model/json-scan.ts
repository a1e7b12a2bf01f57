// Bounds on JSON text, checked before it is parsed: how deep it is nested, and how much structure it holds.

export interface JsonBounds {
  readonly depth: number;
  /** The largest weight. An item or a container weighs 1 and an object member 3, in proportion to the time `JSON.parse` needs. */
  readonly weight: number;
}

/** Weight and depth up to the point where a bound was passed. The text need not be valid JSON. */
export interface JsonScan {
  readonly weight: number;
  readonly passed: "depth" | "weight" | undefined;
}

const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const BACKSLASH = 0x5c;
const OPEN_ARRAY = 0x5b;
const OPEN_OBJECT = 0x7b;
const CLOSE_ARRAY = 0x5d;
const CLOSE_OBJECT = 0x7d;
/** A string that is longer than this is skipped by a native search. */
const SHORT_STRING = 32;

export function scanJson(bytes: Buffer, bounds: JsonBounds): JsonScan {
  const end = bytes.length;
  let depth = 0;
  let weight = 1;
  for (let at = 0; at < end; at += 1) {
    switch (bytes[at]) {
      case QUOTE:
        at = endOfString(bytes, at + 1);
        continue;
      case OPEN_ARRAY:
      case OPEN_OBJECT:
        depth += 1;
        if (depth > bounds.depth) return { weight, passed: "depth" };
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
    if (weight > bounds.weight) return { weight, passed: "weight" };
  }
  return { weight, passed: undefined };
}

/** The position of the closing quote, or the end of the text. `from` is not in the middle of an escape sequence. */
function endOfString(bytes: Buffer, from: number): number {
  const end = bytes.length;
  let at = from;
  while (at < end) {
    const soon = Math.min(end, at + SHORT_STRING);
    for (; at < soon; at += 1) {
      const byte = bytes[at];
      if (byte === QUOTE) return at;
      if (byte === BACKSLASH) at += 1;
    }
    if (at >= end) return end;
    const found = bytes.indexOf(QUOTE, at);
    if (found === -1) return end;
    let backslashes = 0;
    while (found - backslashes > at && bytes[found - backslashes - 1] === BACKSLASH) backslashes += 1;
    if (backslashes % 2 === 0) return found;
    at = found + 1;
  }
  return end;
}
