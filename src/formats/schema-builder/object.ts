// Builder for objects with named fields. The code uses the fields' names, the file uses their keys.

import { didYouMean } from "../../errors/index.ts";
import {
  type Diagnostics,
  type Entry,
  type ObjectNode,
  type Place,
  quoted,
  toLabel,
} from "../document/index.ts";
import {
  type AnySchema,
  type Fields,
  type Input,
  type JsonSchemaObject,
  type ReadContext,
  Schema,
  type Value,
} from "./schema.ts";

type Flat<T> = { [K in keyof T]: T[K] };
/** Written as a filter of keys, so that editors lead from a property to the line of its field. */
type When<F extends Fields, K extends keyof F, P> = F[K]["types"]["presence"] extends P ? K : never;

/** The value of an object with these fields. */
export type ObjectValue<F extends Fields> = Flat<
  { readonly [K in keyof F as When<F, K, "required" | "default">]: Value<F[K]> } & {
    readonly [K in keyof F as When<F, K, "optional">]?: Value<F[K]>;
  }
>;
/** The object as a file writes it, or as a program passes it: an undefined field is an absent one. */
export type ObjectInput<F extends Fields> = Flat<
  { readonly [K in keyof F as KeyWhen<F, K, "required">]: Input<F[K]> } & {
    readonly [K in keyof F as KeyWhen<F, K, "default" | "optional">]?: Input<F[K]> | undefined;
  }
>;
type KeyWhen<F extends Fields, K extends keyof F, P> = F[K]["types"]["presence"] extends P
  ? F[K]["types"]["key"] extends ""
    ? SnakeCase<K & string>
    : F[K]["types"]["key"]
  : never;
type SnakeCase<Name extends string> = Name extends `${infer First}${infer Rest}`
  ? `${First extends Lowercase<First> ? First : `_${Lowercase<First>}`}${SnakeCase<Rest>}`
  : "";

/** Where a check reports what it found: fields are named as in the code, whichever key the file uses. */
export interface CheckContext<Name extends string> extends ReadContext {
  readonly node: ObjectNode;
  /** The entry of a field, unless it is absent or null. */
  readonly entry: (name: Name) => Entry | undefined;
  /** The key of a field in this file. */
  readonly key: (name: Name) => string;
  /** Reports an error at the value of a field, or at the object when the field is absent. */
  readonly error: (name: Name, message: string, hint?: string) => void;
  readonly warn: (name: Name, message: string, hint?: string) => void;
}

export interface ObjectOptions<F extends Fields> {
  /** Ignores unknown keys instead of reporting them. */
  readonly open?: true;
  /** Hints for keys that belong somewhere else. */
  readonly unknownKeys?: Readonly<Record<string, string>>;
  /** The file uses the fields' names as keys. Otherwise a key is the name in snake_case. */
  readonly keys?: "camelCase";
  /** Checks rules between fields. It is called even when some fields are wrong; those are absent from `draft`. */
  readonly check?: (draft: Partial<ObjectValue<F>>, context: CheckContext<keyof F & string>) => void;
}

/** An object that is unusable as a whole when anything in it is wrong. */
export function object<const F extends Fields>(
  description: string,
  fields: F,
  options: ObjectOptions<F> = {},
): Schema<ObjectValue<F>, ObjectInput<F>> {
  return partialObject(description, fields, options).transform((draft) => draft as ObjectValue<F>);
}

/** An object of which the right fields are kept when others are wrong. */
export function partialObject<const F extends Fields>(
  description: string,
  fields: F,
  options: ObjectOptions<F> = {},
): Schema<Partial<ObjectValue<F>>, ObjectInput<F>> {
  const keys = keysOf(fields, options.keys === "camelCase");
  let names: ReadonlyMap<string, string> | undefined;
  return new Schema<Partial<ObjectValue<F>>, ObjectInput<F>>({
    description,
    fields,
    keys,
    expected: "an object with keys",
    accepts: ["object"],
    read(node, context) {
      names ??= namesByKey(fields, keys);
      const found = node as ObjectNode;
      const entries = entriesByName(found, names, keys, options, context.diagnostics);
      const draft = readFields(fields, keys, entries, found, context) as Partial<ObjectValue<F>>;
      nodes.set(draft, found);
      options.check?.(draft, checkContext(found, keys, entries, context));
      return draft;
    },
    toJsonSchema: () => objectJsonSchema(fields, keys, options.open === true),
  });
}

/** The draft of a partial object as a whole value, or undefined when anything in it is wrong. */
export function toWhole<const F extends Fields>(
  _fields: F,
  draft: Partial<ObjectValue<F>>,
  { diagnostics }: Pick<ReadContext, "diagnostics">,
): ObjectValue<F> | undefined {
  const node = nodes.get(draft);
  return node === undefined || diagnostics.hasErrorIn(node) ? undefined : (draft as ObjectValue<F>);
}

/** The fields without some of them. The type keeps them as fields that are never written. */
export function without<const F extends Fields>(fields: F, ...names: readonly (keyof F)[]): F {
  const entries = Object.entries(fields).filter(([name]) => !names.includes(name));
  return Object.fromEntries(entries) as unknown as F;
}

/** The same fields, none of them required. */
export function withoutRequired<const F extends Fields>(
  fields: F,
): { readonly [K in keyof F]: Schema<Value<F[K]>, Input<F[K]>> } {
  const entries = Object.entries(fields).map(([name, schema]) => [name, schema.optional()]);
  return Object.fromEntries(entries) as { [K in keyof F]: Schema<Value<F[K]>, Input<F[K]>> };
}

const nodes = new WeakMap<object, ObjectNode>();

/** The node that an object was read from, for checks that need the positions of other values. */
export function nodeOf(value: object): ObjectNode | undefined {
  return nodes.get(value);
}

/** The keys of the file by the fields' names. */
function keysOf(fields: Fields, camelCase: boolean): ReadonlyMap<string, string> {
  const toKey = (name: string): string =>
    camelCase ? name : name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  return new Map(Object.entries(fields).map(([name, { field }]) => [name, field.key ?? toKey(name)]));
}

function namesByKey(fields: Fields, keys: ReadonlyMap<string, string>): Map<string, string> {
  const names = new Map<string, string>();
  for (const [name, { field }] of Object.entries(fields)) {
    for (const key of [keys.get(name) ?? name, ...(field.aliases ?? [])]) names.set(key, name);
  }
  return names;
}

/** Keys that begin with `x-` belong to the author and are ignored. */
function entriesByName(
  node: ObjectNode,
  names: ReadonlyMap<string, string>,
  keys: ReadonlyMap<string, string>,
  { open, unknownKeys = {} }: Pick<ObjectOptions<Fields>, "open" | "unknownKeys">,
  diagnostics: Diagnostics,
): Map<string, Entry> {
  const entries = new Map<string, Entry>();
  for (const entry of node.entries) {
    const name = names.get(entry.key);
    const first = name === undefined ? undefined : entries.get(name);
    if (name === undefined) {
      if (open !== true && !entry.key.startsWith("x-"))
        reportUnknownKey(entry, keys, unknownKeys, diagnostics);
    } else if (first === undefined) entries.set(name, entry);
    else
      diagnostics.add(
        entry,
        `${entry.key} and ${first.key} (line ${first.line}, column ${first.column}) are the same key`,
        "Keep one of them.",
      );
  }
  return entries;
}

function reportUnknownKey(
  entry: Entry,
  keys: ReadonlyMap<string, string>,
  hints: Readonly<Record<string, string>>,
  diagnostics: Diagnostics,
): void {
  const known = [...keys.values()];
  const hint =
    entry.key === "<<"
      ? "Merge keys (<<) are not supported here. Write the keys themselves."
      : ((Object.hasOwn(hints, entry.key) ? hints[entry.key] : didYouMean(entry.key, known)) ??
        `The keys are ${known.join(", ")}.`);
  const where = toLabel(entry.path.slice(0, -1));
  diagnostics.add(entry, `unknown key ${quoted(entry.key)}${where && ` in ${where}`}`, hint);
}

function readFields(
  fields: Fields,
  keys: ReadonlyMap<string, string>,
  entries: ReadonlyMap<string, Entry>,
  node: ObjectNode,
  context: ReadContext,
): Record<string, unknown> {
  const draft: Record<string, unknown> = {};
  for (const [name, schema] of Object.entries(fields)) {
    const entry = entries.get(name);
    const isWritten = entry !== undefined && entry.value.kind !== "null";
    const value: unknown = isWritten ? schema.read(entry.value, context) : schema.field.default;
    if (value !== undefined) draft[name] = value;
    else if (!isWritten && schema.field.required === true)
      reportMissing(keys.get(name) ?? name, schema, entry ?? node, context.diagnostics);
  }
  return draft;
}

function reportMissing(
  key: string,
  { rules }: AnySchema,
  place: Entry | ObjectNode,
  diagnostics: Diagnostics,
): void {
  const isEmpty = "key" in place;
  const where = toLabel(isEmpty ? place.path.slice(0, -1) : place.path);
  const about = rules.description === "" ? "" : ` ${rules.description}`;
  diagnostics.add(
    place,
    `${key} is ${isEmpty ? "empty" : "missing"}${where && ` in ${where}`}`,
    `Write ${key}: ${rules.expected}.${about}`,
  );
}

function checkContext(
  node: ObjectNode,
  keys: ReadonlyMap<string, string>,
  entries: ReadonlyMap<string, Entry>,
  context: ReadContext,
): CheckContext<string> {
  const { diagnostics } = context;
  const place = (name: string): Place => entries.get(name)?.value ?? node;
  return {
    ...context,
    node,
    entry: (name) => {
      const entry = entries.get(name);
      return entry?.value.kind === "null" ? undefined : entry;
    },
    key: (name) => entries.get(name)?.key ?? keys.get(name) ?? name,
    error: (name, message, hint) => diagnostics.add(place(name), message, hint),
    warn: (name, message, hint) => diagnostics.warn(place(name), message, hint),
  };
}

function objectJsonSchema(
  fields: Fields,
  keys: ReadonlyMap<string, string>,
  open: boolean,
): JsonSchemaObject {
  const properties: JsonSchemaObject = {};
  const required: string[] = [];
  for (const [name, schema] of Object.entries(fields)) {
    const { aliases = [], required: isRequired } = schema.field;
    const key = keys.get(name) ?? name;
    properties[key] = schema.toJsonSchema();
    for (const alias of aliases)
      properties[alias] = { ...schema.toJsonSchema(), description: `Alias of ${key}.` };
    // An editor cannot know that an alias stands for the key, so it requires only keys without one.
    if (isRequired === true && aliases.length === 0) required.push(key);
  }
  return {
    type: "object",
    ...(required.length === 0 ? {} : { required }),
    properties,
    ...(open ? {} : { patternProperties: { "^x-": {} }, additionalProperties: false }),
  };
}
