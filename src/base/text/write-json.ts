// JSON text of values with long strings without special characters, such as base64 data. The text is the same as the one of
// JSON.stringify(), which looks at every character and takes four times as long for them.

/** Shorter strings are not worth a search for special characters. */
export const LONG_CHARS = 8_192;
/** Long strings are searched in this many values, as deep as the data of a tool result is in its message. */
const MAX_VALUES = 48;
const MAX_DEPTH = 5;
/** The characters that JSON escapes, the frequent ones first. */
const ESCAPED = ["\n", '"', "\\", ...Array.from({ length: 32 }, (_, code) => String.fromCharCode(code))];

/** For values that probably contain a long string: the search costs time. Throws what JSON.stringify() throws. */
export function writeJson(value: object): string {
  return write(value) as string;
}

/** The string as JSON. */
export function quoteJson(text: string): string {
  if (text.length < LONG_CHARS || ESCAPED.some((char) => text.includes(char)) || !text.isWellFormed())
    return JSON.stringify(text);
  return `"${text}"`;
}

/** The fields of an object as JSON, without the braces: removing them from a long text would copy it. */
export function writeFields(value: object): string {
  let fields = "";
  for (const [name, field] of Object.entries(value)) {
    const text = write(field);
    if (text !== undefined) fields += `${fields === "" ? "" : ","}${JSON.stringify(name)}:${text}`;
  }
  return fields;
}

/** Undefined for values that have no JSON form, such as functions. Texts are appended: `join()` would copy the long ones at each level. */
function write(value: unknown): string | undefined {
  if (typeof value === "string") return quoteJson(value);
  if (!hasLongString(value)) return JSON.stringify(value);
  if (!Array.isArray(value)) return `{${writeFields(value as object)}}`;
  let items = "";
  for (const item of value) items += `${items === "" ? "" : ","}${write(item) ?? "null"}`;
  return `[${items}]`;
}

/** True if one of the first values of an array or object is a long string. */
function hasLongString(value: unknown): boolean {
  let left = MAX_VALUES;
  const search = (given: unknown, depth: number): boolean => {
    if (typeof given === "string") return given.length >= LONG_CHARS;
    if (typeof given !== "object" || given === null || depth > MAX_DEPTH) return false;
    // A value that writes itself.
    if ("toJSON" in given) return false;
    for (const name in given) {
      if ((left -= 1) < 0) return false;
      if (search((given as Readonly<Record<string, unknown>>)[name], depth + 1)) return true;
    }
    return false;
  };
  return search(value, 0);
}
