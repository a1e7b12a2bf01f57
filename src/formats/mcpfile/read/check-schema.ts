// The JSON Schemas of a file: their size, and for 0.0.1 the rules of its own text.

import { didYouMean } from "../../../errors/index.ts";
import type { JsonSchema } from "../../../model/index.ts";
import { boundSchema } from "../../../schema/index.ts";
import {
  type Entry,
  entryOf,
  nodeAt,
  type ObjectNode,
  quoted,
  type TextNode,
  toLabel,
  toPlain,
} from "../../document/index.ts";
import { type Context, hint } from "./context.ts";

const TYPES = ["string", "number", "integer", "boolean", "array", "object", "null"];
/** The keywords that the text of 0.0.1 lists, then the other keywords of JSON Schema. */
const KEYWORDS: ReadonlySet<string> = new Set(
  (
    "type description properties required items additionalProperties " +
    "$schema $id $ref $defs $anchor $comment $vocabulary $dynamicRef $dynamicAnchor $recursiveRef $recursiveAnchor definitions id " +
    "title default examples example deprecated readOnly writeOnly enum const format nullable " +
    "minimum maximum exclusiveMinimum exclusiveMaximum multipleOf minLength maxLength pattern " +
    "minItems maxItems uniqueItems contains minContains maxContains prefixItems additionalItems unevaluatedItems " +
    "minProperties maxProperties patternProperties propertyNames unevaluatedProperties dependencies dependentRequired dependentSchemas " +
    "allOf anyOf oneOf not if then else contentEncoding contentMediaType contentSchema"
  ).split(" "),
);
/** Which types a keyword of the table is for. */
const MEANT_FOR: Readonly<Record<string, string>> = {
  properties: "object",
  required: "object",
  additionalProperties: "object",
  items: "array",
};

/** The schema as it stands, or nothing when it cannot be used; the reasons are among the diagnostics. */
export function readSchema(
  node: TextNode | undefined,
  context: Context,
  of: "arguments" | "result" = "arguments",
): JsonSchema | undefined {
  if (node?.kind !== "object") return undefined;
  const { diagnostics, version } = context;
  const schema = toSchema(node) as JsonSchema;
  const bounds = boundSchema(schema);
  if (!bounds.ok) {
    diagnostics.add(node, `${toLabel(node.path)} cannot be used: ${bounds.reason}`, "Make it smaller.");
    return undefined;
  }
  const type = entryOf(node, "type");
  if (type === undefined && version === "0.0.1")
    diagnostics.add(node, `${toLabel(node.path)} has no type`, "Write type: object.");
  else if (type !== undefined && schema.type !== "object" && (of === "arguments" || schema.type !== "array"))
    diagnostics.add(
      type.value,
      `${toLabel(node.path)} must have type: object${of === "result" ? " or type: array" : ""}`,
      `${of === "result" ? "Results are objects or lists" : "Arguments are objects"}; put the value into a property.`,
    );
  checkLevel(node, context);
  return schema.type === undefined ? { type: "object", ...schema } : schema;
}

/** `type: null` is nothing for YAML, and a type here; any other keyword with nothing after it counts as not written. */
function toSchema(node: TextNode): unknown {
  if (node.kind === "list") return node.items.map(toSchema);
  if (node.kind !== "object") return node.value;
  const entries = node.entries.flatMap(({ key, value }): [string, unknown][] => {
    if (value.kind === "null" && !DATA.has(key)) return key === "type" ? [[key, "null"]] : [];
    if (DATA.has(key)) return [[key, toPlain(value)]];
    if (!MAPS.includes(key) || value.kind !== "object") return [[key, toSchema(value)]];
    // A property of which nothing is said may be anything.
    const map = value.entries.map(({ key: name, value: of }) => [
      name,
      of.kind === "null" ? {} : toSchema(of),
    ]);
    return [[key, Object.fromEntries(map)]];
  });
  return Object.fromEntries(entries);
}

const DATA: ReadonlySet<string> = new Set(["const", "enum", "default", "example", "examples"]);

/** Where schemas stand inside of a schema. */
const MAPS = ["properties", "patternProperties", "$defs", "definitions", "dependentSchemas"];
const LISTS = ["allOf", "anyOf", "oneOf", "prefixItems"];
const SINGLE = ["items", "additionalProperties", "contains", "propertyNames", "not", "if", "then", "else"];

function checkLevel(node: TextNode | undefined, context: Context): void {
  if (node?.kind !== "object") return;
  for (const entry of node.entries) checkKeyword(entry, context);
  checkType(node, context);
  checkRequired(node, context);
  for (const name of MAPS) {
    const map = nodeAt(node, name);
    if (map?.kind === "object") for (const { value } of map.entries) checkLevel(value, context);
  }
  for (const name of [...LISTS, ...SINGLE]) {
    const inner = nodeAt(node, name);
    for (const schema of inner?.kind === "list" ? inner.items : [inner]) checkLevel(schema, context);
  }
}

function checkKeyword(entry: Entry, { diagnostics, version }: Context): void {
  const { key, value } = entry;
  if (!KEYWORDS.has(key)) {
    if (key.startsWith("x-")) return;
    const meant = hint(diagnostics, () => didYouMean(key, KEYWORDS));
    const message = `${quoted(key)} is not a keyword of JSON Schema`;
    // Later versions take any JSON Schema, in which a word of one's own is allowed; a misspelt one is still worth a word.
    if (version === "0.0.1") diagnostics.add(entry, message, meant);
    else if (meant !== undefined) diagnostics.warn(entry, message, meant);
    return;
  }
  const wanted = WANTED[key];
  if (wanted !== undefined && value.kind !== "null" && !wanted.kinds.includes(value.kind))
    diagnostics.add(value, `${toLabel(value.path)} must be ${wanted.words}`);
}

const WANTED: Readonly<
  Record<string, { readonly kinds: readonly TextNode["kind"][]; readonly words: string }>
> = {
  description: { kinds: ["string"], words: "text" },
  properties: { kinds: ["object"], words: "an object with keys" },
  required: { kinds: ["list"], words: "a list of names" },
  items: { kinds: ["object", "boolean", "list"], words: "a schema" },
  additionalProperties: { kinds: ["boolean", "object"], words: "true, false or a schema" },
};

function checkType(node: ObjectNode, { diagnostics, version }: Context): void {
  const type = nodeAt(node, "type");
  if (type === undefined) return;
  const names = type.kind === "list" && version !== "0.0.1" ? type.items : [type];
  for (const name of names) {
    const text = name.kind === "null" ? "null" : name.kind === "string" ? String(name.value) : undefined;
    if (text !== undefined && TYPES.includes(text)) continue;
    const help =
      (text === undefined ? undefined : didYouMean(text, TYPES)) ?? `Write one of ${TYPES.join(", ")}.`;
    diagnostics.add(
      name,
      `${toLabel(name.path)} is not a type${text === undefined ? "" : `: ${quoted(text)}`}`,
      help,
    );
  }
  if (version !== "0.0.1" || type.kind !== "string") return;
  for (const [keyword, meant] of Object.entries(MEANT_FOR)) {
    const entry = entryOf(node, keyword);
    if (entry !== undefined && type.value !== meant && TYPES.includes(String(type.value)))
      diagnostics.warn(
        entry,
        `${keyword} has no effect with type: ${type.value}`,
        `It is for type: ${meant}.`,
      );
  }
}

/** From 0.1 on a name that is nowhere described is allowed, as JSON Schema has it. */
function checkRequired(node: ObjectNode, { diagnostics, version }: Context): void {
  const required = nodeAt(node, "required");
  if (required?.kind !== "list") return;
  const properties = nodeAt(node, "properties");
  const known = new Set(properties?.kind === "object" ? properties.entries.map(({ key }) => key) : []);
  for (const item of required.items) {
    if (item.kind !== "string") diagnostics.add(item, `${toLabel(item.path)} must be the name of a property`);
    else if (version === "0.0.1" && !known.has(String(item.value))) {
      const name = String(item.value);
      const help = hint(diagnostics, () => didYouMean(name, known));
      diagnostics.add(
        item,
        `${quoted(name)} is required, but not among the properties`,
        help ?? "Describe it in properties.",
      );
    }
  }
}
