// Limits on the size of config files. A file beyond them is no config file, and would only cost time and memory.

import type { Entry } from "./node.ts";
import type { Diagnostics } from "./diagnostics.ts";
import { ROOT } from "./diagnostics.ts";

export const MAX_BYTES: number = 1024 * 1024;
export const MAX_DEPTH = 64;
export const MAX_NODES = 100_000;
/** How often one YAML anchor may be used; more is an attack. */
export const MAX_ALIASES = 20;

const FORBIDDEN: ReadonlySet<string> = new Set(["__proto__", "constructor", "prototype"]);

/** Thrown inside of a reader when a limit is exceeded, so that reading stops at once; never leaves the room. */
export class TooMuch extends Error {}

export function checkSize(text: string, diagnostics: Diagnostics): boolean {
  const bytes = Buffer.byteLength(text);
  if (bytes <= MAX_BYTES) return true;
  diagnostics.add(ROOT, `the file has ${bytes} bytes; a config file can have at most ${MAX_BYTES}`);
  return false;
}

export function tooDeep(): TooMuch {
  return new TooMuch(`values are nested more than ${MAX_DEPTH} deep`);
}

export function tooMany(): TooMuch {
  return new TooMuch("the file contains too many values for a config file");
}

/** Reports and drops repeated keys, and keys that would change the prototype of an object. */
export function keepGoodEntries(entries: readonly Entry[], diagnostics: Diagnostics): Entry[] {
  const seen = new Map<string, Entry>();
  for (const entry of entries) {
    const first = seen.get(entry.key);
    if (FORBIDDEN.has(entry.key)) {
      diagnostics.add(entry, `the key ${JSON.stringify(entry.key)} is not allowed`, "Choose another name.");
    } else if (first !== undefined) {
      diagnostics.add(
        entry,
        `the key ${JSON.stringify(entry.key)} is declared twice: first at line ${first.line}, column ${first.column}`,
        "Keep one of them.",
      );
    } else {
      seen.set(entry.key, entry);
    }
  }
  return [...seen.values()];
}
