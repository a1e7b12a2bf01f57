// The forms in which a secret leaks: as it is, escaped for JSON, and encoded as base64, hex or for URLs.

export const MIN_LENGTH = 4;
/** A secret of several lines, such as a private key, is often printed line by line. */
const MIN_LINE = 8;
/** In small letters a shorter one could be an ordinary word. */
const MIN_SMALL = 12;

/** May hold the same form twice, and empty ones. */
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
  // Host names come in small letters, whoever puts a value into one.
  const small = trimmed.length >= MIN_SMALL ? [trimmed.toLowerCase()] : [];
  const encode = (text: string): string[] => [
    ...base64Forms(text),
    ...hexForms(text),
    ...jsonForms(text),
    ...percentForms(text),
  ];
  return [...plain, ...small, ...[...new Set([value, trimmed])].flatMap(encode)];
}

/**
 * By itself; and amid other bytes, as in the credentials of Basic authentication: there, what stands before it shifts its bits by none,
 * one or two bytes, and the characters at both ends that hold bits of its neighbours differ.
 */
function base64Forms(value: string): string[] {
  const bytes = Buffer.from(value, "utf8");
  // Without padding: found with and without it.
  const alone = bytes.toString("base64").replace(/=+$/, "");
  const amid = [0, 1, 2].map((before) => {
    const end = before + bytes.length;
    const text = Buffer.concat([Buffer.alloc(before), bytes, Buffer.alloc(2)]).toString("base64");
    return text.slice(Math.ceil((8 * before) / 6), Math.floor((8 * end) / 6));
  });
  const forms = bytes.length < MIN_LENGTH ? [alone] : [alone, ...amid];
  return forms.flatMap((form) => [form, form.replaceAll("+", "-").replaceAll("/", "_")]);
}

function hexForms(value: string): string[] {
  const hex = Buffer.from(value, "utf8").toString("hex");
  return [hex, hex.toUpperCase()];
}

/** As JSON encoders write it: with or without escapes for slashes, for characters of HTML and beyond ASCII; and inside of a JSON text. */
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
    // A lone surrogate has no percent-encoding of its own.
  }
  return forms.flatMap((text) => [text, text.replace(/%[0-9A-F]{2}/g, (hex) => hex.toLowerCase())]);
}

/** Any of these where no letter, digit or underscore is beside it; undefined when there are none. */
export function standAlonePattern(forms: readonly string[]): RegExp | undefined {
  if (forms.length === 0) return undefined;
  const words = forms
    .toSorted((a, b) => b.length - a.length)
    .map((form) => form.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&"));
  return new RegExp(`(?<![\\p{L}\\p{N}_])(?:${words.join("|")})(?![\\p{L}\\p{N}_])`, "gu");
}
