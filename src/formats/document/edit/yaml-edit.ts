// One change in a YAML text. Blocks are changed by whole lines, collections in brackets within their line.

import {
  type Document,
  isCollection,
  isMap,
  isNode,
  isPair,
  isScalar,
  isSeq,
  type Node,
  type YAMLMap,
  type YAMLSeq,
} from "yaml";
import { isObject } from "../../../model/index.ts";
import type { Path } from "../node.ts";
import { composeYaml } from "../read-yaml.ts";
import { renderYaml } from "../render-yaml.ts";
import type { Syntax } from "./text-document.ts";
import { type Change, nest } from "./values.ts";
import { type FoundNode, parseYaml, yamlNodeAt } from "./yaml-parse.ts";

export const YAML_SYNTAX: Syntax = { parse: parseYaml, edit: editYaml, render: toBlock };

type Collection = YAMLMap | YAMLSeq;

/** Offsets of a member or an item: from its key or dash to its last character. */
interface Span {
  readonly start: number;
  readonly end: number;
}

function editYaml(text: string, { path, value }: Change): string {
  const tree = composeYaml(text);
  return value === undefined ? remove(text, tree, path) : set(text, tree, path, value);
}

function set(text: string, tree: Document.Parsed, path: Path, value: unknown): string {
  let length = path.length;
  while (length > 0 && yamlNodeAt(tree, path.slice(0, length)) === undefined) length -= 1;
  const found = yamlNodeAt(tree, path.slice(0, length));
  const wanted = nest(path.slice(length), value);
  // A text that has only comments.
  if (found === undefined)
    return addLines(text, text.trimEnd().length, text.length, toBlock(wanted), 0, true);
  const { node, parent } = found;
  const step = path[length];
  const accepts = typeof step === "number" ? isSeq(node) : step !== undefined && isMap(node);
  if (!accepts) return replace(text, found, wanted);
  const collection = node as Collection;
  if (collection.flow !== true) return addToBlock(text, tree, collection, toBlock(wanted));
  if (collection.items.length === 0 && parent !== undefined) return replace(text, found, wanted);
  return addToFlow(text, collection, toFlow(wanted).slice(1, -1));
}

/** An empty value in a block gives way to a block. Any other value is replaced on its line, with the comments inside of it. */
function replace(text: string, { node, parent, key }: FoundNode, value: unknown): string {
  const end = endOf(text, node);
  const start = node.range?.[0] ?? end;
  const colon = key === undefined ? -1 : text.indexOf(":", key.range?.[1] ?? start);
  if (key != null && colon >= 0 && parent?.flow !== true && isEmpty(node) && isBlock(value)) {
    const cut = text.slice(0, colon + 1) + text.slice(start === end ? colon + 1 : end);
    const at = endOfLine(cut, colon);
    return addLines(cut, at, at, toBlock(value), columnOf(text, key.range?.[0] ?? 0) + 2, false);
  }
  const isOnNextLine = colon >= 0 && colon < start && text.slice(colon, start).includes("\n");
  const before = text.slice(0, isOnNextLine ? colon + 1 : start);
  return `${before}${/[\s[{,]$/.test(before) ? "" : " "}${toFlow(value)}${text.slice(end)}`;
}

function addToFlow(text: string, node: Collection, piece: string): string {
  const last = node.items.at(-1);
  const end = last === undefined ? (node.range?.[1] ?? 1) - 1 : endOf(text, last);
  return `${text.slice(0, end)}${last === undefined ? "" : ", "}${piece}${text.slice(end)}`;
}

/** After the last child, with an empty line between them if the last two have one. At the root, at the end of the text. */
function addToBlock(text: string, tree: Document.Parsed, node: Collection, block: string): string {
  const indent = columnOf(text, node.range?.[0] ?? 0);
  const count = node.items.length;
  const last = linesOf(text, spanOf(text, node, count - 1));
  const between = count < 2 ? "" : text.slice(linesOf(text, spanOf(text, node, count - 2)).end, last.start);
  const isSpaced = /^[ \t]*\r?\n/m.test(between);
  if (node !== tree.contents || tree.directives.docEnd)
    return addLines(text, last.end, last.end, block, indent, isSpaced);
  const isLong = block.trimEnd().includes("\n");
  return addLines(text, text.trimEnd().length, text.length, block, indent, isSpaced || isLong);
}

/** The text with these lines in place of everything between the two offsets. */
function addLines(
  text: string,
  from: number,
  to: number,
  block: string,
  indent: number,
  isSpaced: boolean,
): string {
  const eol = text.includes("\r\n") ? "\r\n" : "\n";
  const before = text.slice(0, from);
  const gap = (before === "" || before.endsWith("\n") ? "" : eol) + (isSpaced && before !== "" ? eol : "");
  const lines = block
    .trimEnd()
    .split("\n")
    .map((line) => " ".repeat(indent) + line + eol);
  return before + gap + lines.join("") + text.slice(to);
}

function remove(text: string, tree: Document.Parsed, path: Path): string {
  const { parent, index = 0 } = yamlNodeAt(tree, path) ?? {};
  const above = yamlNodeAt(tree, path.slice(0, -1));
  if (above === undefined || parent === undefined) return text;
  const child = spanOf(text, parent, index);
  const isOnly = parent.items.length === 1;
  if (parent.flow === true) return cutFromFlow(text, child);
  // The first member of a list item shares its line with the dash, so the next one moves up to it.
  const isOwnLine = text.slice(startOfLine(text, child.start), child.start).trim() === "";
  if (!isOwnLine && !isOnly)
    return text.slice(0, child.start) + text.slice(linesOf(text, child).end).replace(/^[ \t]+/, "");
  // A block needs something in it.
  const empty = isMap(parent) ? "{}" : "[]";
  if (!isOnly) return cutLines(text, child, index === 0);
  if (above.key == null || !isOwnLine) return replace(text, above, isMap(parent) ? {} : []);
  const colon = text.indexOf(":", above.key.range?.[1] ?? 0) + 1;
  const rest = cutLines(text, child, true);
  return `${rest.slice(0, colon)} ${empty}${rest.slice(colon)}`;
}

function cutFromFlow(text: string, { start, end }: Span): string {
  const comma = /^\s*,\s*/.exec(text.slice(end));
  const before = /,\s*$/.exec(text.slice(0, start));
  if (comma === null && before !== null) return text.slice(0, before.index) + text.slice(end);
  return text.slice(0, start) + text.slice(end + (comma?.[0].length ?? 0));
}

/** Without the lines of a child and the comment directly above it. A comment above the first child may be about all of them. */
function cutLines(text: string, child: Span, isFirst: boolean): string {
  let { start, end } = linesOf(text, child);
  const lineAbove = (): string => text.slice(startOfLine(text, start - 1), start);
  const indent = columnOf(text, child.start);
  while (!isFirst && commentIndent(lineAbove()) === indent) start -= lineAbove().length;
  // Of two empty lines around the child, one stays.
  const isSpaced = start > 0 && (lineAbove().trim() === "" || (isFirst && commentIndent(lineAbove()) === -1));
  if (isSpaced) end += /^[ \t]*\r?\n/.exec(text.slice(end))?.[0].length ?? 0;
  const kept = text.slice(0, start);
  return end < text.length ? kept + text.slice(end) : kept.replace(/(\r?\n)\s*$/, "$1");
}

/** The whole lines of a child, with comments below that are indented more than the child. */
function linesOf(text: string, child: Span): Span {
  const indent = columnOf(text, child.start);
  let end = endOfLine(text, child.end);
  for (;;) {
    const line = text.slice(end, endOfLine(text, end));
    if (commentIndent(line) <= indent) return { start: startOfLine(text, child.start), end };
    end += line.length;
  }
}

function spanOf(text: string, parent: Collection, index: number): Span {
  const child = parent.items[index];
  const start = ((isPair(child) ? child.key : child) as Node).range?.[0] ?? 0;
  const isItem = isSeq(parent) && parent.flow !== true;
  return { start: isItem ? text.lastIndexOf("-", start - 1) : start, end: endOf(text, child) };
}

/** Where the last character of a child ends; the range of a block also contains the lines that follow it. */
function endOf(text: string, child: unknown): number {
  if (isPair(child)) return Math.max(endOf(text, child.key), endOf(text, child.value));
  if (!isNode(child) || child.range == null) return 0;
  const [start, end] = child.range;
  if (isCollection(child) && child.flow !== true && child.items.length > 0)
    return endOf(text, child.items.at(-1));
  // `|+` keeps the empty lines after the text.
  if (/^[|>]\d?\+/.test(text.slice(start, start + 3)) && isScalar(child)) return end - 1;
  return start + text.slice(start, end).trimEnd().length;
}

function isEmpty(node: Node): boolean {
  return isScalar(node) ? node.value === null : isCollection(node) && node.items.length === 0;
}

function isBlock(value: unknown): boolean {
  return Array.isArray(value) ? value.some(isBlock) : isObject(value) && Object.keys(value).length > 0;
}

function toBlock(value: unknown): string {
  return renderYaml(value, { inline: "lists" });
}

/** In a list, because a text in brackets needs quotes more often. */
function toFlow(value: unknown): string {
  return renderYaml([value], { inline: "all" }).trim().slice(1, -1);
}

/** The indentation of a line that is a comment, else -1. */
function commentIndent(line: string): number {
  return /^[ \t]*(?=#)/.exec(line)?.[0].length ?? -1;
}

function columnOf(text: string, offset: number): number {
  return offset - startOfLine(text, offset);
}

function startOfLine(text: string, offset: number): number {
  return offset <= 0 ? 0 : text.lastIndexOf("\n", offset - 1) + 1;
}

/** After the line break. */
function endOfLine(text: string, offset: number): number {
  const newline = text.indexOf("\n", offset);
  return newline === -1 ? text.length : newline + 1;
}
