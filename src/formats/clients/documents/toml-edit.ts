// One change in a TOML text, which keeps all other bytes; values as TOML text.

import { isObject } from "../../../model/index.ts";
import type { Path } from "../types.ts";
import {
  isBelow,
  samePath,
  scanToml,
  type TomlLayout,
  type TomlMember,
  type TomlTable,
} from "./toml-document.ts";
import type { Change } from "./values.ts";

export function editToml(text: string, { path, value }: Change): string {
  const layout = scanToml(text);
  return value === undefined ? remove(text, layout, path) : set(text, layout, path, value);
}

function set(text: string, layout: TomlLayout, path: Path, value: unknown): string {
  const member = layout.members.find(({ path: own }) => samePath(own, path));
  if (member !== undefined) return text.slice(0, member.start) + toTomlValue(value) + text.slice(member.end);
  if (stands(layout, path)) {
    const cut = remove(text, layout, path);
    return set(cut, scanToml(cut), path, value);
  }
  return add(text, layout, path, value);
}

function stands({ tables, members }: TomlLayout, path: Path): boolean {
  return [...tables, ...members].some(({ path: own }) => samePath(own, path) || isBelow(own, path));
}

function add(text: string, layout: TomlLayout, path: Path, value: unknown): string {
  const eol = text.includes("\r\n") ? "\r\n" : "\n";
  const parent = path.slice(0, -1);
  const key = String(path.at(-1));
  const inline = layout.members.find(({ path: own }) => samePath(own, parent));
  if (inline !== undefined) return addInline(text, layout, inline, key, value);
  const table = layout.tables.find(({ path: own, header }) => header !== undefined && samePath(own, parent));
  // A server of its own is a table; a setting of one is a line in it.
  if (isObject(value) && parent.length === 1) return addTable(text, layout, path, value, eol);
  if (table !== undefined)
    return insertLine(text, table.end, `${toTomlKey(key)} = ${toTomlValue(value)}`, eol);
  const dotted = layout.members.findLast(
    ({ path: own, lines }) => lines !== undefined && isBelow(own, parent),
  );
  if (dotted?.lines !== undefined && !isBelow(dotted.table.path, parent)) {
    const name = toTomlPath(path.slice(dotted.table.path.length));
    return insertLine(text, dotted.lines.end, `${name} = ${toTomlValue(value)}`, eol);
  }
  const below = layout.tables.find(({ path: own }) => isBelow(own, parent));
  if (below?.header !== undefined) {
    const block = toTomlTable(parent, { [key]: value }, eol) + eol;
    return text.slice(0, below.header.start) + block + text.slice(below.header.start);
  }
  return addTable(text, layout, parent, { [key]: value }, eol);
}

/** After the last table of the same family, or at the end. */
function addTable(
  text: string,
  { tables }: TomlLayout,
  path: Path,
  value: Readonly<Record<string, unknown>>,
  eol: string,
): string {
  const family = tables.findLast(({ path: own, header }) => header !== undefined && own[0] === path[0]);
  const at = family?.end ?? text.length;
  const before = text.slice(0, at);
  const after = text.slice(at);
  const gap = before === "" ? "" : before.endsWith("\n") ? eol : eol + eol;
  const isLast = after.trim() === "";
  return before + gap + toTomlTable(path, value, eol) + (isLast || /^\r?\n/.test(after) ? "" : eol) + after;
}

function insertLine(text: string, at: number, line: string, eol: string): string {
  const before = text.slice(0, at);
  return before + (before === "" || before.endsWith("\n") ? "" : eol) + line + eol + text.slice(at);
}

function addInline(
  text: string,
  layout: TomlLayout,
  parent: TomlMember,
  key: string,
  value: unknown,
): string {
  const close = parent.end - 1;
  const last = childrenOf(layout, parent).at(-1);
  const piece = `${toTomlKey(key)} = ${toTomlValue(value)}`;
  if (last === undefined) return `${text.slice(0, parent.start)}{ ${piece} }${text.slice(close + 1)}`;
  return `${text.slice(0, last.end)}, ${piece}${text.slice(last.end)}`;
}

function childrenOf({ members }: TomlLayout, parent: TomlMember): TomlMember[] {
  const inside = members.filter(({ key, end }) => key > parent.start && end < parent.end);
  return inside.filter((member) => !inside.some(({ start, end }) => start < member.key && member.end < end));
}

function remove(text: string, layout: TomlLayout, path: Path): string {
  const isInside = ({ path: own }: { readonly path: Path }): boolean =>
    samePath(own, path) || isBelow(own, path);
  const inline = layout.members.find((member) => member.lines === undefined && samePath(member.path, path));
  if (inline !== undefined) return removeInline(text, layout, inline);
  const cuts = [
    ...layout.tables.filter((table) => table.header !== undefined && isInside(table)).map(blockOf),
    ...layout.members.flatMap((member) =>
      member.lines !== undefined && isInside(member) && !isInside(member.table) ? [member.lines] : [],
    ),
  ].sort((a, b) => b.start - a.start);
  return cuts.reduce((rest, { start, end }) => rest.slice(0, start) + rest.slice(end), text);
}

/** A table from its header to its last statement. */
function blockOf({ header, end }: TomlTable): { start: number; end: number } {
  return { start: header?.start ?? end, end };
}

function removeInline(text: string, layout: TomlLayout, member: TomlMember): string {
  const parent = layout.members
    .filter(({ start, end }) => start < member.key && member.end < end)
    .reduce<TomlMember | undefined>(
      (best, own) => (best === undefined || own.start > best.start ? own : best),
      undefined,
    );
  const siblings = parent === undefined ? [] : childrenOf(layout, parent);
  const index = siblings.indexOf(member);
  const next = siblings[index + 1];
  const previous = siblings[index - 1];
  const start = next === undefined && previous !== undefined ? previous.end : member.key;
  return text.slice(0, start) + text.slice(next === undefined ? member.end : next.key);
}

function toTomlKey(key: string): string {
  return /^[A-Za-z0-9_-]+$/.test(key) ? key : toTomlString(key);
}

function toTomlPath(path: readonly (string | number)[]): string {
  return path.map((step) => toTomlKey(String(step))).join(".");
}

/** A value on one line. */
export function toTomlValue(value: unknown): string {
  if (typeof value === "string") return toTomlString(value);
  if (Array.isArray(value)) return `[${value.map(toTomlValue).join(", ")}]`;
  if (!isObject(value)) return String(value);
  const members = Object.entries(value).map(([key, item]) => `${toTomlKey(key)} = ${toTomlValue(item)}`);
  return members.length === 0 ? "{}" : `{ ${members.join(", ")} }`;
}

/** A whole table with a header, and its objects as tables below it, the way Codex writes them. */
export function toTomlTable(
  path: readonly (string | number)[],
  value: Readonly<Record<string, unknown>>,
  eol: string,
): string {
  const members = Object.entries(value);
  const lines = members
    .filter(([, item]) => !isObject(item))
    .map(([key, item]) => `${toTomlKey(key)} = ${toTomlValue(item)}`);
  const tables = members.flatMap(([key, item]) =>
    isObject(item) ? [toTomlTable([...path, key], item, eol)] : [],
  );
  return [[`[${toTomlPath(path)}]`, ...lines].map((line) => line + eol).join(""), ...tables].join(eol);
}

/** Escapes of JSON are valid in TOML, except for one control character and lone surrogates. */
function toTomlString(text: string): string {
  return JSON.stringify(text.replace(/[\uD800-\uDFFF]/gu, "\uFFFD")).replaceAll("\u007f", "\\u007F");
}
