// A file of any format as plain data with positions.

import { readJson } from "./json-document.ts";
import { readToml } from "./toml-document.ts";
import type { ClientFormat, Path } from "../types.ts";
import { readYaml } from "./yaml-document.ts";

/** Offsets into the text; `key` is where the name of a member starts, or its value when it has none. */
export interface SourceRange {
  readonly key: number;
  readonly start: number;
  readonly end: number;
}

export interface SourceProblem {
  readonly offset: number;
  readonly message: string;
}

export interface SourceDocument {
  readonly value: unknown;
  /** Syntax errors in the order of the text. Messages never repeat the text. */
  readonly problems: readonly SourceProblem[];
  readonly rangeOf: (path: Path) => SourceRange | undefined;
  /** Keys that an object repeats, at each repetition. The last one counts. */
  readonly repeatedKeys: (path: Path) => readonly { readonly key: string; readonly offset: number }[];
}

const READERS: Readonly<Record<ClientFormat, (text: string) => SourceDocument>> = {
  json: readJson,
  toml: readToml,
  yaml: readYaml,
};

/** Never throws: an unreadable text has problems and no value. `text` has no byte order mark. */
export function readDocument(format: ClientFormat, text: string): SourceDocument {
  try {
    return READERS[format](text);
  } catch {
    return {
      value: undefined,
      problems: [{ offset: 0, message: "it is nested too deeply to be read" }],
      rangeOf: () => undefined,
      repeatedKeys: () => [],
    };
  }
}

/** The offset of a path, or of its nearest parent that has one. */
export function nearestOffset(document: SourceDocument, path: Path): number {
  for (let length = path.length; length > 0; length -= 1) {
    const range = document.rangeOf(path.slice(0, length));
    if (range !== undefined) return length === path.length ? range.key : range.start;
  }
  return 0;
}

export const BYTE_ORDER_MARK = "\uFEFF";

export function withoutMark(text: string): string {
  return text.startsWith(BYTE_ORDER_MARK) ? text.slice(1) : text;
}
