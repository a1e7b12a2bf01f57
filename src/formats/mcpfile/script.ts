// A script for a shell, with gaps whose values will be quoted for it. A gap inside of quotes closes them before it and opens them after
// it, so that a value is always quoted in the same way; where that cannot be done safely, the gap is refused.

import type { GapPiece, Piece } from "./template.ts";
import type { Complain } from "./split-words.ts";

export interface ScriptGap extends GapPiece {
  /** Stands inside of quotes, so that it cannot become several words. */
  readonly quoted: boolean;
}

type ScriptPiece = { readonly kind: "text"; readonly text: string; readonly at: number } | ScriptGap;

const BY_VARIABLE = 'Put the value into a variable first: name={name}, and use "$name" here.';

/** Nothing when a gap stands where its value could be taken for code. */
export function readScript(pieces: readonly Piece[], complain: Complain): ScriptPiece[] | undefined {
  const found: ScriptPiece[] = [];
  const reader = new ShellReader();
  let good = true;
  for (const piece of pieces) {
    if (piece.kind === "text") {
      reader.read(piece.text);
      found.push(piece);
      continue;
    }
    const reason = reader.refusal();
    if (reason !== undefined) {
      complain(piece.at, `a value cannot stand ${reason}`, BY_VARIABLE);
      good = false;
      continue;
    }
    const { quote } = reader;
    const gap: ScriptGap = { ...piece, quoted: quote !== "" };
    const mark = { kind: "text", text: quote, at: piece.at } as const;
    found.push(...(quote === "" ? [gap] : [mark, gap, mark]));
    reader.passGap();
  }
  return good ? found : undefined;
}

/**
 * Follows quotes through a script. It knows little on purpose: after the first construct in which quotes mean something else, every
 * gap is refused rather than guessed at.
 */
class ShellReader {
  quote: "" | "'" | '"' = "";
  #lost: string | undefined;
  #comment = false;
  /** The last character, when it is not escaped itself. */
  #before = "\n";
  #escaped = false;

  read(text: string): void {
    for (const char of text) this.#step(char);
  }

  passGap(): void {
    this.#before = "x";
  }

  /** Why a value cannot stand here, or nothing. */
  refusal(): string | undefined {
    if (this.#lost !== undefined) return `after ${this.#lost}`;
    if (this.#comment) return "in a comment";
    if (this.#escaped) return "after a backslash";
    // `$'...'` would read escapes in what follows.
    if (this.#before === "$" && this.quote !== "'") return "after $";
    return undefined;
  }

  #step(char: string): void {
    const before = this.#before;
    this.#before = char;
    if (this.#comment) {
      this.#comment = char !== "\n";
    } else if (this.quote === "'") {
      if (char === "'") this.quote = "";
    } else if (this.#escaped) {
      this.#escaped = false;
      this.#before = "x";
    } else if (char === "\\") this.#escaped = true;
    else if (char === '"') this.quote = this.quote === '"' ? "" : '"';
    else if (char === "`") this.#lose("a `");
    else if (before === "$" && char === "{") this.#lose("${");
    else if (before === "$" && char === "[") this.#lose("$[");
    else if (this.quote === '"') {
      if (before === "$" && char === "(") this.#lose('$( inside of "');
    } else if (before === "$" && char === "'") this.#lose("$'");
    else if (before === "(" && char === "(") this.#lose("((");
    else if (before === "<" && char === "<") this.#lose("<<");
    // `[[ x -eq … ]]` and `a[…]` calculate, which runs what stands in $( ) inside of a value.
    else if (char === "[" && /[\w[]/.test(before)) this.#lose(before === "[" ? "[[" : "a [ of a list");
    else if (char === "'") this.quote = "'";
    else if (char === "#" && /[\s;&|()]/.test(before)) this.#comment = true;
  }

  #lose(what: string): void {
    this.#lost ??= what;
  }
}
