// Checks a positioned value against a shape and gives the plain value; every problem is reported, none is thrown.

import { dirname, resolve } from "node:path";
import { didYouMean } from "../../errors/index.ts";
import { parseDuration } from "./duration.ts";
import {
  type Entry,
  type ListNode,
  type ObjectNode,
  type ScalarNode,
  type TextNode,
  toLabel,
  toPlain,
} from "./node.ts";
import type { Diagnostics } from "./diagnostics.ts";
import type {
  DurationShape,
  ListShape,
  NumberShape,
  ObjectShape,
  Shape,
  SizeShape,
  StringShape,
} from "./shape.ts";
import { parseSize } from "./size.ts";
import { actual, expected, quoted } from "./words.ts";

/**
 * The value with the shape's own field names, defaults filled in; `undefined` in place of what is wrong. Nothing (`key:`) counts as
 * not written.
 */
export function checkShape(shape: Shape, node: TextNode, diagnostics: Diagnostics): unknown {
  const chosen = shape.type === "union" ? shape.options.find((option) => accepts(option, node)) : shape;
  if (chosen === undefined || !accepts(chosen, node)) return wrongType(shape, node, diagnostics);
  switch (chosen.type) {
    case "string":
      return checkString(chosen, node as ScalarNode, diagnostics);
    case "number":
      return checkNumber(chosen, node as ScalarNode, diagnostics);
    case "duration":
      return checkDuration(chosen, node as ScalarNode, diagnostics);
    case "size":
      return checkSize(chosen, node as ScalarNode, diagnostics);
    case "boolean":
      return (node as ScalarNode).value;
    case "list":
      return checkList(chosen, node as ListNode, diagnostics);
    case "map": {
      const entries = node.kind === "object" ? node.entries : [];
      return Object.fromEntries(
        entries.map((entry) => [entry.key, checkShape(chosen.values, entry.value, diagnostics)]),
      );
    }
    case "object":
      return checkObject(chosen, node as ObjectNode, diagnostics);
    case "any":
      return toPlain(node);
    case "built":
      return chosen.schema.read(node, { diagnostics, folder: dirname(resolve(diagnostics.file)) });
    default:
      return checkShape(chosen, node, diagnostics);
  }
}

function checkObject(
  shape: ObjectShape,
  node: ObjectNode,
  diagnostics: Diagnostics,
): Record<string, unknown> {
  const value: Record<string, unknown> = {};
  const given = new Map<string, Entry>();
  for (const entry of node.entries) {
    const name = fieldName(shape, entry.key);
    if (name === undefined) {
      if (!entry.key.startsWith("x-") && shape.open !== true) unknownKey(shape, entry, diagnostics);
      continue;
    }
    const other = given.get(name);
    if (other !== undefined) {
      const first = `line ${other.line}, column ${other.column}`;
      diagnostics.add(entry, `${entry.key} says the same as ${other.key} at ${first}`, "Keep one of them.");
      continue;
    }
    given.set(name, entry);
  }
  for (const [name, field] of Object.entries(shape.fields)) {
    const entry = given.get(name);
    if (entry === undefined || entry.value.kind === "null") {
      if (field.required === true) missing(name, field, entry ?? node, diagnostics);
      else if (field.default !== undefined) value[name] = field.default;
      continue;
    }
    const checked = checkShape(field, entry.value, diagnostics);
    if (checked !== undefined) value[name] = checked;
  }
  return value;
}

function fieldName(shape: ObjectShape, key: string): string | undefined {
  if (Object.hasOwn(shape.fields, key)) return key;
  return Object.entries(shape.fields).find(([, field]) => field.aliases?.includes(key))?.[0];
}

function unknownKey(shape: ObjectShape, entry: Entry, diagnostics: Diagnostics): void {
  const known = Object.keys(shape.fields);
  const hint =
    entry.key === "<<"
      ? "Merge keys are not read here; write the fields out."
      : (didYouMean(entry.key, known) ?? `Known here: ${known.join(", ")}.`);
  diagnostics.add(entry, `unknown key ${quoted(entry.key)}${inside(entry)}`, hint);
}

function missing(name: string, field: Shape, place: Entry | ObjectNode, diagnostics: Diagnostics): void {
  const where = "key" in place ? toLabel(place.path.slice(0, -1)) : toLabel(place.path);
  const empty = "key" in place ? `${name} is empty` : `${name} is missing`;
  diagnostics.add(
    place,
    `${empty}${where === "" ? "" : ` in ${where}`}`,
    `Write ${name}: ${expected(field)}${field.description === undefined ? "" : ` (${field.description})`}.`,
  );
}

function checkString(shape: StringShape, node: ScalarNode, diagnostics: Diagnostics): string | undefined {
  const text = node.kind === "string" ? String(node.value) : node.source;
  if (text === "" && shape.empty !== true) {
    diagnostics.add(node, `${toLabel(node.path)} is empty`, `Write ${expected(shape)}.`);
    return undefined;
  }
  if (text.includes("\0")) {
    diagnostics.add(node, `${toLabel(node.path)} holds a NUL character`);
    return undefined;
  }
  if (shape.enum === undefined) return checkForm(shape, text, node, diagnostics);
  if (shape.enum.includes(text)) return text;
  if (shape.synonyms !== undefined && Object.hasOwn(shape.synonyms, text)) return shape.synonyms[text];
  const hint = didYouMean(text, shape.enum) ?? `Write one of ${shape.enum.join(", ")}.`;
  diagnostics.add(node, `${toLabel(node.path)} cannot be ${quoted(text)}`, hint);
  return undefined;
}

function checkForm(
  { maxLength, pattern, says }: StringShape,
  text: string,
  node: ScalarNode,
  diagnostics: Diagnostics,
): string | undefined {
  if (maxLength !== undefined && text.length > maxLength && Array.from(text).length > maxLength) {
    diagnostics.add(node, `${toLabel(node.path)} is longer than ${maxLength} characters`, "Make it shorter.");
    return undefined;
  }
  if (pattern === undefined || says === undefined || new RegExp(pattern).test(text)) return text;
  diagnostics.add(node, `${toLabel(node.path)} cannot be ${quoted(text)}`, says);
  return undefined;
}

function checkList(shape: ListShape, node: ListNode, diagnostics: Diagnostics): unknown[] {
  const values = node.items.map((item) => checkShape(shape.items, item, diagnostics));
  if (shape.filled === true && node.items.length === 0)
    diagnostics.add(node, `${toLabel(node.path)} is empty`, "Write at least one item.");
  if (shape.unique !== true) return values;
  const seen = new Map<unknown, TextNode>();
  for (const [index, value] of values.entries()) {
    const [item, first] = [node.items[index], seen.get(value)];
    if (item === undefined || value === undefined) continue;
    if (first === undefined) seen.set(value, item);
    else
      diagnostics.add(
        item,
        `${toLabel(item.path)} says the same as ${toLabel(first.path)} at line ${first.line}`,
        "Keep one of them.",
      );
  }
  return values;
}

function checkNumber(shape: NumberShape, node: ScalarNode, diagnostics: Diagnostics): number | undefined {
  const value = Number(node.value);
  const good =
    Number.isFinite(value) &&
    (shape.integer !== true || Number.isSafeInteger(value)) &&
    (shape.minimum === undefined || value >= shape.minimum) &&
    (shape.maximum === undefined || value <= shape.maximum) &&
    (shape.oneOf === undefined || shape.oneOf.includes(value));
  if (good) return value;
  diagnostics.add(node, `${toLabel(node.path)} must be ${expected(shape)}, not ${quoted(node.source)}`);
  return undefined;
}

function checkDuration(shape: DurationShape, node: ScalarNode, diagnostics: Diagnostics): number | undefined {
  const text = node.kind === "string" ? String(node.value) : node.source;
  const ms = parseDuration(text);
  if (ms !== undefined && (ms > 0 || shape.zero === true)) return ms;
  diagnostics.add(
    node,
    `${toLabel(node.path)} must be ${expected(shape)}, not ${quoted(text)}`,
    `Write seconds, or a number with ms, s, m or h; at most 24 days${shape.zero === true ? "" : ", more than nothing"}.`,
  );
  return undefined;
}

function checkSize(shape: SizeShape, node: ScalarNode, diagnostics: Diagnostics): number | undefined {
  const text = node.kind === "string" ? String(node.value) : node.source;
  const bytes = parseSize(text);
  if (bytes !== undefined) return bytes;
  diagnostics.add(
    node,
    `${toLabel(node.path)} must be ${expected(shape)}, not ${quoted(text)}`,
    "Write bytes, or a number with B, KB, MB or GB (thousands), KiB, MiB or GiB (1024s).",
  );
  return undefined;
}

function accepts(shape: Shape, node: TextNode): boolean {
  switch (shape.type) {
    case "string":
      return (
        node.kind === "string" ||
        (shape.scalars === true && (node.kind === "number" || node.kind === "boolean"))
      );
    case "duration":
    case "size":
      return node.kind === "number" || node.kind === "string";
    case "map":
      return node.kind === "object";
    case "any":
      return true;
    case "built":
      return shape.schema.rules.accepts.includes(node.kind);
    case "union":
      return shape.options.some((option) => accepts(option, node));
    default:
      return node.kind === shape.type;
  }
}

function wrongType(shape: Shape, node: TextNode, diagnostics: Diagnostics): undefined {
  const label = toLabel(node.path);
  diagnostics.add(
    node,
    `${label === "" ? "the file" : label} must be ${expected(shape)}, not ${actual(node)}`,
    wrongTypeHint(shape, node),
  );
}

function wrongTypeHint(shape: Shape, node: TextNode): string | undefined {
  if (shape.type === "string" && (node.kind === "number" || node.kind === "boolean"))
    return `Put it into quotes: "${node.source}".`;
  if (shape.type === "list" && node.kind === "string")
    return "Write a list: [one, two], or a line with - for each.";
  if (shape.type === "boolean" && node.kind === "string" && /^(yes|on|no|off)$/i.test(node.source))
    return `Write ${/^(yes|on)$/i.test(node.source) ? "true" : "false"}.`;
  return undefined;
}

function inside(entry: Entry): string {
  const where = toLabel(entry.path.slice(0, -1));
  return where === "" ? "" : ` in ${where}`;
}
