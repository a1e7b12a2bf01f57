// Pieces of a text: literal text and references, independent of the syntax of a client.

import { escapeReferences, formatReference, parseReferences, type Reference } from "../../../model/index.ts";

/** Literal text, or a reference. */
export type Piece = string | Reference;

/** The pieces of a text in Portolan's own syntax. */
export function parsePieces(text: string): Piece[] {
  return parseReferences(text).parts.map((part) => {
    if (part.kind === "text") return part.text;
    const { start: _start, end: _end, ...reference } = part;
    return reference;
  });
}

export function formatPieces(pieces: readonly Piece[]): string {
  return pieces
    .map((piece) => (typeof piece === "string" ? escapeReferences(piece) : formatReference(piece)))
    .join("");
}

/** Joins neighbouring texts, and drops empty ones. */
export function joinPieces(pieces: readonly Piece[]): Piece[] {
  const joined: Piece[] = [];
  for (const piece of pieces) {
    const last = joined.at(-1);
    if (piece === "") continue;
    if (typeof piece === "string" && typeof last === "string") joined[joined.length - 1] = last + piece;
    else joined.push(piece);
  }
  return joined;
}

export function isPlainText(text: string): boolean {
  return parsePieces(text).every((piece) => typeof piece === "string");
}

/** The text with `x` in place of every reference, to check its form. */
export function withPlaceholders(text: string): string {
  return parsePieces(text)
    .map((piece) => (typeof piece === "string" ? piece : "x"))
    .join("");
}
