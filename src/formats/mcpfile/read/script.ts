// Where in a shell script a value may stand. The shell gets it as data, so that it cannot become code, except where the shell calculates:
// there it evaluates what it finds in a value, commands included. Only numbers may stand there.

import type { Complain } from "./split-words.ts";
import type { PlaceholderPiece, Piece } from "./template.ts";

/** Openers by what closes them. */
const CALCULATING: Readonly<Record<string, readonly string[]>> = {
  "))": ["(("],
  "]]": ["[["],
  "]": ["$[", "a["],
  "}": ["${"],
};
const MARKS = /\(\(|\)\)|\$\[|\[\[|\]\]|\$\{|\}|\w\[|\]/g;

/** Whether every placeholder is at a place that the shell allows. Each one that is not gets a diagnostic. */
export function checkScript(
  pieces: readonly Piece[],
  isNumber: (placeholder: PlaceholderPiece) => boolean,
  complain: Complain,
): boolean {
  const open = new Set<string>();
  let good = true;
  let before = "";
  for (const piece of pieces) {
    if (piece.kind === "text") {
      // A mark may begin in one piece and end in the next: `{{` is a piece of its own.
      for (const [mark] of `${before.slice(-1)}${piece.text}`.matchAll(MARKS)) follow(mark, open);
      before = `${before}${piece.text}`.slice(-64);
      continue;
    }
    const problem = refusal(before, isNumber(piece) ? undefined : [...open].at(-1));
    if (problem !== undefined) {
      complain(piece.at, problem.message, problem.hint);
      good = false;
    }
    before = "x";
  }
  return good;
}

/** Quoted text, comments, here-documents are not told apart from code beyond this: it is only a warning. */
const NO_CODE = /\\[^]|'[^']*'|"(?:[^"\\]|\\[^])*"|(?<=^|\s)#.*/gm;
const BACKGROUND = /(?<![&<>|])&(?![&>])/;

/** Warns of `&` without a `wait`, and returns true then: Portolan stops background processes with the script, which its author may not expect. */
export function warnOfBackground(pieces: readonly Piece[], complain: Complain): boolean {
  const code = pieces.map((piece) => (piece.kind === "text" ? piece.text : "x")).join("");
  const plain = code.replace(NO_CODE, (quoted) => " ".repeat(quoted.length));
  const isLeft = BACKGROUND.test(plain) && !/\bwait\b/.test(plain);
  if (isLeft)
    complain(
      0,
      "processes that the script leaves in the background are stopped when it returns",
      "Write wait at the end of the script, or run them in the foreground.",
      "warning",
    );
  return isLeft;
}

function follow(mark: string, open: Set<string>): void {
  const closed = CALCULATING[mark];
  if (closed === undefined) open.add(/^\w/.test(mark) ? "a[" : mark);
  else for (const opener of closed) open.delete(opener);
}

function refusal(
  before: string,
  opener: string | undefined,
): { readonly message: string; readonly hint: string } | undefined {
  const escaped = (/\\*$/.exec(before)?.[0].length ?? 0) % 2 === 1;
  if (escaped || before.endsWith("$"))
    return {
      message: `a placeholder cannot follow directly after ${escaped ? "a backslash" : "$"}`,
      hint: "A placeholder is replaced by the value itself: remove that character. For a variable of the shell write $name or ${{name}}.",
    };
  if (opener === undefined) return undefined;
  return {
    message: `a value inside of ${opener} could run commands, because the shell evaluates it as arithmetic`,
    hint: "Give the property type: integer, or move the value out of the arithmetic.",
  };
}
