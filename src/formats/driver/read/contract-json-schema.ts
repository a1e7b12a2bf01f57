// Checks the JSON Schemas of a contract: their size, patterns, references and cycles.

import { isObject, type JsonSchema } from "../../../model/index.ts";
import { boundSchema, followReference, isWellFormed } from "../../../schema/index.ts";
import { type Diagnostics, entryOf, quoted, type TextNode, toLabel, toPlain } from "../../document/index.ts";
import { publicReference, withPublicSchemas } from "../schema/public-schemas.ts";

const TYPES: readonly string[] = ["string", "number", "integer", "boolean", "array", "object", "null"];

/** Returns undefined if the schema cannot be used; the reasons are among the diagnostics. */
export function readToolSchema(
  node: TextNode | undefined,
  diagnostics: Diagnostics,
  mustBeObject: boolean,
): JsonSchema | undefined {
  if (node?.kind !== "object") return undefined;
  const schema = withPublicSchemas(
    toPlain(node) as JsonSchema,
    (written, replace) => asWritten(written, replace) as JsonSchema,
  );
  const label = toLabel(node.path);
  const bounds = boundSchema(schema);
  if (!bounds.ok) {
    diagnostics.add(node, `${label} cannot be used: ${bounds.reason}`, "Make it smaller.");
    return undefined;
  }
  const { patterns, namePatterns } = bounds.facts;
  const broken = [...patterns, ...namePatterns].find((pattern) => !compiles(pattern));
  if (broken !== undefined)
    diagnostics.add(node, `${label} has the pattern ${quoted(broken)}, which is not a regular expression`);
  checkKeywords(node, schema, diagnostics);
  const type = entryOf(node, "type");
  if (mustBeObject && type !== undefined && schema.type !== "object")
    diagnostics.add(
      type.value,
      `${label} must have type: object`,
      "The inputs of a tool have names; put the value into a property.",
    );
  return diagnostics.hasErrorIn(node) ? undefined : schema;
}

/** A keyword that is not what it must be would check nothing, and a reference that leads nowhere would fail every call. */
function checkKeywords(node: TextNode, root: JsonSchema, diagnostics: Diagnostics): void {
  const cyclic = new Set(cyclicReferences(root));
  const todo: { node: TextNode; kind: "schema" | "map" | "list" }[] = [{ node, kind: "schema" }];
  for (let next = todo.pop(); next !== undefined; next = todo.pop()) {
    const { node: at, kind } = next;
    if (kind === "list" && at.kind === "list")
      for (const item of at.items) todo.push({ node: item, kind: "schema" });
    if (at.kind !== "object") continue;
    for (const { key, value } of at.entries) {
      if (kind === "map") todo.push({ node: value, kind: "schema" });
      else if (key === "$ref") checkReference(value, root, cyclic, diagnostics);
      else if (MAPS.has(key)) todo.push({ node: value, kind: "map" });
      else if (LISTS.has(key)) todo.push({ node: value, kind: "list" });
      else if (SCHEMAS.has(key)) todo.push({ node: value, kind: "schema" });
      else if (key === "type")
        for (const one of value.kind === "list" ? value.items : [value]) checkType(one, diagnostics);
      else if (isWellFormed(key, toPlain(value)) === false)
        diagnostics.add(value, `${toLabel(value.path)} is not valid in JSON Schema`, expected(key));
    }
  }
}

const MAPS: ReadonlySet<string> = new Set([
  "properties",
  "patternProperties",
  "$defs",
  "definitions",
  "dependentSchemas",
]);
const LISTS: ReadonlySet<string> = new Set(["allOf", "anyOf", "oneOf", "prefixItems"]);
const SCHEMAS: ReadonlySet<string> = new Set([
  "items",
  "additionalProperties",
  "contains",
  "propertyNames",
  "not",
  "if",
  "then",
  "else",
]);

function checkReference(
  node: TextNode,
  root: JsonSchema,
  cyclic: Set<string>,
  diagnostics: Diagnostics,
): void {
  const reference = toPlain(node);
  if (typeof reference !== "string") diagnostics.add(node, `${toLabel(node.path)} must be a text`);
  else if (!reference.startsWith("#")) checkOutside(node, reference, diagnostics);
  // Reported once, however often it is referred to.
  else if (cyclic.delete(reference))
    diagnostics.add(
      node,
      `${toLabel(node.path)} refers to ${quoted(reference)}, which refers back to itself`,
      "A schema may contain itself in a property or an item, but must not be itself.",
    );
  // Anchors are names that may stand anywhere.
  else if (
    (reference === "#" || reference.startsWith("#/")) &&
    followReference(root, reference) === undefined
  )
    diagnostics.add(
      node,
      `${toLabel(node.path)} refers to ${quoted(reference)}, which does not exist`,
      "References begin at the top of this schema, as in #/$defs/name.",
    );
}

/** Of schemas elsewhere, only the public ones are known. */
function checkOutside(node: TextNode, reference: string, diagnostics: Diagnostics): void {
  const found = publicReference(reference);
  if (found?.kind === "known") return;
  const label = `${toLabel(node.path)} refers to ${quoted(reference)}`;
  if (found !== undefined)
    diagnostics.add(
      node,
      `${label}, but that schema has no such definition`,
      `Write #/$defs/ and one of ${found.names.join(", ")}.`,
    );
  else
    diagnostics.add(
      node,
      `${label}, but Portolan reads no schema outside of the contract`,
      "Put the schema under $defs, and refer to it as #/$defs/name.",
    );
}

function expected(keyword: string): string | undefined {
  if (keyword === "required") return "It is a list of names, as in required: [path].";
  if (keyword === "enum") return "It is a list of the values that are allowed.";
  return undefined;
}

function checkType(node: TextNode, diagnostics: Diagnostics): void {
  if (node.kind === "null" || (node.kind === "string" && TYPES.includes(String(node.value)))) return;
  const article = node.kind === "object" ? "an" : "a";
  const shown = node.kind === "string" ? quoted(String(node.value)) : `${article} ${node.kind}`;
  diagnostics.add(node, `${toLabel(node.path)} cannot be ${shown}`, `Types are ${TYPES.join(", ")}.`);
}

/**
 * `type: null` without quotes is nothing for YAML, and a type here; a property of which nothing is said may be anything. `replace`
 * says what each `$ref` becomes.
 */
function asWritten(value: unknown, replace: (reference: string) => string, isMap = false): unknown {
  if (Array.isArray(value)) return value.map((item) => asWritten(item, replace));
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => {
      if (isMap) return [key, asWritten(inner ?? {}, replace)];
      if (key === "$ref" && typeof inner === "string") return [key, replace(inner)];
      if (key === "type" && inner === null) return [key, "null"];
      if (key === "type" && Array.isArray(inner)) return [key, inner.map((one: unknown) => one ?? "null")];
      return [key, DATA.has(key) ? inner : asWritten(inner, replace, MAPS.has(key))];
    }),
  );
}

const DATA: ReadonlySet<string> = new Set(["const", "enum", "default", "examples"]);

function compiles(pattern: string): boolean {
  try {
    return new RegExp(pattern, "u") instanceof RegExp;
  } catch {
    return false;
  }
}

/** Keywords whose schemas apply to the same value. */
const SAME_VALUE = ["allOf", "anyOf", "oneOf", "not", "if", "then", "else"];

/** The references that close a cycle, as they are written. */
function cyclicReferences(root: JsonSchema): ReadonlySet<string> {
  const cyclic = new Set<string>();
  const open = new Set<string>();
  const done = new Set<string>();
  // A step is either a reference to enter, or the end of one that was entered.
  const todo: { readonly reference: string; readonly leave: boolean }[] = [];
  const enter = (references: readonly string[]): void => {
    for (const reference of references) todo.push({ reference, leave: false });
  };
  for (const start of allReferences(root)) {
    enter([start]);
    for (let step = todo.pop(); step !== undefined; step = todo.pop()) {
      const { reference, leave } = step;
      if (leave) {
        open.delete(reference);
        done.add(reference);
      } else if (open.has(reference)) cyclic.add(reference);
      else if (!done.has(reference)) {
        open.add(reference);
        todo.push({ reference, leave: true });
        enter(ofSameValue(followReference(root, reference)));
      }
    }
  }
  return cyclic;
}

/** References that apply to the value of this schema itself. */
function ofSameValue(schema: unknown): string[] {
  const found: string[] = [];
  const todo = [schema];
  for (let at = todo.pop(); at !== undefined; at = todo.pop()) {
    if (!isObject(at)) continue;
    if (typeof at.$ref === "string") found.push(at.$ref);
    for (const key of SAME_VALUE) {
      const inner = at[key];
      todo.push(...(Array.isArray(inner) ? (inner as unknown[]) : [inner]).filter(isObject));
    }
  }
  return found;
}

function allReferences(root: JsonSchema): ReadonlySet<string> {
  const found = new Set<string>();
  const todo: unknown[] = [root];
  for (let at = todo.pop(); at !== undefined; at = todo.pop()) {
    if (Array.isArray(at)) for (const item of at as unknown[]) todo.push(item ?? false);
    if (!isObject(at)) continue;
    if (typeof at.$ref === "string") found.add(at.$ref);
    for (const inner of Object.values(at)) todo.push(inner ?? false);
  }
  return found;
}
