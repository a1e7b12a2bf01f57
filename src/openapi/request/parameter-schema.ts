// Schema of the argument for a parameter: the parameter's own schema, or one for the form in which its values are sent.

import { isObject, type JsonObject } from "../../model/index.ts";
import { quoted } from "../../formats/document/index.ts";
import { textOf } from "../document/document.ts";
import type { SpecDiagnostics } from "../document/diagnostics.ts";
import { described } from "./tool-inputs.ts";
import type { Parameter } from "./parameters.ts";
import type { SchemaConverter } from "../schema/schema.ts";
import type { Schema } from "../types.ts";

export type Argument =
  | {
      readonly schema: Schema;
      /** Text before the value in a path. */
      readonly before?: string;
      /** For an object: the query key of each property. */
      readonly keys?: readonly { readonly key: string; readonly inner: string }[];
    }
  | { readonly problem: string };

const SEPARATOR_WORDS: Readonly<Record<string, string>> = {
  ",": "commas",
  " ": "spaces",
  "|": '"|"',
  "\t": "tabs",
};

export function argumentOf(
  parameter: Parameter,
  converter: SchemaConverter,
  diagnostics: SpecDiagnostics,
): Argument {
  const { at, schema, writing } = parameter;
  const description = textOf(at, "description");
  switch (writing.kind) {
    case "impossible":
      return { problem: writing.reason };
    case "json":
      return {
        schema: {
          type: "string",
          contentMediaType: "application/json",
          description: sentences(description, "A JSON text."),
        },
      };
    case "plain":
      return { schema: described(converter.convert(schema), description), before: writing.before };
    case "repeated":
      return { schema: described(converter.convert(schema), description) };
    case "joined":
      return { schema: joined(parameter, writing.by, converter.convertWhole(schema), diagnostics) };
    case "properties":
      return spread(parameter, writing.bracketed, converter.convertWhole(schema), diagnostics);
  }
}

/** One text, because a list would be sent as one key for each value. */
function joined({ name, at }: Parameter, by: string, schema: Schema, diagnostics: SpecDiagnostics): Schema {
  const list = isObject(schema) ? schema : {};
  const words = SEPARATOR_WORDS[by] ?? quoted(by);
  const choices = isObject(list.items) && Array.isArray(list.items.enum) ? list.items.enum : [];
  diagnostics.info(
    at.path,
    `the tool takes the list ${quoted(name)} as one text, with ${words} between the values`,
  );
  const text: JsonObject = {
    type: "string",
    description: sentences(
      textOf(at, "description") ?? (typeof list.description === "string" ? list.description : undefined),
      `One value, or several with ${words} between them.`,
      choices.length === 0 ? undefined : `Values: ${choices.map(String).join(", ").slice(0, 1_000)}.`,
    ),
  };
  if (Array.isArray(list.default)) text.default = list.default.map(String).join(by);
  return text;
}

/** Each property has its own key in the query, so only named properties can be sent. */
function spread(
  parameter: Parameter,
  bracketed: boolean,
  schema: Schema,
  diagnostics: SpecDiagnostics,
): Argument {
  const { name, at } = parameter;
  if (!isObject(schema) || !isObject(schema.properties))
    return { problem: "is an object of unknown properties" };
  const keys: { key: string; inner: string }[] = [];
  const properties: JsonObject = {};
  for (const [inner, value] of Object.entries(schema.properties)) {
    if (!/^[A-Za-z0-9_-]+$/.test(inner) || (isObject(value) && isObject(value.properties))) {
      diagnostics.warn(at.path, `the property ${quoted(inner)} of the parameter ${quoted(name)} is left out`);
      continue;
    }
    properties[inner] = value;
    keys.push({ key: bracketed ? `${name}[${inner}]` : inner, inner });
  }
  if (keys.length === 0) return { problem: "is an object without usable properties" };
  const required = Array.isArray(schema.required)
    ? schema.required.filter((inner) => Object.hasOwn(properties, inner as string))
    : [];
  const { required: _, ...rest } = schema;
  const object: JsonObject = { ...rest, properties, additionalProperties: false };
  if (required.length > 0) object.required = required;
  return { schema: described(object, textOf(at, "description")), keys };
}

function sentences(...parts: readonly (string | undefined)[]): string {
  return parts
    .filter((part) => part !== undefined)
    .map((part) => (/[.!?:]$/.test(part) ? part : `${part}.`))
    .join(" ");
}
