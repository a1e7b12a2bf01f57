// The layout of a TOML text: where its tables, keys and values stand. The library gives values without positions.

import { parse } from "smol-toml";
import type { Path } from "../node.ts";

/** A `[header]` with the statements below it. The part before the first header is a table without a header. */
export interface TomlTable {
  readonly path: Path;
  readonly header?: { readonly start: number; readonly end: number };
  /** After the line of its last statement, or of its header. */
  end: number;
}

/** A key with its value: a statement, or a member of an inline table or array. */
export interface TomlMember {
  readonly path: Path;
  readonly table: TomlTable;
  readonly key: number;
  readonly start: number;
  readonly end: number;
  /** The whole lines of a statement; absent inside of an inline table or array. */
  readonly lines?: { readonly start: number; readonly end: number };
}

export interface TomlLayout {
  readonly tables: readonly TomlTable[];
  readonly members: readonly TomlMember[];
}

export function scanToml(text: string): TomlLayout {
  let at = 0;
  let table: TomlTable = { path: [], end: 0 };
  const tables = [table];
  const members: TomlMember[] = [];
  const counts = new Map<string, number>();

  for (skipTrivia(); at < text.length; skipTrivia()) {
    if (text[at] === "[") readHeader();
    else readStatement();
  }
  return { tables, members };

  function readHeader(): void {
    const start = at;
    const list = text[at + 1] === "[";
    at += list ? 2 : 1;
    const keys = readKey();
    at += list ? 2 : 1;
    const last = keys.pop() ?? "";
    // Below a list of tables, a header means its last item.
    let path = keys.reduce<Path>((above, key) => lastItem([...above, key]), []);
    path = list ? [...path, last] : lastItem([...path, last]);
    if (list) {
      const count = (counts.get(JSON.stringify(path)) ?? 0) + 1;
      counts.set(JSON.stringify(path), count);
      path = [...path, count - 1];
    }
    const end = endOfLine();
    table = { path, header: { start, end }, end };
    tables.push(table);
  }

  function lastItem(path: Path): Path {
    const count = counts.get(JSON.stringify(path));
    return count === undefined ? path : [...path, count - 1];
  }

  function readStatement(): void {
    const key = at;
    const path = [...table.path, ...readKey()];
    skipAssignment();
    const slot = members.length;
    const start = at;
    readValue(path);
    const end = at;
    const lines = { start: text.lastIndexOf("\n", key - 1) + 1, end: endOfLine() };
    members.splice(slot, 0, { path, table, key, start, end, lines });
    table.end = lines.end;
  }

  function readValue(path: Path): void {
    const first = text[at];
    if (first === '"' || first === "'") skipString();
    else if (first === "[") readArray(path);
    else if (first === "{") readInlineTable(path);
    else while (at < text.length && !/[,\]}#\r\n]/.test(text[at] ?? "")) at += 1;
    if (first !== undefined && !"\"'[{".includes(first))
      while (text[at - 1] === " " || text[at - 1] === "\t") at -= 1;
  }

  function readArray(path: Path): void {
    at += 1;
    for (let index = 0; ; index += 1) {
      skipTrivia();
      if (text[at] === "]" || at >= text.length) break;
      const start = at;
      const slot = members.length;
      readValue([...path, index]);
      members.splice(slot, 0, { path: [...path, index], table, key: start, start, end: at });
      skipTrivia();
      if (text[at] === ",") at += 1;
    }
    at += 1;
  }

  function readInlineTable(path: Path): void {
    at += 1;
    for (;;) {
      skipTrivia();
      if (text[at] === "}" || at >= text.length) break;
      const key = at;
      const whole = [...path, ...readKey()];
      skipAssignment();
      const start = at;
      const slot = members.length;
      readValue(whole);
      members.splice(slot, 0, { path: whole, table, key, start, end: at });
      skipTrivia();
      if (text[at] === ",") at += 1;
    }
    at += 1;
  }

  function readKey(): string[] {
    const parts: string[] = [];
    for (;;) {
      skipBlanks();
      const start = at;
      if (text[at] === '"' || text[at] === "'") {
        skipString();
        parts.push(parse(`key = ${text.slice(start, at)}`)["key"] as string);
      } else {
        while (/[A-Za-z0-9_-]/.test(text[at] ?? "")) at += 1;
        parts.push(text.slice(start, at));
      }
      const end = at;
      skipBlanks();
      if (text[at] !== ".") {
        at = end;
        skipBlanks();
        return parts;
      }
      at += 1;
    }
  }

  function skipAssignment(): void {
    skipBlanks();
    at += 1;
    skipBlanks();
  }

  function skipString(): void {
    const quote = text[at] as string;
    const long = text.startsWith(quote.repeat(3), at);
    const close = long ? quote.repeat(3) : quote;
    at += close.length;
    while (at < text.length && !text.startsWith(close, at)) at += quote === '"' && text[at] === "\\" ? 2 : 1;
    at += close.length;
    // Up to two quotes may stand right before the closing three.
    if (long) for (let extra = 0; extra < 2 && text[at] === quote; extra += 1) at += 1;
  }

  function skipBlanks(): void {
    while (text[at] === " " || text[at] === "\t") at += 1;
  }

  function skipTrivia(): void {
    for (;;) {
      while (/[ \t\r\n]/.test(text[at] ?? "")) at += 1;
      if (text[at] !== "#") return;
      while (at < text.length && text[at] !== "\n") at += 1;
    }
  }

  /** After the line break that ends this line, comment included. */
  function endOfLine(): number {
    const found = text.indexOf("\n", at);
    at = found === -1 ? text.length : found + 1;
    return at;
  }
}

export function samePath(a: Path, b: Path): boolean {
  return a.length === b.length && a.every((step, index) => step === b[index]);
}

export function isBelow(path: Path, above: Path): boolean {
  return path.length > above.length && above.every((step, index) => step === path[index]);
}
