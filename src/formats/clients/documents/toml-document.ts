// TOML with positions.

import { parse, TomlError } from "smol-toml";
import type { SourceDocument, SourceRange } from "./document.ts";
import { type TomlLayout, scanToml } from "./toml-scan.ts";
import type { Path } from "../types.ts";

export function readToml(text: string): SourceDocument {
  let value: unknown;
  try {
    value = parse(text, { integersAsBigInt: "asNeeded" });
  } catch (thrown) {
    if (!(thrown instanceof TomlError)) throw thrown;
    return {
      value: undefined,
      problems: [{ offset: offsetOf(text, thrown.line, thrown.column), message: reasonOf(thrown) }],
      rangeOf: () => undefined,
      repeatedKeys: () => [],
    };
  }
  let layout: TomlLayout | undefined;
  return {
    value,
    problems: [],
    rangeOf: (path) => rangeOf((layout ??= scanToml(text)), path),
    repeatedKeys: () => [],
  };
}

/** A table that is written in several places stands where it is first mentioned. */
function rangeOf({ tables, members }: TomlLayout, path: Path): SourceRange | undefined {
  const table = tables.find(({ path: own, header }) => header !== undefined && samePath(own, path));
  if (table?.header !== undefined)
    return { key: table.header.start, start: table.header.start, end: table.end };
  const member = members.find(({ path: own }) => samePath(own, path));
  if (member !== undefined) return { key: member.key, start: member.start, end: member.end };
  const below = [
    ...members.filter(({ path: own }) => isBelow(own, path)).map(({ key, end }) => ({ key, end })),
    ...tables
      .filter(({ path: own, header }) => header !== undefined && isBelow(own, path))
      .map(({ header, end }) => ({ key: header?.start ?? 0, end })),
  ];
  if (below.length === 0) return undefined;
  const first = Math.min(...below.map(({ key }) => key));
  return { key: first, start: first, end: Math.max(...below.map(({ end }) => end)) };
}

export function samePath(a: Path, b: Path): boolean {
  return a.length === b.length && a.every((step, index) => step === b[index]);
}

export function isBelow(path: Path, above: Path): boolean {
  return path.length > above.length && above.every((step, index) => step === path[index]);
}

/** The parser's message goes on with the lines around the fault, which may hold secrets. */
function reasonOf(error: TomlError): string {
  const reason = error.message.split("\n")[0]?.replace(/^Invalid TOML document: /, "") ?? "";
  return `not valid TOML${/^[a-z][a-z ,.:()-]*$/i.test(reason) ? `: ${reason}` : ""}`;
}

function offsetOf(text: string, line: number, column: number): number {
  const lines = text.split("\n");
  const before = lines.slice(0, line - 1).reduce((sum, { length }) => sum + length + 1, 0);
  return Math.min(text.length, before + Math.max(0, column - 1));
}
