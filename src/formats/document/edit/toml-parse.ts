// TOML as a value with offsets: values by a library, offsets by a scan of the layout.

import { parse, TomlError } from "smol-toml";
import type { Path } from "../node.ts";
import { isBelow, samePath, scanToml, type TomlLayout } from "./toml-layout.ts";
import { type ParsedText, type SourceRange, toFailure } from "./text-document.ts";

export function parseToml(text: string): ParsedText {
  let value: unknown;
  try {
    value = parse(text, { integersAsBigInt: "asNeeded" });
  } catch (thrown) {
    if (!(thrown instanceof TomlError)) throw thrown;
    return toFailure(offsetOf(text, thrown.line, thrown.column), reasonOf(thrown));
  }
  let layout: TomlLayout | undefined;
  return { value, problems: [], rangeOf: (path) => rangeOf((layout ??= scanToml(text)), path) };
}

/** The range of a table that is written in several places begins at the first. */
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

/** Only the first line: the parser's message continues with lines of the file, which may contain secrets. */
function reasonOf(error: TomlError): string {
  const reason = error.message.split("\n")[0]?.replace(/^Invalid TOML document: /, "") ?? "";
  return `not valid TOML${/^[a-z][a-z ,.:()-]*$/i.test(reason) ? `: ${reason}` : ""}`;
}

function offsetOf(text: string, line: number, column: number): number {
  const lines = text.split("\n");
  const before = lines.slice(0, line - 1).reduce((sum, { length }) => sum + length + 1, 0);
  return Math.min(text.length, before + Math.max(0, column - 1));
}
