// `remove`, `extend` and `override`: the change of one field of a base.

import type { Entry, ObjectNode, ScalarNode, TextNode } from "../../document/index.ts";
import type { Context } from "./context.ts";

export type Operation = "remove" | "extend" | "override";

/** Returns the field after the change; undefined if it was removed. */
type Apply = (base: Entry | undefined, field: Entry, context: Context) => Entry | undefined;

export const APPLY: Readonly<Record<Operation, Apply>> = {
  override: (_, field) => field,
  extend: (base, field, { diagnostics }) => {
    const [old, add] = [base?.value, field.value];
    if (old === undefined || old.kind === "null") return field;
    if (old.kind === "object" && add.kind === "object") {
      const keys = new Set(add.entries.map(({ key }) => key));
      return {
        ...field,
        value: { ...add, entries: [...old.entries.filter(({ key }) => !keys.has(key)), ...add.entries] },
      };
    }
    if (old.kind === "list" && add.kind === "list")
      return { ...field, value: { ...add, items: [...old.items, ...add.items] } };
    if (old.kind === "string" && add.kind === "string") {
      const value = `${old.value}${add.value}`;
      return { ...field, value: { ...add, value, source: value } };
    }
    diagnostics.add(field, `${field.key} cannot be extended`, "Use override to replace it.");
    return base;
  },
  remove: (base, { value: gone }) => {
    if (base?.value.kind === "object") {
      const keys = new Set(gone.kind === "object" ? gone.entries.map(({ key }) => key) : scalars(gone));
      return {
        ...base,
        value: { ...base.value, entries: base.value.entries.filter(({ key }) => !keys.has(key)) },
      };
    }
    if (base?.value.kind === "list" && gone.kind === "list") {
      const values = new Set(scalars(gone));
      const stays = (item: TextNode): boolean => !scalars(item).some((value) => values.has(value));
      return { ...base, value: { ...base.value, items: base.value.items.filter(stays) } };
    }
    return undefined;
  },
};

/** Merged fields are reported at the place that extends, since that is where the mistake shows. */
export function rooted(field: Entry, node: ObjectNode): Entry {
  const path = [...node.path, field.key];
  const inside =
    field.path.length > node.path.length && node.path.every((step, index) => field.path[index] === step);
  return inside
    ? field
    : { ...field, line: node.line, column: node.column, path, value: moved(field.value, node, path) };
}

function moved(value: TextNode, { line, column }: ObjectNode, path: readonly (string | number)[]): TextNode {
  const place = { line, column, path };
  const at = { ...place, kind: "object", entries: [] } as ObjectNode;
  if (value.kind === "object")
    return {
      ...place,
      kind: "object",
      entries: value.entries.map((entry) => {
        const inner = [...path, entry.key];
        return { ...place, path: inner, key: entry.key, value: moved(entry.value, at, inner) };
      }),
    };
  if (value.kind === "list")
    return {
      ...place,
      kind: "list",
      items: value.items.map((item, index) => moved(item, at, [...path, index])),
    };
  return { ...value, ...place };
}

function scalars(node: TextNode): string[] {
  if (node.kind === "list") return node.items.flatMap(scalars);
  return node.kind === "object"
    ? []
    : [(node satisfies ScalarNode).kind === "string" ? String(node.value) : node.source];
}

/** The cost of reading a node, for the budget. */
export function sizeOf(node: TextNode): number {
  if (node.kind === "object")
    return node.entries.reduce((sum, { key, value }) => sum + key.length + 8 + sizeOf(value), 8);
  if (node.kind === "list") return node.items.reduce((sum, item) => sum + 8 + sizeOf(item), 8);
  return typeof node.value === "string" ? node.value.length : 8;
}
