// The text of a script, and the positions in it: offsets become lines and columns.

import type { Diagnostic, ErrorCode } from "../../errors/index.ts";

export interface Position {
  /** Lines and columns count from 1. */
  readonly line: number;
  readonly column: number;
}

export class SourceText {
  readonly text: string;
  readonly file: string;
  readonly #lineStarts: readonly number[];

  constructor(text: string, file: string) {
    // Neither changes the line or the column of any other character.
    this.text = text.replace(/^\uFEFF/, "").replaceAll("\r\n", "\n");
    this.file = file;
    const starts = [0];
    for (let at = this.text.indexOf("\n"); at !== -1; at = this.text.indexOf("\n", at + 1))
      starts.push(at + 1);
    this.#lineStarts = starts;
  }

  positionOf(offset: number): Position {
    const starts = this.#lineStarts;
    let low = 0;
    let high = starts.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if ((starts[middle] ?? 0) <= offset) low = middle;
      else high = middle - 1;
    }
    return { line: low + 1, column: offset - (starts[low] ?? 0) + 1 };
  }

  /** The offset after the line break of the line that contains `offset`. */
  nextLine(offset: number): number {
    const end = this.text.indexOf("\n", offset);
    return end === -1 ? this.text.length : end + 1;
  }

  diagnostic(code: ErrorCode, offset: number, message: string, hint?: string): Diagnostic {
    const { line, column } = this.positionOf(offset);
    return {
      code,
      severity: "error",
      message,
      file: this.file,
      line,
      column,
      ...(hint === undefined ? {} : { hint }),
    };
  }
}
