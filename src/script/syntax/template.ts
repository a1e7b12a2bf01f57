// Templates: text with `{{name.path}}` in it. A template is parsed once, with the script; values are inserted and never parsed.

import type { Reference, Step, Template } from "./ast.ts";
import { Cursor, SyntaxProblem } from "./cursor.ts";

const MAX_STEPS = 32;
const STEP_NAME = /[A-Za-z_][A-Za-z0-9_-]*/y;
const INDEX = /0|[1-9]\d{0,8}/y;

/** Reads `name.path[0]["key"]` at the cursor; an `@` before the name is optional. */
export function parseReference(cursor: Cursor): Reference {
  const { at } = cursor;
  cursor.take("@");
  const name = cursor.name("a variable");
  return { kind: "reference", name, steps: parseSteps(cursor), at };
}

function parseSteps(cursor: Cursor): Step[] {
  const steps: Step[] = [];
  for (;;) {
    if (steps.length > MAX_STEPS) cursor.fail(`A path has more than ${MAX_STEPS} steps`);
    if (cursor.take(".")) {
      const name = cursor.match(STEP_NAME);
      if (name === undefined)
        cursor.fail(`The name of a field is expected after ".", not ${cursor.found()}`, 'Or write ["name"].');
      steps.push({ name });
    } else if (cursor.take("[")) {
      cursor.spaces();
      const index = cursor.match(INDEX);
      if (index !== undefined) steps.push({ index: Number(index) });
      else if (cursor.peek('"') || cursor.peek("'")) steps.push({ name: parseQuoted(cursor) });
      else cursor.fail(`A number or a quoted name is expected after "[", not ${cursor.found()}`);
      cursor.spaces();
      cursor.expect("]", "after a step of a path");
    } else return steps;
  }
}

const ESCAPES: Readonly<Record<string, string>> = {
  '"': '"',
  "'": "'",
  "\\": "\\",
  "/": "/",
  "{": "{",
  n: "\n",
  r: "\r",
  t: "\t",
};

/** Reads a quoted text without references. */
export function parseQuoted(cursor: Cursor): string {
  const { parts, at } = parseString(cursor);
  const [only = ""] = parts;
  if (parts.length > 1 || typeof only !== "string")
    throw new SyntaxProblem(at, "This text cannot contain {{…}}.", "Write the text itself.");
  return only;
}

/** Reads a quoted text of one line. References are replaced in "…" only; '…' is literal. */
export function parseString(cursor: Cursor): Template {
  const { at } = cursor;
  const quote = cursor.text.charAt(at);
  cursor.at += 1;
  const parts = new Parts();
  for (;;) {
    const char = cursor.text.charAt(cursor.at);
    if (char === "" || char === "\n")
      cursor.fail(`The text is not closed: ${quote} is missing`, "For several lines, write [[ … ]].", at);
    if (char === quote) {
      cursor.at += 1;
      return { kind: "template", parts: parts.done(), at };
    }
    if (char === "\\") parts.text(parseEscape(cursor));
    else if (quote === '"' && cursor.peek("{{")) parts.reference(parsePlaceholder(cursor));
    else {
      parts.text(char);
      cursor.at += 1;
    }
  }
}

function parseEscape(cursor: Cursor): string {
  const char = cursor.text.charAt(cursor.at + 1);
  if (char === "u") {
    const hex = /^[0-9a-fA-F]{4}/.exec(cursor.text.slice(cursor.at + 2, cursor.at + 6))?.[0];
    if (hex === undefined) cursor.fail("Four hexadecimal digits are expected after \\u");
    cursor.at += 6;
    return String.fromCharCode(Number.parseInt(hex, 16));
  }
  if (!Object.hasOwn(ESCAPES, char))
    cursor.fail(
      `\\${char === "\n" ? "" : char} is not an escape`,
      "The escapes are \\n, \\t, \\r, \\\\, \\/, \\\", \\', \\{ and \\uXXXX.",
    );
  cursor.at += 2;
  return ESCAPES[char] as string;
}

/** Reads `[[ … ]]`, which may have several lines. A line break directly inside of the brackets does not count. */
export function parseBlock(cursor: Cursor): Template {
  const { at } = cursor;
  cursor.at += 2;
  cursor.take("\n");
  const close = cursor.text.indexOf("]]", cursor.at);
  if (close === -1) cursor.fail("The template is not closed: ]] is missing", undefined, at);
  const end = cursor.text.charAt(close - 1) === "\n" && close > cursor.at ? close - 1 : close;
  const parts = parseParts(cursor.text, cursor.at, end);
  cursor.at = close + 2;
  return { kind: "template", parts, at };
}

/** Parses the text from `start` to `end`. `\{{` stands for a literal `{{`. */
export function parseParts(text: string, start: number, end: number): (string | Reference)[] {
  const parts = new Parts();
  // The copy ends where the template ends, so that a placeholder cannot extend beyond it.
  const cursor = new Cursor(text.slice(0, end), start);
  while (cursor.at < end) {
    const open = cursor.text.indexOf("{{", cursor.at);
    if (open === -1) {
      parts.text(text.slice(cursor.at, end));
      break;
    }
    const isEscaped = open > start && text.charAt(open - 1) === "\\" && open - 1 >= cursor.at;
    parts.text(text.slice(cursor.at, isEscaped ? open - 1 : open));
    cursor.at = open;
    if (isEscaped) {
      parts.text("{{");
      cursor.at += 2;
    } else parts.reference(parsePlaceholder(cursor));
  }
  return parts.done();
}

/** Reads `{{ name.path }}`. */
function parsePlaceholder(cursor: Cursor): Reference {
  const { at } = cursor;
  cursor.at += 2;
  cursor.spaces();
  const reference = parseReference(cursor);
  cursor.spaces();
  cursor.expect(
    "}}",
    "after a variable",
    "Write {{name}}, {{name.field}} or {{name.list[0]}}; \\{{ is literal.",
  );
  return { ...reference, at };
}

class Parts {
  readonly #parts: (string | Reference)[] = [];
  #text = "";

  text(text: string): void {
    this.#text += text;
  }

  reference(reference: Reference): void {
    this.#endText();
    this.#parts.push(reference);
  }

  done(): (string | Reference)[] {
    this.#endText();
    return this.#parts;
  }

  #endText(): void {
    if (this.#text !== "") this.#parts.push(this.#text);
    this.#text = "";
  }
}
