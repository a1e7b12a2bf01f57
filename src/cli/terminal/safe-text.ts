// Untrusted text made safe to show: it cannot move the cursor, set the clipboard, or hide or reorder other text.

/** Colour and cursor sequences carry no content, so they are removed; every other escape stays visible. */
const CSI = /(?:\u001b\[|\u009b)[0-?]{0,64}[ -/]{0,8}[@-~]/g;
const EMOJI_JOINER =
  /(?<=\p{Extended_Pictographic}[\u{1f3fb}-\u{1f3ff}\ufe0f]?)\u200d(?=\p{Extended_Pictographic})/gu;
const CONTROL = /[\u0000-\u0008\u000b-\u001f\u007f]/g;
const C1 = /[\u0080-\u009f]/g;

/** Invisible characters and those that change the reading order: zero-width, bidirectional controls, tags, stacked selectors. */
const HIDDEN_CLASS =
  "\\u00ad\\u034f\\u061c\\u115f\\u1160\\u17b4\\u17b5\\u180b-\\u180f\\u200b-\\u200f\\u202a-\\u202e\\u2060-\\u206f\\u3164\\ufeff\\uffa0\\ufff0-\\ufffb" +
  "\\u{1d173}-\\u{1d17a}\\u{e0000}-\\u{e0fff}";
const HIDDEN = new RegExp(`[${HIDDEN_CLASS}]+|[\\ufe00-\\ufe0f]{2,}|\\p{Surrogate}+`, "gu");
const ESCAPED_IN_JSON = new RegExp(`[\\u007f-\\u009f\\u2028\\u2029${HIDDEN_CLASS}]`, "gu");

const REPLACEMENT = "\ufffd";

/** Removes everything that a terminal would interpret, except newlines and tabs. Each removed character leaves a visible mark. */
export function plainText(text: unknown): string {
  return asString(text)
    .replace(CSI, "")
    .replace(/\r\n|[\u2028\u2029]/g, "\n")
    .replace(CONTROL, (character) =>
      character === "\u007f" ? "\u2421" : String.fromCharCode(0x2400 + character.charCodeAt(0)),
    )
    .replace(C1, REPLACEMENT)
    .replace(EMOJI_JOINER, "")
    .replace(HIDDEN, REPLACEMENT);
}

/** The safe text as one line of at most `max` characters. */
export function plainLine(text: unknown, max = 200): string {
  const line = plainText(asString(text).slice(0, max * 8))
    .replace(/\s+/g, " ")
    .trim();
  const characters = Array.from(line);
  return characters.length <= max ? line : `${characters.slice(0, Math.max(0, max - 1)).join("")}…`;
}

/** JSON that is safe to show: control and hidden characters are written as \u escapes. */
export function toJsonText(value: unknown, indent?: number): string {
  return stringify(value, indent).replace(ESCAPED_IN_JSON, escapeUnits);
}

function stringify(value: unknown, indent?: number): string {
  try {
    return JSON.stringify(value, null, indent) ?? "null";
  } catch (thrown) {
    // A server may send JSON that is nested too deeply for the recursion of JSON.stringify.
    if (thrown instanceof RangeError) return stringifyDeep(value);
    throw thrown;
  }
}

/** Writes JSON without recursion, and without indentation, which would grow with the square of the depth. */
function stringifyDeep(root: unknown): string {
  const parts: string[] = [];
  const todo: ({ text: string } | { value: unknown })[] = [{ value: root }];
  for (let next = todo.pop(); next !== undefined; next = todo.pop()) {
    if ("text" in next) parts.push(next.text);
    else if (typeof next.value !== "object" || next.value === null)
      parts.push(JSON.stringify(next.value) ?? "null");
    else {
      const isArray = Array.isArray(next.value);
      todo.push({ text: isArray ? "]" : "}" });
      const entries = Object.entries(next.value);
      for (let index = entries.length - 1; index >= 0; index -= 1) {
        const [key, value] = entries[index] as [string, unknown];
        todo.push({ value }, { text: `${index > 0 ? "," : ""}${isArray ? "" : `${JSON.stringify(key)}:`}` });
      }
      parts.push(isArray ? "[" : "{");
    }
  }
  return parts.join("");
}

/** A server may send any value where the protocol requires text. */
function asString(text: unknown): string {
  return typeof text === "string" ? text : text === undefined ? "" : JSON.stringify(text);
}

function escapeUnits(character: string): string {
  let escaped = "";
  for (let index = 0; index < character.length; index += 1) {
    escaped += `\\u${character.charCodeAt(index).toString(16).padStart(4, "0")}`;
  }
  return escaped;
}
