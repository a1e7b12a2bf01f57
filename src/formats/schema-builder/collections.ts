// Builders for values that contain other values: lists, maps, unions, and objects of several forms. A wrong item is left out, and the
// right ones are kept.

import { type ListNode, nodeAt, type ObjectNode, type TextNode, toLabel } from "../document/index.ts";
import { type AnySchema, type Input, type ReadContext, Schema, type Value } from "./schema.ts";

interface ListOptions {
  /** No two items are the same; only for lists of texts or numbers. */
  readonly unique?: true;
  readonly minItems?: 1;
}

export function list<S extends AnySchema>(
  description: string,
  items: S,
  { unique, minItems }: ListOptions = {},
): Schema<readonly Value<S>[], readonly Input<S>[]> {
  return new Schema<readonly Value<S>[], readonly Input<S>[]>({
    description,
    expected: "a list",
    accepts: ["list"],
    wrongKindHint: ({ kind }) =>
      kind === "string" ? "Write a list: [one, two], or a line with - for each." : undefined,
    read(node, context) {
      const { items: nodes } = node as ListNode;
      if (minItems !== undefined && nodes.length < minItems)
        context.diagnostics.add(node, `${toLabel(node.path)} is empty`, "Write at least one item.");
      const seen = unique === true ? new Map<unknown, TextNode>() : undefined;
      return nodes.flatMap((item): Value<S>[] => {
        const value: Value<S> | undefined = items.read(item, context);
        if (value === undefined) return [];
        if (seen !== undefined) reportRepeated(value, item, seen, context);
        return [value];
      });
    },
    toJsonSchema: () => ({
      type: "array",
      items: items.toJsonSchema(),
      ...(unique === true ? { uniqueItems: true } : {}),
      ...(minItems === undefined ? {} : { minItems }),
    }),
  });
}

function reportRepeated(
  value: unknown,
  item: TextNode,
  seen: Map<unknown, TextNode>,
  { diagnostics }: ReadContext,
): void {
  const first = seen.get(value);
  if (first === undefined) seen.set(value, item);
  else
    diagnostics.add(
      item,
      `${toLabel(item.path)} repeats ${toLabel(first.path)} at line ${first.line}`,
      "Keep one of them.",
    );
}

/** An object whose keys the author of the file chooses. */
export function map<S extends AnySchema>(
  description: string,
  values: S,
  { keyPattern }: { readonly keyPattern?: string } = {},
): Schema<Readonly<Record<string, Value<S>>>, Readonly<Record<string, Input<S>>>> {
  return new Schema<Readonly<Record<string, Value<S>>>, Readonly<Record<string, Input<S>>>>({
    description,
    expected: "an object with keys",
    accepts: ["object"],
    read: (node, context) =>
      Object.fromEntries(
        (node as ObjectNode).entries.flatMap(({ key, value: item }): [string, Value<S>][] => {
          const value: Value<S> | undefined = values.read(item, context);
          return value === undefined ? [] : [[key, value]];
        }),
      ),
    toJsonSchema: () => ({
      type: "object",
      ...(keyPattern === undefined ? {} : { propertyNames: { pattern: keyPattern } }),
      additionalProperties: values.toJsonSchema(),
    }),
  });
}

/** One of several schemas. The kind of the node decides which one: the first that accepts it. */
export function union<const S extends readonly AnySchema[]>(
  description: string,
  options: S,
): Schema<Value<S[number]>, Input<S[number]>> {
  return new Schema<Value<S[number]>, Input<S[number]>>({
    description,
    expected: options.map(({ rules }) => rules.expected).join(" or "),
    accepts: options.flatMap(({ rules }) => rules.accepts),
    read: (node, context) =>
      options.find(({ rules }) => rules.accepts.includes(node.kind))?.read(node, context),
    toJsonSchema: () => ({ anyOf: options.map((option) => option.toJsonSchema()) }),
  });
}

interface VariantOptions<Names extends string> {
  /** Reports that the key is absent or not a text. `known` are the words that it may have. */
  readonly reportMissing: (node: ObjectNode, known: readonly Names[], context: ReadContext) => void;
  /** Reports an unknown word. Without an error, the value is left out. */
  readonly reportUnknown: (
    word: string,
    node: TextNode,
    known: readonly Names[],
    context: ReadContext,
  ) => void;
  /** Checks the object of a known form, even when some of its fields are wrong. */
  readonly check?: (node: ObjectNode, form: AnySchema, context: ReadContext) => void;
}

/** An object in one of several forms, which the word under `key` selects. `forms` are object schemas, each with a field for `key` that accepts its own word only. */
export function variants<const F extends Readonly<Record<string, AnySchema>>>(
  description: string,
  key: string,
  forms: F,
  { reportMissing, reportUnknown, check }: VariantOptions<keyof F & string>,
): Schema<Value<F[keyof F]>, Input<F[keyof F]>> {
  const known = Object.keys(forms) as (keyof F & string)[];
  return new Schema<Value<F[keyof F]>, Input<F[keyof F]>>({
    description,
    expected: "an object with keys",
    accepts: ["object"],
    read(node, context) {
      const object = node as ObjectNode;
      const tag = nodeAt(object, key);
      if (tag?.kind !== "string") {
        reportMissing(object, known, context);
        return undefined;
      }
      const word = String(tag.value);
      const form = Object.hasOwn(forms, word) ? forms[word] : undefined;
      if (form === undefined) {
        reportUnknown(word, tag, known, context);
        return undefined;
      }
      const value: Value<F[keyof F]> | undefined = form.read(object, context);
      check?.(object, form, context);
      return context.diagnostics.hasErrorIn(object) ? undefined : value;
    },
    toJsonSchema: () => ({ anyOf: Object.values(forms).map((form) => form.toJsonSchema()) }),
  });
}
