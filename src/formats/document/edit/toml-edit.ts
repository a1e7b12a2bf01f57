// One change in a TOML text.

import { isObject } from "../../../model/index.ts";
import type { Path } from "../node.ts";
import type { Syntax } from "./text-document.ts";
import {
  isBelow,
  samePath,
  scanToml,
  type TomlLayout,
  type TomlMember,
  type TomlTable,
} from "./toml-layout.ts";
import { parseToml } from "./toml-parse.ts";
import { toTomlKey, toTomlPath, toTomlTable, toTomlValue } from "./toml-render.ts";
import { type Change, nest } from "./values.ts";

export const TOML_SYNTAX: Syntax = {
  parse: parseToml,
  edit: editToml,
  render: (value) => toTomlTable([], value as Readonly<Record<string, unknown>>, "\n"),
};

function editToml(text: string, { path, value }: Change): string {
  if (path.length === 0) return text;
  const layout = scanToml(text);
  return value === undefined ? remove(text, layout, path) : set(text, layout, path, value);
}

function set(text: string, layout: TomlLayout, path: Path, value: unknown): string {
  const member = layout.members.find(({ path: own }) => samePath(own, path));
  if (member !== undefined) return text.slice(0, member.start) + toTomlValue(value) + text.slice(member.end);
  if (stands(layout, path)) {
    const cut = remove(text, layout, path);
    return cut === text ? text : set(cut, scanToml(cut), path, value);
  }
  return add(text, layout, path, value);
}

function stands({ tables, members }: TomlLayout, path: Path): boolean {
  return [...tables, ...members].some(({ path: own }) => samePath(own, path) || isBelow(own, path));
}

function add(text: string, layout: TomlLayout, path: Path, value: unknown): string {
  const eol = text.includes("\r\n") ? "\r\n" : "\n";
  for (let length = path.length - 1; length > 0; length -= 1) {
    const inline = layout.members.find(({ path: own }) => samePath(own, path.slice(0, length)));
    if (inline !== undefined)
      return addInline(text, layout, inline, path[length] ?? "", nest(path.slice(length + 1), value));
  }
  const parent = path.slice(0, -1);
  const key = path.at(-1) ?? "";
  if (typeof key === "number") return addItem(text, layout, parent, key, value, eol);
  const table = layout.tables.find(({ path: own }) => samePath(own, parent));
  // Objects of the first two levels, such as a server of Codex, are tables; those below are lines in them.
  if (isObject(value) && parent.length <= 1) return addTable(text, layout, path, value, eol);
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

/** An item of a list that is written as `[[tables]]`, or of a new list. */
function addItem(
  text: string,
  layout: TomlLayout,
  list: Path,
  index: number,
  value: unknown,
  eol: string,
): string {
  const before = [...list, index - 1];
  const last = layout.tables.findLast(({ path: own }) => samePath(own, before) || isBelow(own, before));
  if (last === undefined || !isObject(value)) return add(text, layout, list, [value]);
  const block = eol + toTomlTable([...list, index], value, eol);
  return insertLine(text, last.end, block.slice(0, -eol.length), eol);
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
  key: string | number,
  value: unknown,
): string {
  const last = childrenOf(layout, parent).at(-1);
  const isItem = typeof key === "number";
  const piece = isItem ? toTomlValue(value) : `${toTomlKey(key)} = ${toTomlValue(value)}`;
  if (last !== undefined) return `${text.slice(0, last.end)}, ${piece}${text.slice(last.end)}`;
  return text.slice(0, parent.start) + (isItem ? `[${piece}]` : `{ ${piece} }`) + text.slice(parent.end);
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
    ...layout.tables
      .filter((table) => table.header !== undefined && isInside(table))
      .map((table) => blockOf(text, table)),
    ...layout.members.flatMap((member) =>
      member.lines !== undefined && isInside(member) && !isInside(member.table) ? [member.lines] : [],
    ),
  ].sort((a, b) => b.start - a.start);
  return cuts.reduce((rest, { start, end }) => rest.slice(0, start) + rest.slice(end), text);
}

/** A table from its header to its last statement. Of two empty lines around it, one stays. */
function blockOf(text: string, { header, end }: TomlTable): { start: number; end: number } {
  const start = header?.start ?? end;
  const blank = /^(?:\r?\n|$)/.test(text.slice(end)) ? /(?<=\n)\r?\n$/.exec(text.slice(0, start)) : null;
  return { start: start - (blank?.[0].length ?? 0), end };
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
