// Encodings in which a secret may leak: plain, JSON escapes, base64, hex and percent-encoding.

/** A form of this length is redacted wherever it stands. A shorter one could be a part of an ordinary word. */
export const MIN_LENGTH = 8;
/** A secret of several lines, such as a private key, is often printed line by line. */
const MIN_LINE = 8;
/** A shorter text in lower case could be an ordinary word. */
const MIN_SMALL = 12;

/** Returns all forms of a secret. The list may contain duplicates and empty texts. */
export function formsOf(value: string): string[] {
  const trimmed = value.trim();
  const plain = [value, trimmed];
  if (/[\r\n]/.test(trimmed))
    plain.push(
      ...value
        .split(/[\r\n]+/)
        .map((line) => line.trim())
        .filter((line) => line.length >= MIN_LINE),
    );
  // A value that is part of a host name appears in lower case.
  const small = trimmed.length >= MIN_SMALL ? [trimmed.toLowerCase()] : [];
  const encode = (text: string): string[] => [
    ...base64Forms(text),
    ...hexForms(text),
    ...jsonForms(text),
    ...percentForms(text),
  ];
  return [...plain, ...small, ...[...new Set([value, trimmed])].flatMap(encode)];
}

/** Returns the base64 form of the value alone, and the forms inside of other bytes that are long enough to be found anywhere. */
function base64Forms(value: string): string[] {
  // Without its padding, the form is found with and without padding.
  const alone = Buffer.from(value, "utf8").toString("base64").replace(/=+$/, "");
  const inside = innerBase64Forms(value).filter((form) => form.length >= MIN_LENGTH);
  return [...inBothAlphabets(alone), ...inside];
}

/**
 * Returns base64 forms of the value inside of other bytes, as in Basic authentication. Preceding bytes shift the bits by zero,
 * one or two bytes. The characters at both ends contain bits of the neighbours and are left out.
 */
export function innerBase64Forms(value: string): string[] {
  const bytes = Buffer.from(value, "utf8");
  return [0, 1, 2].flatMap((before) => {
    const end = before + bytes.length;
    const text = Buffer.concat([Buffer.alloc(before), bytes, Buffer.alloc(2)]).toString("base64");
    return inBothAlphabets(text.slice(Math.ceil((8 * before) / 6), Math.floor((8 * end) / 6)));
  });
}

function inBothAlphabets(base64: string): string[] {
  return [base64, base64.replaceAll("+", "-").replaceAll("/", "_")];
}

function hexForms(value: string): string[] {
  const hex = Buffer.from(value, "utf8").toString("hex");
  return [hex, hex.toUpperCase()];
}

/** Returns the forms that JSON encoders write: with and without escapes for slashes, HTML and non-ASCII characters, also inside of a JSON text. */
function jsonForms(value: string): string[] {
  const plain = JSON.stringify(value).slice(1, -1);
  const escape = (text: string, which: RegExp): string =>
    text.replace(which, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`);
  const ascii = escape(plain, /[\u0080-\uFFFF]/g);
  const forms = [plain, plain.replaceAll("/", "\\/"), ascii, escape(ascii, /[<>&'\u007F]/g)];
  const upper = forms.map((form) =>
    form.replace(/\\u[\da-f]{4}/g, (code) => `\\u${code.slice(2).toUpperCase()}`),
  );
  const all = [...new Set([...forms, ...upper])];
  return [...all, ...all.map((form) => JSON.stringify(form).slice(1, -1))];
}

function percentForms(value: string): string[] {
  const form = new URLSearchParams([["", value]]).toString().slice(1);
  const every = Buffer.from(value, "utf8").toString("hex").toUpperCase().replace(/../g, "%$&");
  const forms = [form, form.replaceAll("+", "%20"), every];
  try {
    const component = encodeURIComponent(value);
    const strict = component.replace(
      /[!'()*]/g,
      (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`,
    );
    const whole = encodeURI(value);
    forms.push(component, component.replaceAll("%20", "+"), strict, whole, whole.replaceAll("'", "%27"));
  } catch {
    // A lone surrogate has no percent-encoding.
  }
  return forms.flatMap((text) => [text, text.replace(/%[0-9A-F]{2}/g, (hex) => hex.toLowerCase())]);
}

/** Returns a pattern that matches each form as a whole word, or undefined for an empty list. */
export function standAlonePattern(forms: readonly string[]): RegExp | undefined {
  if (forms.length === 0) return undefined;
  const words = forms
    .toSorted((a, b) => b.length - a.length)
    .map((form) => form.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&"));
  return new RegExp(`(?<![\\p{L}\\p{N}_])(?:${words.join("|")})(?![\\p{L}\\p{N}_])`, "gu");
}
