// Splits a command into words by the quoting rules of POSIX shells. A placeholder is never split, whatever its value will be.

import type { PlaceholderPiece, Piece, TextPiece } from "./template.ts";

export interface RawWord {
  readonly parts: readonly (TextPiece | PlaceholderPiece)[];
  /** True if a part of it is quoted. */
  readonly quoted: boolean;
  readonly at: number;
}

export type Complain = (
  at: number,
  message: string,
  hint?: string,
  severity?: "error" | "warning",
) => undefined;

export const USE_SHELL =
  "Quote it if it is meant literally, or write shell: true to run the command in a shell.";
const ESCAPED_IN_QUOTES = '$`"\\\n';

/** Returns undefined after the first error, which is reported. */
export function splitWords(pieces: readonly Piece[], complain: Complain): RawWord[] | undefined {
  const words: RawWord[] = [];
  let parts: (TextPiece | PlaceholderPiece)[] | undefined;
  let [start, quoted, escaped] = [0, false, false];
  let quote: { readonly mark: string; readonly at: number } | undefined;

  const open = (at: number): (TextPiece | PlaceholderPiece)[] => {
    if (parts === undefined) [parts, start, quoted] = [[], at, false];
    return parts;
  };
  const add = (text: string, at: number): void => {
    const list = open(at);
    const last = list.at(-1);
    if (last?.kind === "text") list[list.length - 1] = { ...last, text: last.text + text };
    else list.push({ kind: "text", text, at });
  };
  const close = (): void => {
    if (parts !== undefined) words.push({ parts, quoted, at: start });
    parts = undefined;
  };

  for (const piece of pieces) {
    if (piece.kind === "placeholder") {
      if (escaped)
        return complain(
          piece.at - 1,
          "a backslash before a placeholder has no meaning",
          "Remove the backslash.",
        );
      open(piece.at).push(piece);
      continue;
    }
    for (let index = 0; index < piece.text.length; index += 1) {
      const char = piece.text.charAt(index);
      const at = piece.at + index;
      if (escaped) {
        escaped = false;
        if (char === "\n") continue;
        add(quote !== undefined && !ESCAPED_IN_QUOTES.includes(char) ? `\\${char}` : char, at);
      } else if (quote?.mark === "'") {
        if (char === "'") quote = undefined;
        else add(char, at);
      } else if (char === "\\") escaped = true;
      else if (quote !== undefined && char === '"') quote = undefined;
      else if (quote === undefined && (char === "'" || char === '"')) {
        open(at);
        quoted = true;
        quote = { mark: char, at };
      } else if (quote === undefined && (char === " " || char === "\t")) close();
      else {
        const problem = shellProblem(char, piece.text.charAt(index + 1), quote !== undefined);
        if (problem !== undefined) return complain(at, problem, USE_SHELL);
        add(char, at);
      }
    }
  }
  if (quote !== undefined) return complain(quote.at, `a ${quote.mark} is not closed`);
  const last = pieces.at(-1);
  if (escaped && last?.kind === "text")
    return complain(last.at + last.text.length - 1, "the text ends with a backslash");
  close();
  return words;
}

/** The error for syntax that only a shell understands. */
function shellProblem(char: string, next: string, inQuotes: boolean): string | undefined {
  if (char === "`" || (char === "$" && next === "(")) {
    const mark = char === "`" ? "`" : "$(";
    return `${mark} runs a command inside of a command, which needs a shell`;
  }
  if (inQuotes) return undefined;
  if (char === "\n" || char === "\r") return "a command of several lines needs a shell";
  return "|&;<>".includes(char) ? `an unquoted ${char} needs a shell` : undefined;
}
