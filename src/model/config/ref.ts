// Resource references of the form `<kind>:<body>`, with an optional hash of the content: parsing, writing and escaping.

export interface Ref {
  readonly kind: string;
  /** The body as written. Its meaning depends on the kind. */
  readonly body: string;
  /** 64 hexadecimal digits as written. */
  readonly sha256?: string;
}

export type ParsedRef =
  | { readonly ok: true; readonly ref: Ref }
  | { readonly ok: false; readonly code: "UnknownRefKind" | "InvalidRefBody"; readonly message: string };

const MAX_LENGTH = 8_192;
const KIND = /^[a-z][a-z0-9_]*$/;
const SHA256 = /^[0-9a-fA-F]{64}$/;
const MARK = "#sha256=";
const RESERVED = /[@:#%]/g;

export function isRefKind(name: string): boolean {
  return name.length <= 80 && KIND.test(name);
}

/** The first colon ends the kind. Later colons belong to the body. */
export function parseRef(text: string): ParsedRef {
  const colon = text.indexOf(":");
  if (colon < 0)
    return { ok: false, code: "UnknownRefKind", message: "it has no kind: a reference is <kind>:<body>" };
  const kind = text.slice(0, colon);
  if (!isRefKind(kind))
    return {
      ok: false,
      code: "UnknownRefKind",
      message: `${JSON.stringify(kind.slice(0, 80))} is not a valid kind: use lower-case letters, digits and _, beginning with a letter`,
    };
  const rest = text.slice(colon + 1);
  const mark = rest.lastIndexOf(MARK);
  const body = mark < 0 ? rest : rest.slice(0, mark);
  const problem = bodyProblem(body) ?? (text.length > MAX_LENGTH ? "it is too long" : undefined);
  if (problem !== undefined) return { ok: false, code: "InvalidRefBody", message: problem };
  if (mark < 0) return { ok: true, ref: { kind, body } };
  const sha256 = rest.slice(mark + MARK.length);
  if (!SHA256.test(sha256))
    return {
      ok: false,
      code: "InvalidRefBody",
      message: `${MARK} must be followed by 64 hexadecimal digits`,
    };
  return { ok: true, ref: { kind, body, sha256 } };
}

/** Returns the text that parses to this reference, or undefined if no text does. */
export function serializeRef({ kind, body, sha256 }: Ref): string | undefined {
  const text = `${kind}:${body}${sha256 === undefined ? "" : `${MARK}${sha256}`}`;
  const parsed = parseRef(text);
  if (!parsed.ok) return undefined;
  const { ref } = parsed;
  return ref.kind === kind && ref.body === body && ref.sha256 === sha256 ? text : undefined;
}

/** Escapes the reserved characters of a path or URL, so that it can be the body of a reference. */
export function escapeRefBody(text: string): string {
  return text.replace(RESERVED, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`);
}

/** Returns undefined for a malformed escape. */
export function unescapeRefBody(body: string): string | undefined {
  try {
    return decodeURIComponent(body);
  } catch {
    return undefined;
  }
}

function bodyProblem(body: string): string | undefined {
  if (body === "") return "there is nothing after its kind";
  return /\p{Cc}/u.test(body) ? "it contains a control character" : undefined;
}
