// One change in a JSON text with comments, which keeps all other bytes; values as JSON text.
// (jsonc-parser's own `modify` formats the whole lines that it touches.)

import type { Node } from "jsonc-parser";
import type { Path } from "../node.ts";
import { members, nodeAt, parseJson, parseJsonTree } from "./json-parse.ts";
import { type JsonStyle, jsonStyleOf, PLAIN_STYLE, toJsonKey, toJsonText } from "./json-render.ts";
import type { Syntax } from "./text-document.ts";
import { type Change, nest } from "./values.ts";

export const JSON_SYNTAX: Syntax = {
  parse: parseJson,
  edit: editJson,
  render: (value) => `${toJsonText(value, PLAIN_STYLE)}\n`,
};

function editJson(text: string, { path, value }: Change): string {
  const tree = parseJsonTree(text);
  if (tree === undefined) return text;
  return value === undefined ? remove(text, tree, path) : set(text, tree, path, value);
}

function set(text: string, tree: Node, path: Path, value: unknown): string {
  const style = jsonStyleOf(text);
  let length = path.length;
  while (length > 0 && nodeAt(tree, path.slice(0, length)) === undefined) length -= 1;
  const node = nodeAt(tree, path.slice(0, length)) ?? tree;
  const [step, ...rest] = path.slice(length);
  if (step !== undefined && node.type === (typeof step === "number" ? "array" : "object"))
    return insert(text, node, typeof step === "string" ? step : undefined, nest(rest, value), style);
  const wanted = nest(path.slice(length), value);
  const own = styleAt(text, node, style);
  return splice(text, node.offset, node.length, toJsonText(wanted, own, indentAt(text, node.offset)));
}

/** A new last child: after what stands there, in the way it stands there. */
function insert(
  text: string,
  parent: Node,
  key: string | undefined,
  value: unknown,
  style: JsonStyle,
): string {
  const own = styleAt(text, parent, style);
  const label = key === undefined ? "" : toJsonKey(key, own);
  const start = parent.offset + 1;
  const close = parent.offset + parent.length - 1;
  const inside = text.slice(start, close);
  const outer = indentAt(text, parent.offset);
  if (inside.trim() === "") {
    if (own.unit === undefined) return splice(text, start, inside.length, label + toJsonText(value, own));
    const indent = outer + own.unit;
    const line = `${own.eol}${indent}${label}${toJsonText(value, own, indent)}${own.eol}${outer}`;
    return splice(text, start, inside.length, line);
  }
  const last = parent.children?.at(-1);
  const after = last === undefined ? undefined : last.offset + last.length;
  const end = start + inside.trimEnd().length;
  if (!inside.includes("\n")) {
    const separator = after === undefined ? " " : own.spaced ? ", " : ",";
    return splice(text, after ?? end, 0, `${separator}${label}${toJsonText(value, own)}`);
  }
  const indent = last === undefined ? outer + (own.unit ?? "") : indentAt(text, last.offset);
  const line = `${own.eol}${indent}${label}${toJsonText(value, own, indent)}`;
  // With a trailing comma the new child gets one too; otherwise the child before it gets its first.
  if (after === undefined) return splice(text, end, 0, line);
  if (commaAfter(text, after, close) !== undefined) return splice(text, end, 0, `${line},`);
  return splice(splice(text, end, 0, line), after, 0, ",");
}

function remove(text: string, tree: Node, path: Path): string {
  const node = nodeAt(tree, path);
  const child = node?.parent?.type === "property" ? node.parent : node;
  const parent = child?.parent;
  if (child === undefined || parent === undefined) return text;
  const siblings =
    parent.type === "object" ? members(parent).map(({ property }) => property) : (parent.children ?? []);
  const index = siblings.indexOf(child);
  const close = parent.offset + parent.length - 1;
  const after = child.offset + child.length;
  const comma = commaAfter(text, after, close);
  if (comma !== undefined || index === 0)
    return cutLines(text, child.offset, comma === undefined ? after : comma + 1);
  const before = siblings[index - 1];
  const cut = cutLines(text, child.offset, after);
  const previous =
    before === undefined ? undefined : commaAfter(text, before.offset + before.length, child.offset);
  return previous === undefined ? cut : splice(cut, previous, 1, "");
}

/** Without the characters, and without their lines when nothing else stands on them. */
function cutLines(text: string, start: number, end: number): string {
  const lineStart = text.lastIndexOf("\n", start - 1) + 1;
  const newline = text.indexOf("\n", end);
  const lineEnd = newline === -1 ? text.length : newline + 1;
  if (text.slice(lineStart, start).trim() === "" && text.slice(end, lineEnd).trim() === "" && lineStart > 0)
    return splice(text, lineStart, lineEnd - lineStart, "");
  const blanks = /^[ \t]*/.exec(text.slice(end))?.[0].length ?? 0;
  return splice(text, start, end - start + blanks, "");
}

/** The comma that follows a child, past blanks and comments. */
function commaAfter(text: string, from: number, to: number): number | undefined {
  const trivia = /(?:\s|\/\/[^\n]*|\/\*[\s\S]*?\*\/)*/y;
  trivia.lastIndex = from;
  const at = from + (trivia.exec(text)?.[0].length ?? 0);
  return at < to && text[at] === "," ? at : undefined;
}

/** A value on one line, or inside of one, stays on one line. */
function styleAt(text: string, node: Node, style: JsonStyle): JsonStyle {
  for (let at: Node | undefined = node; at !== undefined; at = at.parent) {
    if (at.type === "property" || (at.children?.length ?? 0) === 0) continue;
    const isOneLine = !text.slice(at.offset, at.offset + at.length).includes("\n");
    return isOneLine ? { ...style, unit: undefined } : style;
  }
  return style;
}

function indentAt(text: string, offset: number): string {
  const start = text.lastIndexOf("\n", offset - 1) + 1;
  return /^[ \t]*/.exec(text.slice(start, offset))?.[0] ?? "";
}

function splice(text: string, offset: number, length: number, replacement: string): string {
  return text.slice(0, offset) + replacement + text.slice(offset + length);
}
