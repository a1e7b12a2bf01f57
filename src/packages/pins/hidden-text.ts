// Finds characters that a person does not see but a model reads: control, bidirectional, zero-width and tag characters.

export interface HiddenText {
  /** The kinds of hidden characters, each once. */
  readonly kinds: readonly string[];
  /** Text that tag characters spell out. */
  readonly decoded?: string;
}

type Range = readonly [from: number, to?: number];

const KINDS: Readonly<Record<string, readonly Range[]>> = {
  "control characters": [
    [0x00, 0x08],
    [0x0b, 0x0c],
    [0x0e, 0x1f],
    [0x7f, 0x9f],
  ],
  "zero-width characters": [[0x200b, 0x200d], [0x2060, 0x2065], [0xfeff], [0x180e]],
  "bidirectional controls": [[0x061c], [0x200e, 0x200f], [0x202a, 0x202e], [0x2066, 0x2069]],
  "deprecated format characters": [[0x206a, 0x206f]],
  "tag characters": [[0xe0000, 0xe007f]],
  "variation selectors": [[0xfe00, 0xfe0f], [0xe0100, 0xe01ef], [0x180b, 0x180d], [0x180f]],
  "blank characters": [[0xad], [0x034f], [0x115f, 0x1160], [0x17b4, 0x17b5], [0x2800], [0x3164], [0xffa0]],
  "special characters": [
    [0xfff0, 0xfffc],
    [0xe0080, 0xe00ff],
    [0xe01f0, 0xe0fff],
  ],
  "line separators": [[0x2028, 0x2029]],
  "invisible symbols": [
    [0x1bca0, 0x1bca3],
    [0x1d173, 0x1d17a],
  ],
  "private-use characters": [
    [0xe000, 0xf8ff],
    [0xf0000, 0xffffd],
    [0x100000, 0x10fffd],
  ],
  noncharacters: [
    [0xfdd0, 0xfdef],
    [0xfffe, 0xffff],
  ],
};

/** Emoji contain joiners, selectors and tags by right. */
const EMOJI = new RegExp("\\p{RGI_Emoji}", "gv");

/** Returns undefined for a text in which a person sees every character. */
export function findHiddenText(text: string): HiddenText | undefined {
  // Most texts are plain; they need no second look.
  if (/^[\t\n\r\x20-\x7e]*$/.test(text)) return undefined;
  const kinds = new Set<string>();
  let decoded = "";
  for (const character of text.replace(EMOJI, "")) {
    const code = character.codePointAt(0) ?? 0;
    const kind = kindOf(code);
    if (kind === undefined) continue;
    kinds.add(kind);
    if (code >= 0xe0020 && code <= 0xe007e) decoded += String.fromCodePoint(code - 0xe0000);
  }
  if (kinds.size === 0) return undefined;
  return { kinds: [...kinds], decoded: decoded === "" ? undefined : decoded };
}

/** The text without its hidden characters, for rules that look for words. */
export function withoutHiddenText(text: string): string {
  return Array.from(text)
    .filter((character) => kindOf(character.codePointAt(0) ?? 0) === undefined)
    .join("");
}

/** The text with each hidden character written as `<U+200B>`, so that a person sees it. */
export function visibleText(text: string): string {
  if (findHiddenText(text) === undefined) return text;
  return Array.from(text, (character) => {
    const code = character.codePointAt(0) ?? 0;
    return kindOf(code) === undefined ? character : `<U+${code.toString(16).toUpperCase().padStart(4, "0")}>`;
  }).join("");
}

function kindOf(code: number): string | undefined {
  // The last two code points of every plane are noncharacters.
  if ((code & 0xfffe) === 0xfffe) return "noncharacters";
  for (const [kind, ranges] of Object.entries(KINDS))
    if (ranges.some(([from, to = from]) => code >= from && code <= to)) return kind;
  return undefined;
}
