// Builder for objects that come in several forms, told apart by the word under one key.

import { nodeAt, type ObjectNode, type TextNode } from "../document/index.ts";
import { type AnySchema, type Input, type ReadContext, Schema, type Value } from "./schema.ts";

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

/** `forms` are object schemas, each with a field for `key` that accepts its own word only. */
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
