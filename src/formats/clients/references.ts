// Portolan's one syntax for values that come from elsewhere, as pieces: text and references.
// The room of secrets owns the grammar and resolves it; this room stands above it and only translates, so it knows the same few forms.

/** `any` is looked for in all sources, `env` in the environment only. */
export type ReferenceKind = "any" | "env" | "file" | "secret";

export interface Reference {
  readonly kind: ReferenceKind;
  /** The name, or the path of a file. */
  readonly name: string;
  readonly fallback?: string | undefined;
}

/** Literal text, or a reference. */
export type Piece = string | Reference;

const NAME = /^[A-Za-z_][A-Za-z0-9_.-]*$/;

export function isReferenceName(name: string): boolean {
  return name.length <= 256 && NAME.test(name);
}

/** `${NAME}`, `${NAME:-default}`, `${env:NAME}`, `${secrets.NAME}`, `${file:path}`; `$${` is a literal `${`. */
export function parsePieces(text: string): Piece[] {
  const pieces: Piece[] = [];
  let literal = "";
  let at = 0;
  for (;;) {
    const open = text.indexOf("${", at);
    if (open === -1) break;
    if (open > at && text[open - 1] === "$") {
      literal += `${text.slice(at, open - 1)}\${`;
      at = open + 2;
      continue;
    }
    const close = text.indexOf("}", open + 2);
    const end = close === -1 ? text.length : close + 1;
    const found = close === -1 ? undefined : readBody(text.slice(open + 2, close));
    literal += text.slice(at, found === undefined ? end : open);
    if (found !== undefined) {
      if (literal !== "") pieces.push(literal);
      literal = "";
      pieces.push(found);
    }
    at = end;
  }
  literal += text.slice(at);
  if (literal !== "") pieces.push(literal);
  return pieces;
}

export function formatPieces(pieces: readonly Piece[]): string {
  return pieces
    .map((piece) =>
      typeof piece === "string" ? piece.replaceAll("${", () => "$${") : formatReference(piece),
    )
    .join("");
}

export function formatReference({ kind, name, fallback }: Reference): string {
  const prefix = { any: "", env: "env:", file: "file:", secret: "secrets." }[kind];
  return `\${${prefix}${name}${fallback === undefined ? "" : `:-${fallback}`}}`;
}

/** Neighbouring texts as one, empty ones gone. */
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

/** The text with something harmless for every reference: enough to judge its form. */
export function withStandIns(text: string): string {
  return parsePieces(text)
    .map((piece) => (typeof piece === "string" ? piece : "x"))
    .join("");
}

function readBody(body: string): Reference | undefined {
  if (body.includes("${")) return undefined;
  if (body.startsWith("file:")) {
    const path = body.slice("file:".length);
    return path === "" || /[\0\r\n]/.test(path) ? undefined : { kind: "file", name: path };
  }
  const cut = body.indexOf(":-");
  const head = cut === -1 ? body : body.slice(0, cut);
  const fallback = cut === -1 ? {} : { fallback: body.slice(cut + 2) };
  const [kind, name]: [ReferenceKind, string] = head.startsWith("env:")
    ? ["env", head.slice("env:".length)]
    : head.startsWith("secrets.")
      ? ["secret", head.slice("secrets.".length)]
      : ["any", head];
  return isReferenceName(name) ? { kind, name, ...fallback } : undefined;
}
