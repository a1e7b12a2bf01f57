// Translates an ECMAScript pattern (flag u) to RE2's syntax with the same meaning.

/** JavaScript's `\s` and `.` beyond ASCII. RE2's own `\s` is narrower and its `.` is wider. */
const SPACE =
  "\\t-\\r \\x{a0}\\x{1680}\\x{2000}-\\x{200a}\\x{2028}\\x{2029}\\x{202f}\\x{205f}\\x{3000}\\x{feff}";
const NOT_SPACE =
  "\\x{0}-\\x{8}\\x{e}-\\x{1f}!-\\x{9f}\\x{a1}-\\x{167f}\\x{1681}-\\x{1fff}\\x{200b}-\\x{2027}\\x{202a}-\\x{202e}" +
  "\\x{2030}-\\x{205e}\\x{2060}-\\x{2fff}\\x{3001}-\\x{fefe}\\x{ff00}-\\x{10ffff}";
const NOT_NEWLINE = "[^\\n\\r\\x{2028}\\x{2029}]";
const SURROGATE_PAIR = /^\\u([dD][89abAB][0-9a-fA-F]{2})\\u([dD][c-fC-F][0-9a-fA-F]{2})/;

/**
 * `pattern` must be valid under flag u. Look-around and back-references stay, so that RE2 refuses them;
 * undefined means that no translation has the same meaning.
 */
export function toRe2(pattern: string): string | undefined {
  let out = "";
  let inClass = false;
  for (let at = 0; at < pattern.length;) {
    const char = pattern[at] as string;
    if (char === "\\") {
      const escape = translateEscape(pattern.slice(at, at + 16), inClass);
      if (escape === undefined) return undefined;
      out += escape.text;
      at += escape.length;
    } else if (inClass) {
      // A "[" in a class is a plain character in JavaScript and may open "[:alpha:]" in RE2.
      out += char === "[" ? "\\[" : char;
      if (char === "]") inClass = false;
      at += 1;
    } else if (char === "[") {
      const everything = /^\[\^?\]/.exec(pattern.slice(at, at + 3))?.[0];
      if (everything !== undefined)
        out += everything === "[]" ? "[^\\x{0}-\\x{10ffff}]" : "[\\x{0}-\\x{10ffff}]";
      else {
        inClass = true;
        out += pattern[at + 1] === "^" ? "[^" : "[";
      }
      at += everything?.length ?? (pattern[at + 1] === "^" ? 2 : 1);
    } else if (char === ".") {
      out += NOT_NEWLINE;
      at += 1;
    } else {
      // Names of groups do not affect whether a text matches, and the two languages allow different ones.
      const named = char === "(" ? /^\(\?<(?![=!])[^>]*>/.exec(pattern.slice(at, at + 256)) : null;
      out += named === null ? char : "(?:";
      at += named === null ? 1 : named[0].length;
    }
  }
  return out;
}

function translateEscape(text: string, inClass: boolean): { text: string; length: number } | undefined {
  const next = text[1] ?? "";
  if (next === "s") return { text: inClass ? SPACE : `[${SPACE}]`, length: 2 };
  if (next === "S") return { text: inClass ? NOT_SPACE : `[^${SPACE}]`, length: 2 };
  if (next === "b" && inClass) return { text: "\\x{8}", length: 2 };
  if (next === "0") return { text: "\\x{0}", length: 2 };
  if (next === "-") return { text: "\\-", length: 2 };
  if (next === "c") return { text: `\\x{${((text.charCodeAt(2) || 0) % 32).toString(16)}}`, length: 3 };
  if (next === "u") return translateUnicode(text);
  return { text: text.slice(0, 2), length: 2 };
}

function translateUnicode(text: string): { text: string; length: number } | undefined {
  const pair = SURROGATE_PAIR.exec(text);
  if (pair !== null) {
    const point =
      String.fromCharCode(Number.parseInt(pair[1] ?? "", 16), Number.parseInt(pair[2] ?? "", 16)).codePointAt(
        0,
      ) ?? 0;
    return { text: `\\x{${point.toString(16)}}`, length: 12 };
  }
  const single = /^\\u(?:([0-9a-fA-F]{4})|\{([0-9a-fA-F]+)\})/.exec(text);
  const hex = single?.[1] ?? single?.[2];
  // RE2 does not support a lone surrogate.
  if (single === null || hex === undefined || /^0*[dD][89a-fA-F]..$/.test(hex)) return undefined;
  return { text: `\\x{${hex}}`, length: single[0].length };
}
