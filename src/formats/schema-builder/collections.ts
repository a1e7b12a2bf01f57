// Builders for values that contain other values: lists, maps and unions. A wrong item is left out, and the right ones are kept.

import { type ListNode, type ObjectNode, type TextNode, toLabel } from "../document/index.ts";
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
      `${toLabel(item.path)} says the same as ${toLabel(first.path)} at line ${first.line}`,
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
