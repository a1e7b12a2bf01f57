// Syntax errors of YAML in words: at the line that a person must change, and with a hint about it. The parser reports a wrong
// indentation as an error of the line before.

import type { YAMLError } from "yaml";
import type { Locate } from "./node.ts";

export interface SyntaxProblem {
  readonly line: number;
  readonly column: number;
  readonly message: string;
  readonly hint: string | undefined;
  /** The last line whose errors follow from this one. */
  readonly through?: number;
}

const SAME_COLUMN = "Keys of one object, and entries of one list, start in the same column.";
const QUOTES = "Put a value that contains a colon and a space into quotes.";
/** A line that begins with a key, such as `args: [a]` or `- name: x`. */
const KEY_LINE = /^(?:- +)?(?:[\w./@-]+|"[^"]*"|'[^']*')\s*:(?:\s|$)/;

/** A line with one word, such as `files`, which was probably meant as a key. */
const BARE_WORD = /^\s*([\w./@-]+)\s*$/;

export function explainSyntax(
  { pos, code, message }: Pick<YAMLError, "pos" | "code" | "message">,
  source: string,
  locate: Locate,
): SyntaxProblem {
  const place = locate(pos[0]);
  if (code === "TAG_RESOLVE_FAILED")
    return {
      ...place,
      message: lowerFirst(message),
      hint: "Config files do not support YAML tags such as !env. Remove the tag. If the ! belongs to the value, put the value into quotes. To use a variable, write ${NAME}.",
    };
  const words = `not valid YAML: ${lowerFirst(message)}`;
  const lines = source.split(/\r?\n/);
  const isImplicitKey = code === "BLOCK_AS_IMPLICIT_KEY" || code === "MULTILINE_IMPLICIT_KEY";
  const deeper = isImplicitKey ? deeperLineAfter(lines, place) : undefined;
  const [, word] = BARE_WORD.exec(lines[place.line - 1] ?? "") ?? [];
  if (deeper !== undefined && word !== undefined)
    return {
      line: place.line,
      column: indentOf(lines[place.line - 1]) + word.length + 1,
      message: `not valid YAML: a colon is missing after ${word}: line ${deeper} is indented like the value of a key`,
      hint: `Write ${word}: in line ${place.line}.`,
      through: endOfBlock(lines, deeper),
    };
  if (deeper !== undefined)
    return {
      line: deeper,
      column: indentOf(lines[deeper - 1]) + 1,
      message: `not valid YAML: line ${deeper} is indented more than line ${place.line}, so that it continues the value of line ${place.line}`,
      hint: SAME_COLUMN,
      through: endOfBlock(lines, deeper),
    };
  // The parser's column of a wrongly indented line is its beginning.
  const start = place.column === 1 ? { ...place, column: indentOf(lines[place.line - 1]) + 1 } : place;
  if (isImplicitKey && /^a block sequence/i.test(message))
    return {
      ...start,
      message: "not valid YAML: this list entry has a wrong indentation",
      hint: SAME_COLUMN,
    };
  if (isImplicitKey) return { ...place, message: words, hint: QUOTES };
  if (code === "TAB_AS_INDENT") return { ...place, message: words, hint: "Indent with spaces." };
  if (code !== "BAD_INDENT") return { ...place, message: words, hint: undefined };
  const bracket = /end with an? ([\]}])/.exec(message)?.[1];
  if (bracket === undefined) return { ...start, message: words, hint: SAME_COLUMN };
  const what = bracket === "]" ? "list that begins with [" : "object that begins with {";
  return { ...place, message: words, hint: `Close the ${what} before this line, with ${bracket}.` };
}

/** The number of the next line, if it begins with a key and is indented more than the line of the error, which has no colon too many. */
function deeperLineAfter(
  lines: readonly string[],
  { line, column }: { line: number; column: number },
): number | undefined {
  const here = lines[line - 1] ?? "";
  if (/:\s/.test(here.slice(column - 1))) return undefined;
  const next = lines.findIndex((text, index) => index >= line && text.trim() !== "");
  const text = lines[next];
  if (text === undefined || !KEY_LINE.test(text.trimStart())) return undefined;
  return indentOf(text) > indentOf(here) ? next + 1 : undefined;
}

/** The last line of the block that begins in this line. */
function endOfBlock(lines: readonly string[], first: number): number {
  const indent = indentOf(lines[first - 1]);
  const after = lines.findIndex(
    (text, index) => index >= first && text.trim() !== "" && indentOf(text) < indent,
  );
  return after < 0 ? lines.length : after;
}

function indentOf(line = ""): number {
  return line.length - line.trimStart().length;
}

function lowerFirst(message: string): string {
  const line = message.split("\n", 1)[0] ?? "";
  return line.slice(0, 1).toLowerCase() + line.slice(1, 300);
}
