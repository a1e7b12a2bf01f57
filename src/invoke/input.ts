// Input check of an operation: adds defaults, then validates the arguments. Arguments that the schema does not declare are refused, and
// so are those that the schema allows and the invocation never passes on.

import {
  type Invocation,
  isObject,
  type JsonObject,
  type JsonSchema,
  unusedArguments,
} from "../model/index.ts";
import {
  closedSchema,
  createValidator,
  describeField,
  measureInstance,
  type SchemaValidator,
} from "../schema/index.ts";
import { describeArgument } from "./values.ts";

export type Checked = { readonly args: JsonObject } | { readonly problems: readonly string[] };

export interface InputCheck {
  check(given: unknown): Checked;
}

/** With `fromText`, values arrive as text and are converted to the type that the schema declares. */
export async function createInputCheck(
  schema: JsonSchema,
  invocation: Invocation,
  fromText = false,
): Promise<InputCheck> {
  const validator = await createValidator(closedSchema(schema));
  return {
    check(given) {
      if (given !== undefined && given !== null && !isObject(given))
        return { problems: ["the arguments are not an object"] };
      const converted = fromText ? readTexts(given ?? {}, schema) : (given ?? {});
      const checked = validate(withDefaults(converted, schema, 0), validator);
      if ("problems" in checked) return checked;
      const unused = unusedArguments(invocation, schema, checked.args);
      const user = invocation.kind === "cli" ? "command" : "request";
      return unused.length === 0
        ? checked
        : { problems: unused.map((path) => `the ${user} does not use the ${describeArgument(path)}`) };
    },
  };
}

function validate(args: JsonObject, validator: SchemaValidator): Checked {
  // The schema may leave parts open, and these parts may be nested without end.
  const size = measureInstance(args);
  if (!size.ok) return { problems: [size.reason] };
  const result = validator.check(args);
  if (result.valid === true) return { args };
  if (result.valid === false) return { problems: result.problems.map(describeField) };
  // No server behind this one would validate the arguments, so unchecked ones are refused.
  return { problems: [`the arguments cannot be checked: ${result.reason}`] };
}

const MAX_DEPTH = 64;

function withDefaults(value: JsonObject, schema: JsonSchema, depth: number): JsonObject {
  if (!isObject(schema.properties) || depth > MAX_DEPTH) return value;
  const added: [string, unknown][] = [];
  for (const [name, property] of Object.entries(schema.properties)) {
    if (!isObject(property)) continue;
    if (!Object.hasOwn(value, name)) {
      if (property.default !== undefined) added.push([name, structuredClone(property.default)]);
      continue;
    }
    const inner = value[name];
    const filled = isObject(inner) ? withDefaults(inner, property, depth + 1) : inner;
    if (filled !== inner) added.push([name, filled]);
  }
  return added.length === 0 ? value : Object.fromEntries([...Object.entries(value), ...added]);
}

function readTexts(args: JsonObject, { properties }: JsonSchema): JsonObject {
  return Object.fromEntries(
    Object.entries(args).map(([name, value]) => {
      const property: unknown =
        isObject(properties) && Object.hasOwn(properties, name) ? properties[name] : undefined;
      return [name, typeof value === "string" && isObject(property) ? readText(value, property.type) : value];
    }),
  );
}

function readText(text: string, type: unknown): unknown {
  const types: unknown[] = Array.isArray(type) ? type : [type];
  if (types.includes("string")) return text;
  if (
    (types.includes("number") || types.includes("integer")) &&
    /^-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?$/.test(text)
  )
    return Number(text);
  if (types.includes("boolean") && (text === "true" || text === "false")) return text === "true";
  return text;
}
