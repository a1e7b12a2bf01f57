// A value of a config file that knows where it stands, whichever syntax it was written in.

import type { Diagnostic } from "../../errors/index.ts";

/** Keys and indexes from the root. */
export type Path = readonly (string | number)[];

export interface Place {
  /** Lines and columns count from 1. */
  readonly line: number;
  readonly column: number;
  readonly path: Path;
}

export interface ObjectNode extends Place {
  readonly kind: "object";
  readonly entries: readonly Entry[];
}

export interface ListNode extends Place {
  readonly kind: "list";
  readonly items: readonly TextNode[];
}

export interface ScalarNode extends Place {
  readonly kind: "string" | "number" | "boolean" | "null";
  readonly value: string | number | boolean | null;
  /** As it is written, for places where `1.10` and `0x1F` are words and not numbers. */
  readonly source: string;
}

export type TextNode = ObjectNode | ListNode | ScalarNode;

/** One key of an object; the place is that of the key. */
export interface Entry extends Place {
  readonly key: string;
  readonly value: TextNode;
}

/** A text as read: no root when its syntax is broken. */
export interface ReadResult {
  readonly root: TextNode | undefined;
  readonly diagnostics: readonly Diagnostic[];
}

/** The node at `path` below `node`, or nothing. */
export function nodeAt(node: TextNode | undefined, ...path: Path): TextNode | undefined {
  let found = node;
  for (const step of path) {
    if (found?.kind === "object") found = entryOf(found, step)?.value;
    else if (found?.kind === "list" && typeof step === "number") found = found.items[step];
    else return undefined;
  }
  return found;
}

/** The entry of an object with that key. */
export function entryOf(node: TextNode | undefined, key: string | number): Entry | undefined {
  return node?.kind === "object" ? node.entries.find((entry) => entry.key === key) : undefined;
}

/** The value without its places. Readers refuse `__proto__` and its like, so plain objects are safe. */
export function toPlain(node: TextNode): unknown {
  switch (node.kind) {
    case "object":
      return Object.fromEntries(node.entries.map((entry) => [entry.key, toPlain(entry.value)]));
    case "list":
      return node.items.map(toPlain);
    default:
      return node.value;
  }
}

/** `/config/servers/0`, as RFC 6901 writes it. */
export function toPointer(path: Path): string {
  return path.map((step) => `/${String(step).replaceAll("~", "~0").replaceAll("/", "~1")}`).join("");
}

/** `config.servers[0].url`, for people. */
export function toLabel(path: Path): string {
  let label = "";
  for (const step of path) {
    if (typeof step === "number") label += `[${step}]`;
    else label += label === "" ? step : `.${step}`;
  }
  return label.length > 120 ? `${label.slice(0, 117)}...` : label;
}

export type Locate = (offset: number) => { readonly line: number; readonly column: number };

export function createLocator(text: string): Locate {
  const starts = [0];
  for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", at + 1)) starts.push(at + 1);
  return (offset) => {
    let low = 0;
    let high = starts.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if ((starts[middle] ?? 0) <= offset) low = middle;
      else high = middle - 1;
    }
    return { line: low + 1, column: offset - (starts[low] ?? 0) + 1 };
  };
}
