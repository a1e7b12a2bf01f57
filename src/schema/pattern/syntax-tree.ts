// Parses the plain part of ECMAScript's pattern language into a tree, and refuses the rest.

/** Set of characters as bits: ASCII, and one sample for each group that the plain classes distinguish beyond it. */
export type CharSet = bigint;

export type PatternNode =
  | { readonly kind: "char"; readonly set: CharSet }
  /** `^`, `$` and `\b` consume no character. */
  | { readonly kind: "assertion"; readonly start: boolean }
  | { readonly kind: "sequence" | "choice"; readonly parts: readonly PatternNode[] }
  | { readonly kind: "repeat"; readonly part: PatternNode; readonly min: number; readonly max: number };

/** U+00A0 is a space, U+2028 a space and a line end, U+00E9 neither. Plain classes do not distinguish other characters. */
const SAMPLES = [
  ...Array.from({ length: 128 }, (_, code) => String.fromCharCode(code)),
  "\u00a0",
  "\u2028",
  "\u00e9",
];
const TOKENS = {
  atom: /\[\^?(?:[^\\\]]|\\.)*\]|\\[dDwWsStnrvf]|\\x[0-7][0-9a-fA-F]|\\u00[0-7][0-9a-fA-F]|\\[^A-Za-z0-9]|[^\\^$.*+?()[\]{}|]|\./y,
  assertion: /\^|\$|\\[bB]/y,
  group: /\((?:\?:|\?<[A-Za-z_]\w*>)?(?!\?)/y,
  repeat: /(?:([*+?])|\{(\d{1,4})(?:(,)(\d{0,4}))?\})\??/y,
} as const;

/** Returns undefined for look-around, back-references, Unicode escapes, and other features of unclear cost. */
export function parsePattern(source: string): PatternNode | undefined {
  // Non-ASCII characters in a class, and other escapes, would need more samples.
  if (source.length > 500 || !/^[ -~]*$/.test(source)) return undefined;
  let at = 0;
  const take = (token: keyof typeof TOKENS): RegExpExecArray | null => {
    const expression = TOKENS[token];
    expression.lastIndex = at;
    const found = expression.exec(source);
    if (found !== null) at += found[0].length;
    return found;
  };

  const parseChoice = (depth: number): PatternNode | undefined => {
    const parts: PatternNode[] = [];
    do {
      if (parts.length > 0) at += 1;
      const part = parseSequence(depth);
      if (part === undefined) return undefined;
      parts.push(part);
    } while (source[at] === "|");
    return parts.length === 1 ? parts[0] : { kind: "choice", parts };
  };

  const parseSequence = (depth: number): PatternNode | undefined => {
    const parts: PatternNode[] = [];
    while (at < source.length && source[at] !== "|" && source[at] !== ")") {
      const part = parseOne(depth);
      if (part === undefined) return undefined;
      const repeat = take("repeat");
      parts.push(repeat === null ? part : { kind: "repeat", part, ...range(repeat) });
    }
    return { kind: "sequence", parts };
  };

  const parseOne = (depth: number): PatternNode | undefined => {
    const assertion = take("assertion");
    if (assertion !== null) return { kind: "assertion", start: assertion[0] === "^" };
    const atom = take("atom");
    if (atom !== null) return charNode(atom[0]);
    if (depth > 20 || take("group") === null) return undefined;
    const inner = parseChoice(depth + 1);
    if (inner === undefined || source[at] !== ")") return undefined;
    at += 1;
    return inner;
  };

  try {
    // JavaScript decides whether the text is a pattern.
    void new RegExp(source);
  } catch {
    return undefined;
  }
  const tree = parseChoice(0);
  return at === source.length ? tree : undefined;
}

function range([, sign, least, comma, most]: RegExpExecArray): { min: number; max: number } {
  if (sign !== undefined)
    return { min: sign === "+" ? 1 : 0, max: sign === "?" ? 1 : Number.POSITIVE_INFINITY };
  const min = Number(least);
  if (comma === undefined) return { min, max: min };
  return { min, max: most === "" || most === undefined ? Number.POSITIVE_INFINITY : Number(most) };
}

/** JavaScript decides which characters an atom matches. */
function charNode(atom: string): PatternNode | undefined {
  // Escapes in a class that the samples support.
  if (atom.startsWith("[") && /\\(?![dDwWsStnrvf0]|[^A-Za-z0-9])/.test(atom)) return undefined;
  try {
    const test = new RegExp(`^${atom}$`);
    let set = 0n;
    for (const [bit, sample] of SAMPLES.entries()) if (test.test(sample)) set |= 1n << BigInt(bit);
    return { kind: "char", set };
  } catch {
    return undefined;
  }
}
