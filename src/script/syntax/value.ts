// Values of a script: objects, lists, texts, numbers and references, with comments and trailing commas; and calls of tools.

import { SCRIPT_LIMITS } from "../limits.ts";
import type { Call, Entry, ObjectNode, Value } from "./ast.ts";
import type { Cursor } from "./cursor.ts";
import { quoted } from "./cursor.ts";
import { parseBlock, parseQuoted, parseReference, parseString } from "./template.ts";

const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?(?![\w.])/y;
const KEY = /[A-Za-z_$][A-Za-z0-9_$-]*/y;
const TOOL = /[A-Za-z_][A-Za-z0-9_-]*/y;
const WORDS: ReadonlyMap<string, null | boolean> = new Map([
  ["true", true],
  ["false", false],
  ["null", null],
]);

export function parseValue(cursor: Cursor, depth = 0): Value {
  const { at } = cursor;
  if (depth > SCRIPT_LIMITS.depth)
    cursor.fail(`Values are nested more than ${SCRIPT_LIMITS.depth} levels deep`);
  const char = cursor.text.charAt(at);
  if (char === "{") return parseObject(cursor, depth);
  if (cursor.peek("[[")) return parseBlock(cursor);
  if (char === "[") return parseList(cursor, depth);
  if (char === '"' || char === "'") return parseString(cursor);
  if (char === "-" || (char >= "0" && char <= "9")) {
    const number = Number(cursor.match(NUMBER) ?? cursor.fail(`${cursor.found()} is not a number`));
    if (!Number.isFinite(number)) cursor.fail("The number is too large", undefined, at);
    return { kind: "literal", value: number, at };
  }
  if (!/[@A-Za-z_]/.test(char)) cursor.fail(`A value is expected, not ${cursor.found()}`);
  const reference = parseReference(cursor);
  const literal = WORDS.get(reference.name);
  if (literal !== undefined && char !== "@" && reference.steps.length === 0)
    return { kind: "literal", value: literal, at };
  if (cursor.peek("("))
    cursor.fail(
      "A call cannot be a part of a value",
      `Call it in a statement of its own: @mcp result = ${cursor.text.slice(at, Math.min(cursor.at, at + 40))}(…)`,
      at,
    );
  return reference;
}

export function parseObject(cursor: Cursor, depth = 0): ObjectNode {
  const { at } = cursor;
  cursor.expect("{", "before an object");
  const entries: Entry[] = [];
  const names = new Set<string>();
  for (;;) {
    cursor.gap();
    if (cursor.take("}")) return { kind: "object", entries, at };
    const start = cursor.at;
    const name =
      cursor.peek('"') || cursor.peek("'")
        ? parseQuoted(cursor)
        : (cursor.match(KEY) ??
          cursor.fail(
            `The name of a field or } is expected, not ${cursor.found()}`,
            cursor.at >= cursor.text.length ? "The object is not closed." : undefined,
          ));
    if (names.has(name)) cursor.fail(`The object has two fields ${quoted(name)}`, undefined, start);
    names.add(name);
    cursor.gap();
    cursor.expect(":", `after the field ${quoted(name)}`);
    cursor.gap();
    entries.push({ name, value: parseValue(cursor, depth + 1), at: start });
    cursor.gap();
    if (!cursor.take(",") && !cursor.peek("}"))
      cursor.fail(`A comma or } is expected after the field ${quoted(name)}, not ${cursor.found()}`);
  }
}

function parseList(cursor: Cursor, depth: number): Value {
  const { at } = cursor;
  cursor.at += 1;
  return { kind: "list", items: parseItems(cursor, "]", "a list", depth + 1), at };
}

function parseItems(cursor: Cursor, close: string, what: string, depth: number): Value[] {
  const items: Value[] = [];
  for (;;) {
    cursor.gap();
    if (cursor.take(close)) return items;
    items.push(parseValue(cursor, depth));
    cursor.gap();
    if (!cursor.take(",") && !cursor.peek(close))
      cursor.fail(`A comma or ${close} is expected in ${what}, not ${cursor.found()}`);
  }
}

/** Reads a call at the cursor; undefined, with the cursor unmoved, when the text there is not a call. */
export function parseCall(cursor: Cursor): Call | undefined {
  const { at } = cursor;
  const isMarked = cursor.take("@");
  const first = cursor.match(/[A-Za-z_][A-Za-z0-9_]*/y);
  const none = (): undefined => {
    cursor.at = at;
    return undefined;
  };
  if (first === undefined) return none();
  let toolAt = at;
  let tool: string | undefined;
  if (cursor.take(".")) {
    toolAt = cursor.at;
    tool = cursor.match(TOOL);
    if (tool === undefined) return none();
  } else if (cursor.peek('["') || cursor.peek("['")) {
    cursor.at += 1;
    toolAt = cursor.at;
    tool = parseQuoted(cursor);
    if (!cursor.take("]")) return none();
  } else if (!isMarked) return none();
  if (!cursor.take("(")) return none();
  const args = parseItems(cursor, ")", "the arguments", 0);
  const named = { kind: "call", args, at, toolAt } as const;
  return tool === undefined
    ? { ...named, server: undefined, tool: first }
    : { ...named, server: first, tool };
}
