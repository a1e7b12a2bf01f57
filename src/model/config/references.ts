// Secret references such as ${NAME} in a text: the grammar that config files are read, resolved and written in. One pass finds them, so
// that a value that looks like a reference is not expanded again.

/** Place of the value. `any` searches all sources in order. `secret` does so too, and its value is always redacted. */
export type ReferenceKind = "any" | "env" | "file" | "secret";

export interface Reference {
  readonly kind: ReferenceKind;
  /** Name of the secret, or path of a `${file:path}`. */
  readonly name: string;
  /** Literal text after `:-`, used if no source has a value. */
  readonly fallback?: string;
}

/** Position in a text. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

export interface ReferencePart extends Reference, Span {}

export interface TextPart extends Span {
  readonly kind: "text";
  /** The text, with `$${` replaced by `${`. */
  readonly text: string;
}

export interface ReferenceProblem {
  readonly message: string;
  readonly offset: number;
}

export interface ParsedReferences {
  /** The parts cover the whole text, in order and without gaps. A malformed reference is a text part. */
  readonly parts: readonly (TextPart | ReferencePart)[];
  readonly problems: readonly ReferenceProblem[];
}

const NAME = /^[A-Za-z_][A-Za-z0-9_.-]*$/;
const MAX_NAME = 256;

export function isReferenceName(name: string): boolean {
  return name.length <= MAX_NAME && NAME.test(name);
}

/** Finds each `${…}` in a text, well formed or not. `$${` is not a reference. An unclosed reference extends to the end of the text. */
export function findReferences(text: string): (Span & { readonly closed: boolean })[] {
  const found: (Span & { closed: boolean })[] = [];
  let at = 0;
  for (let start = text.indexOf("${"); start !== -1; start = text.indexOf("${", at)) {
    if (text[start - 1] === "$") {
      at = start + 2;
      continue;
    }
    const close = text.indexOf("}", start + 2);
    at = close === -1 ? text.length : close + 1;
    found.push({ start, end: at, closed: close !== -1 });
  }
  return found;
}

/**
 * Parses `${NAME}`, `${NAME:-default}`, `${env:NAME}`, `${secrets.NAME}` (both with an optional default) and `${file:path}`.
 * `$${` stands for a literal `${`.
 */
export function parseReferences(text: string): ParsedReferences {
  const parts: (TextPart | ReferencePart)[] = [];
  const problems: ReferenceProblem[] = [];
  let literal = "";
  let literalStart = 0;
  let at = 0;
  const endText = (end: number): void => {
    literal += unescape(text.slice(at, end));
    if (end > literalStart) parts.push({ kind: "text", text: literal, start: literalStart, end });
    literal = "";
  };
  for (const { start, end, closed } of findReferences(text)) {
    const found = closed
      ? readBody(text.slice(start + 2, end - 1))
      : "A reference is not closed: } is missing.";
    if (typeof found === "string") {
      problems.push({ message: found, offset: start });
      literal += unescape(text.slice(at, start)) + text.slice(start, end);
    } else {
      endText(start);
      parts.push({ ...found, start, end });
      literalStart = end;
    }
    at = end;
  }
  endText(text.length);
  return { parts, problems };
}

/** Returns the text with each reference replaced by its value. Values are not searched for references. */
export function fillReferences(
  parts: readonly (TextPart | ReferencePart)[],
  valueOf: (reference: ReferencePart) => string,
): string {
  return parts.map((part) => (part.kind === "text" ? part.text : valueOf(part))).join("");
}

/** Returns a text that parses to exactly `text`. */
export function escapeReferences(text: string): string {
  // The replacement is a function, because `$$` in a replacement text means one `$`.
  return text.replaceAll("${", () => "$${");
}

export function formatReference({ kind, name, fallback }: Reference): string {
  const prefix = { any: "", env: "env:", file: "file:", secret: "secrets." }[kind];
  return `\${${prefix}${name}${fallback === undefined ? "" : `:-${fallback}`}}`;
}

function unescape(text: string): string {
  return text.replaceAll("$${", () => "${");
}

/** Returns a reference or an error message. Messages do not repeat names, because a malformed name may be a secret value. */
function readBody(body: string): Reference | string {
  if (body === "") return "A reference is empty: write ${NAME}.";
  if (body.includes("${"))
    return "A reference contains another reference, which is not supported. Its name and its default must be plain text.";
  if (body.startsWith("file:")) {
    const name = body.slice("file:".length);
    if (name === "" || name.includes("\0") || /[\r\n]/.test(name))
      return "A file reference has no usable path: write ${file:path}.";
    return { kind: "file", name };
  }
  const cut = body.indexOf(":-");
  const head = cut === -1 ? body : body.slice(0, cut);
  const fallback = cut === -1 ? {} : { fallback: body.slice(cut + 2) };
  if (head.startsWith("env:")) return named("env", head.slice("env:".length));
  if (head.startsWith("secrets.")) return named("secret", head.slice("secrets.".length));
  const prefix = /^([A-Za-z]{1,20}):/.exec(head)?.[1];
  if (prefix !== undefined)
    return `A reference starts with "${prefix}:", which is not supported. Write \${NAME}, \${env:NAME}, \${file:path} or \${NAME:-default}.`;
  return named("any", head);

  function named(kind: ReferenceKind, name: string): Reference | string {
    if (!isReferenceName(name))
      return "A reference has no valid name: a name begins with a letter or _, and continues with letters, digits, _, . or -.";
    return { kind, name, ...fallback };
  }
}

/** The paths of `${file:…}` references, as written. */
export function referencedFiles(text: string): string[] {
  if (!text.includes("${file:")) return [];
  return parseReferences(text).parts.flatMap((part) => (part.kind === "file" ? [part.name] : []));
}
