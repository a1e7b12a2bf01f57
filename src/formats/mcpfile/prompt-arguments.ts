// The arguments of a prompt, which a file may give as a list for people, as a schema, or as both.

import { isObject, type JsonSchema, type PromptArgument } from "../../model/index.ts";

/** What clients are told when only the schema is there. */
export function argumentsOf(schema: JsonSchema): PromptArgument[] {
  const properties = isObject(schema.properties) ? schema.properties : {};
  const required: readonly unknown[] = Array.isArray(schema.required) ? schema.required : [];
  return Object.entries(properties).map(([name, property]) => {
    const { title, description } = isObject(property) ? property : {};
    return {
      name,
      ...(typeof title === "string" ? { title } : {}),
      ...(typeof description === "string" ? { description } : {}),
      required: required.includes(name),
    };
  });
}

/** What is taken when only the list is there: arguments of prompts are texts. */
export function schemaOf(list: readonly PromptArgument[] | undefined): JsonSchema {
  const named = (list ?? []).filter((argument) => typeof argument?.name === "string");
  const properties = named.map(({ name, description }) => [
    name,
    { type: "string", ...(description === undefined ? {} : { description }) },
  ]);
  const required = named.filter((argument) => argument.required === true).map(({ name }) => name);
  return {
    type: "object",
    properties: Object.fromEntries(properties),
    ...(required.length === 0 ? {} : { required }),
  };
}
