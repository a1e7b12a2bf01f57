// Facts about all values of a schema: their types, listed values and fields.

import { isObject, type JsonObject } from "../../model/index.ts";
import { boundSchema } from "../bounds.ts";
import { dialectOf, isSchema } from "../keywords.ts";

/** View of one place in a schema. A view excludes only what is certainly impossible. */
export interface SchemaView {
  readonly node: unknown;
  /** Targets of references, shared by all views of one schema. */
  readonly whole: WholeSchema;
}

interface WholeSchema {
  readonly root: unknown;
  /** Nested ids change the base of references. Such references are not followed. */
  readonly followsRefs: boolean;
  /** Older dialects ignore keywords beside a `$ref`. */
  readonly refStandsAlone: boolean;
  /** Remaining steps. A hostile schema ends without a result instead of a long wait. */
  steps: number;
}

export type TypeName = "string" | "number" | "integer" | "boolean" | "null" | "array" | "object";

/** `open`: the schema does not restrict the field. `closed`: the field is impossible. */
export type FieldView =
  | { readonly state: "open" }
  | { readonly state: "closed" }
  | { readonly state: "declared"; readonly view: SchemaView };

/** `integer` counts as `number`; see `isWhole`. */
const ALL_TYPES: readonly TypeName[] = ["string", "number", "boolean", "null", "array", "object"];
const MOST_STEPS = 20_000;
const MOST_DEPTH = 24;
const MOST_VALUES = 500;
const OPEN: FieldView = { state: "open" };
const CLOSED: FieldView = { state: "closed" };

/** Returns undefined for a schema over the limits. */
export function viewSchema(schema: unknown): SchemaView | undefined {
  if (!boundSchema(schema).ok) return undefined;
  const dialect = dialectOf(schema);
  const ids = JSON.stringify(schema).split('"$id"').length - 1;
  return {
    node: schema,
    whole: {
      root: schema,
      followsRefs: ids <= (isObject(schema) && typeof schema.$id === "string" ? 1 : 0),
      refStandsAlone: dialect === "4" || dialect === "7",
      steps: MOST_STEPS,
    },
  };
}

/** Returns a view of another node by the same rules, such as a combination of several nodes. */
export function viewOf(view: SchemaView, node: unknown): SchemaView {
  return { node, whole: view.whole };
}

export function typesOf(view: SchemaView): ReadonlySet<TypeName> {
  return typesIn(view, 0);
}

function typesIn(view: SchemaView, depth: number): ReadonlySet<TypeName> {
  const { node } = view;
  if (node === false) return new Set();
  if (!isObject(node) || exhausted(view, depth)) return new Set(ALL_TYPES);
  const values = ownValues(node);
  let types = new Set<TypeName>(values === undefined ? ALL_TYPES : values.map(typeOfValue));
  if (!standsAlone(view) && (typeof node.type === "string" || Array.isArray(node.type)))
    types = both(types, new Set([node.type].flat().map(asType)));
  for (const part of conjuncts(view)) types = both(types, typesIn(part, depth + 1));
  for (const branches of disjunctions(view)) {
    const any = new Set<TypeName>();
    for (const branch of branches) for (const type of typesIn(branch, depth + 1)) any.add(type);
    types = both(types, any);
  }
  return types;
}

/** Returns true if the schema plainly allows only integers. */
export function isWhole(view: SchemaView): boolean {
  const { node } = view;
  return isObject(node) && node.type === "integer";
}

/** Returns the possible values if the schema lists them. */
export function valuesOf(view: SchemaView): readonly unknown[] | undefined {
  return valuesIn(view, 0);
}

function valuesIn(view: SchemaView, depth: number): readonly unknown[] | undefined {
  const { node } = view;
  if (!isObject(node) || exhausted(view, depth)) return undefined;
  const own = standsAlone(view) ? undefined : ownValues(node);
  if (own !== undefined) return own.length > MOST_VALUES ? undefined : own;
  for (const part of conjuncts(view)) {
    const values = valuesIn(part, depth + 1);
    if (values !== undefined) return values;
  }
  for (const branches of disjunctions(view)) {
    const all = branches.map((branch) => valuesIn(branch, depth + 1));
    if (all.length > 0 && all.every((values) => values !== undefined)) {
      const flat = all.flat();
      return flat.length > MOST_VALUES ? undefined : flat;
    }
  }
  return undefined;
}

/** Returns the view of a field. */
export function fieldOf(view: SchemaView, name: string): FieldView {
  return fieldIn(view, name, 0);
}

function fieldIn(view: SchemaView, name: string, depth: number): FieldView {
  const { node } = view;
  if (node === false) return CLOSED;
  if (!isObject(node) || exhausted(view, depth)) return OPEN;
  const found: FieldView[] = standsAlone(view) ? [] : [ownField(view, node, name)];
  for (const part of conjuncts(view)) found.push(fieldIn(part, name, depth + 1));
  for (const branches of disjunctions(view)) {
    const some = branches
      .filter((branch) => typesIn(branch, depth + 1).has("object"))
      .map((branch) => fieldIn(branch, name, depth + 1));
    found.push(combine(view, some, "anyOf"));
  }
  if (node.unevaluatedProperties === false && !isMentioned(view, name, depth)) return CLOSED;
  return combine(view, found, "allOf");
}

/** Returns the names of required fields. */
export function requiredOf(view: SchemaView): ReadonlySet<string> {
  return requiredIn(view, 0);
}

function requiredIn(view: SchemaView, depth: number): ReadonlySet<string> {
  const { node } = view;
  const names = new Set<string>();
  if (!isObject(node) || exhausted(view, depth)) return names;
  if (!standsAlone(view) && Array.isArray(node.required))
    for (const name of node.required) if (typeof name === "string") names.add(name);
  for (const part of conjuncts(view)) for (const name of requiredIn(part, depth + 1)) names.add(name);
  for (const branches of disjunctions(view)) {
    const [first, ...others] = branches.map((branch) => requiredIn(branch, depth + 1));
    for (const name of first ?? []) if (others.every((other) => other.has(name))) names.add(name);
  }
  return names;
}

/** Returns the names of all declared fields, for lists and suggestions. */
export function fieldNames(view: SchemaView): readonly string[] {
  const names = new Set<string>();
  collectNames(view, names, 0);
  return [...names];
}

/** Returns the view of the entries of a list, or of the entry at an index. Undefined if there can be none. */
export function itemOf(view: SchemaView, index: number | undefined): SchemaView | undefined {
  return itemIn(view, index, 0);
}

function itemIn(view: SchemaView, index: number | undefined, depth: number): SchemaView | undefined {
  const { node } = view;
  if (node === false) return undefined;
  if (!isObject(node) || exhausted(view, depth)) return viewOf(view, true);
  const found: unknown[] = [];
  if (!standsAlone(view)) {
    const listed: readonly unknown[] = Array.isArray(node.prefixItems)
      ? node.prefixItems
      : Array.isArray(node.items)
        ? node.items
        : [];
    const rest: unknown = Array.isArray(node.items) ? node.additionalItems : node.items;
    const others = isSchema(rest) ? rest : true;
    if (index !== undefined) found.push(index < listed.length ? listed[index] : others);
    else found.push(listed.length === 0 ? others : { anyOf: [...listed, others] });
  }
  for (const part of conjuncts(view)) {
    const item = itemIn(part, index, depth + 1);
    if (item === undefined) return undefined;
    found.push(item.node);
  }
  for (const branches of disjunctions(view)) {
    const lists = branches.filter((branch) => typesIn(branch, depth + 1).has("array"));
    const some = lists.map((branch) => itemIn(branch, index, depth + 1)).filter((item) => item !== undefined);
    if (some.length === 0) return undefined;
    found.push({ anyOf: some.map((item) => item.node) });
  }
  if (found.includes(false)) return undefined;
  return viewOf(view, found.length === 1 ? found[0] : { allOf: found });
}

function ownField(view: SchemaView, node: JsonObject, name: string): FieldView {
  const { properties, patternProperties, additionalProperties } = node;
  if (isObject(properties) && Object.hasOwn(properties, name)) {
    const found = properties[name];
    if (found === false) return CLOSED;
    return { state: "declared", view: viewOf(view, isSchema(found) ? found : true) };
  }
  if (isObject(patternProperties) && Object.keys(patternProperties).length > 0) return OPEN;
  if (additionalProperties === false) return CLOSED;
  return isObject(additionalProperties)
    ? { state: "declared", view: viewOf(view, additionalProperties) }
    : OPEN;
}

function combine(view: SchemaView, found: readonly FieldView[], how: "allOf" | "anyOf"): FieldView {
  const nodes = found.flatMap((field) => (field.state === "declared" ? [field.view.node] : []));
  if (how === "allOf" && found.some(({ state }) => state === "closed")) return CLOSED;
  if (how === "anyOf" && found.length > 0 && found.every(({ state }) => state === "closed")) return CLOSED;
  if (nodes.length === 0 || (how === "anyOf" && found.some(({ state }) => state === "open"))) return OPEN;
  return { state: "declared", view: viewOf(view, nodes.length === 1 ? nodes[0] : { [how]: nodes }) };
}

/** Returns the parts that apply together with a node: the target of its reference, and its `allOf`. */
function conjuncts(view: SchemaView): readonly SchemaView[] {
  const { node, whole } = view;
  if (!isObject(node)) return [];
  const parts: SchemaView[] = [];
  if (typeof node.$ref === "string" && whole.followsRefs) {
    const target = followReference(whole.root, node.$ref);
    if (target !== undefined) parts.push(viewOf(view, target));
  }
  if (!standsAlone(view) && Array.isArray(node.allOf))
    for (const part of node.allOf) if (isSchema(part)) parts.push(viewOf(view, part));
  return parts;
}

/** Returns groups of alternatives, of which at least one applies. */
function disjunctions(view: SchemaView): readonly (readonly SchemaView[])[] {
  const { node } = view;
  if (!isObject(node) || standsAlone(view)) return [];
  return [node.anyOf, node.oneOf]
    .filter((list): list is unknown[] => Array.isArray(list) && list.length > 0)
    .map((list) => list.map((part) => viewOf(view, isSchema(part) ? part : true)));
}

function collectNames(view: SchemaView, names: Set<string>, depth: number): void {
  const { node } = view;
  if (!isObject(node) || exhausted(view, depth)) return;
  if (!standsAlone(view) && isObject(node.properties))
    for (const [name, property] of Object.entries(node.properties)) if (property !== false) names.add(name);
  for (const part of conjuncts(view)) collectNames(part, names, depth + 1);
  for (const branches of disjunctions(view))
    for (const branch of branches) collectNames(branch, names, depth + 1);
}

/** Used for `unevaluatedProperties`, which depends on all parts of a place. */
function isMentioned(view: SchemaView, name: string, depth: number): boolean {
  const { node } = view;
  if (!isObject(node) || exhausted(view, depth)) return true;
  if (isObject(node.properties) && Object.hasOwn(node.properties, name)) return true;
  if (node.patternProperties !== undefined || node.additionalProperties !== undefined) return true;
  for (const keyword of ["if", "then", "else", "dependentSchemas", "$dynamicRef"])
    if (node[keyword] !== undefined) return true;
  if (typeof node.$ref === "string" && conjuncts({ ...view, node: { $ref: node.$ref } }).length === 0)
    return true;
  const parts = [...conjuncts(view), ...disjunctions(view).flat()];
  return parts.some((part) => isMentioned(part, name, depth + 1));
}

/** Returns the target of a reference in the same schema, or undefined. */
export function followReference(root: unknown, reference: string): unknown {
  if (reference === "#") return root;
  if (!reference.startsWith("#/")) return undefined;
  let node: unknown = root;
  for (const step of reference.slice(2).split("/")) {
    const name = decode(step).replaceAll("~1", "/").replaceAll("~0", "~");
    if (typeof node !== "object" || node === null || !Object.hasOwn(node, name)) return undefined;
    node = (node as JsonObject)[name];
  }
  return isSchema(node) ? node : undefined;
}

function decode(step: string): string {
  try {
    return decodeURIComponent(step);
  } catch {
    return step;
  }
}

function standsAlone({ node, whole }: SchemaView): boolean {
  return whole.refStandsAlone && isObject(node) && typeof node.$ref === "string";
}

function exhausted({ whole }: SchemaView, depth: number): boolean {
  whole.steps -= 1;
  return whole.steps < 0 || depth > MOST_DEPTH;
}

function ownValues(node: JsonObject): readonly unknown[] | undefined {
  if (Object.hasOwn(node, "const")) return [node.const];
  return Array.isArray(node.enum) ? (node.enum as unknown[]) : undefined;
}

function typeOfValue(value: unknown): TypeName {
  if (value === null) return "null";
  if (Array.isArray(value)) return "array";
  return typeof value as TypeName;
}

function asType(name: unknown): TypeName {
  return name === "integer" ? "number" : (name as TypeName);
}

function both<T>(a: ReadonlySet<T>, b: ReadonlySet<T>): Set<T> {
  return new Set([...a].filter((item) => b.has(item)));
}
