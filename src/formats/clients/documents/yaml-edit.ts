// One change in a YAML text; every byte that the change does not need stays. New values are written in flow style, which fits anywhere.

import { isMap, isPair, isScalar, isSeq, type Node } from "yaml";
import { toJsonText } from "./json-edit.ts";
import type { Path } from "../types.ts";
import type { Change } from "./values.ts";
import { parseYamlTree, yamlNodeAt } from "./yaml-document.ts";
import { isObject } from "../../../model/index.ts";

export function editYaml(text: string, { path, value }: Change): string {
  return value === undefined ? remove(text, path) : set(text, path, value);
}

function set(text: string, path: Path, value: unknown): string {
  const tree = parseYamlTree(text);
  let length = path.length;
  while (length > 0 && yamlNodeAt(tree, path.slice(0, length)) === undefined) length -= 1;
  const found = length === 0 ? undefined : yamlNodeAt(tree, path.slice(0, length));
  const node = length === 0 ? tree.contents : found?.node;
  const [step, ...rest] = path.slice(length);
  const wanted = rest.reduceRight<unknown>(
    (inner, key) => (typeof key === "number" ? [inner] : { [key]: inner }),
    value,
  );
  if (node == null)
    return `${text}${text === "" || text.endsWith("\n") ? "" : "\n"}${lines("", String(step), wanted).join("\n")}\n`;
  if (step === undefined) return replace(text, node, found?.key ?? undefined, wanted);
  if (isMap(node) && typeof step === "string")
    return node.flow === true
      ? addToFlow(text, node, `${scalar(step)}: ${flow(wanted)}`)
      : addLines(text, node, (indent) => lines(indent, step, wanted));
  if (isSeq(node) && typeof step === "number")
    return node.flow === true
      ? addToFlow(text, node, flow(wanted))
      : addLines(text, node, (indent) => itemLines(indent, wanted));
  return replace(text, node, found?.key ?? undefined, { [String(step)]: wanted });
}

/** A block gives way to a line, so it goes from right after the colon. */
function replace(text: string, node: Node, key: Node | undefined, value: unknown): string {
  const end = endOf(node, text);
  const start = node.range?.[0] ?? end;
  const colon = key === undefined ? -1 : text.indexOf(":", key.range?.[1] ?? start);
  const isBlock = colon !== -1 && colon < start && text.slice(colon, start).includes("\n");
  const before = text.slice(0, isBlock ? colon + 1 : start);
  return `${before}${/[\s[{,]$/.test(before) ? "" : " "}${flow(value)}${text.slice(end)}`;
}

function addToFlow(text: string, node: Node & { items: unknown[] }, piece: string): string {
  const close = (node.range?.[1] ?? 0) - 1;
  const last = lastOf(node);
  if (last === undefined) return text.slice(0, close) + piece + text.slice(close);
  const end = endOf(last, text);
  return `${text.slice(0, end)}, ${piece}${text.slice(end)}`;
}

function addLines(
  text: string,
  node: Node & { items: unknown[] },
  make: (indent: string) => string[],
): string {
  const end = endOf(node, text);
  const newline = text.indexOf("\n", end);
  const at = newline === -1 ? text.length : newline;
  const first = node.range?.[0] ?? 0;
  const indent = " ".repeat(first - (text.lastIndexOf("\n", first - 1) + 1));
  const eol = text.includes("\r\n") ? "\r\n" : "\n";
  const before = text.slice(0, at).replace(/\r$/, "");
  return (
    before +
    make(indent)
      .map((line) => eol + line)
      .join("") +
    text.slice(before.length)
  );
}

function remove(text: string, path: Path): string {
  const tree = parseYamlTree(text);
  const found = yamlNodeAt(tree, path);
  const above = yamlNodeAt(tree, path.slice(0, -1));
  const parent = above?.node;
  if (found === undefined || above === undefined || !(isMap(parent) || isSeq(parent))) return text;
  // A block needs something in it.
  if (parent.items.length === 1) return replace(text, parent, above.key, isMap(parent) ? {} : []);
  const start = (found.key ?? found.node).range?.[0] ?? 0;
  const end = endOf(found.node, text);
  if (parent.flow === true) {
    const rest = /^\s*,\s*/.exec(text.slice(end));
    const before = /,\s*$/.exec(text.slice(0, start));
    return rest === null && before !== null
      ? text.slice(0, before.index) + text.slice(end)
      : text.slice(0, start) + text.slice(end + (rest?.[0].length ?? 0));
  }
  const lineStart = text.lastIndexOf("\n", start - 1) + 1;
  const newline = text.indexOf("\n", end);
  const lineEnd = newline === -1 ? text.length : newline + 1;
  // The first member of a list item shares its line with the dash, so the next one moves up to it.
  const next = text.slice(lineStart, start).trim() === "" ? lineStart : start;
  const follow = next === start ? lineEnd + (/^[ \t]*/.exec(text.slice(lineEnd))?.[0].length ?? 0) : lineEnd;
  return text.slice(0, next) + text.slice(follow);
}

function lastOf(node: { items: unknown[] }): Node | undefined {
  const last = node.items.at(-1);
  return isPair(last) ? ((last.value ?? last.key) as Node | undefined) : (last as Node | undefined);
}

/** Where the last thing in a node ends: the range of a block also takes in what follows it. */
function endOf(node: Node, text: string): number {
  if ((isMap(node) || isSeq(node)) && node.flow !== true) {
    const last = lastOf(node);
    if (last !== undefined) return endOf(last, text);
  }
  const start = node.range?.[0] ?? 0;
  const end = node.range?.[1] ?? start;
  return isScalar(node) || isMap(node) || isSeq(node) ? start + text.slice(start, end).trimEnd().length : end;
}

/** A member of a block: objects as blocks, all else in flow style. */
function lines(indent: string, key: string, value: unknown): string[] {
  if (Array.isArray(value) && value.some(isObject))
    return [`${indent}${scalar(key)}:`, ...value.flatMap((item: unknown) => itemLines(`${indent}  `, item))];
  if (!isObject(value) || Object.keys(value).length === 0) return [`${indent}${scalar(key)}: ${flow(value)}`];
  return [
    `${indent}${scalar(key)}:`,
    ...Object.entries(value).flatMap(([name, item]) => lines(`${indent}  `, name, item)),
  ];
}

function itemLines(indent: string, value: unknown): string[] {
  if (!isObject(value) || Object.keys(value).length === 0) return [`${indent}- ${flow(value)}`];
  const [first = "", ...rest] = Object.entries(value).flatMap(([key, item]) =>
    lines(`${indent}  `, key, item),
  );
  return [`${indent}- ${first.trimStart()}`, ...rest];
}

/** JSON is YAML; a word that cannot be taken for anything else needs no quotes. */
function flow(value: unknown): string {
  if (typeof value === "string") return scalar(value);
  return toJsonText(value, { unit: undefined, spaced: true, eol: "\n" });
}

function scalar(text: string): string {
  const isWord = /^[A-Za-z_][\w./@-]*$/.test(text) && !/^(true|false|null|yes|no|on|off|y|n)$/i.test(text);
  return isWord || /^https?:\/\/[\w./:-]+[\w/]$/.test(text) ? text : JSON.stringify(text);
}

export function toYamlText(value: Readonly<Record<string, unknown>>): string {
  return `${Object.entries(value)
    .flatMap(([key, item]) => lines("", key, item))
    .join("\n")}\n`;
}
