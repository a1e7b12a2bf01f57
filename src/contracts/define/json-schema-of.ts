// A schema as JSON Schema, whichever library it was written with; no library is loaded for it.

import { PortolanError } from "../../errors/index.ts";
import { isObject, type JsonSchema } from "../../model/index.ts";
import type { AnySchema } from "./definitions.ts";

const TARGET = "draft-2020-12";

export function toJsonSchema(schema: AnySchema, side: "input" | "output"): JsonSchema {
  const standard = (schema as { readonly "~standard"?: unknown })["~standard"];
  if (!isObject(standard)) return schema as JsonSchema;
  const said = standard.jsonSchema;
  const write: unknown = isObject(said) ? said[side] : undefined;
  const own = (schema as { readonly toJSONSchema?: unknown }).toJSONSchema;
  if (typeof write === "function")
    return plain((write as (options: object) => unknown).call(said, { target: TARGET }));
  if (typeof own === "function")
    return plain((own as (options: object) => unknown).call(schema, { target: TARGET, io: side }));
  throw new PortolanError("CONFIG_INVALID", "This schema cannot be written as JSON Schema.", {
    hint: "Give a JSON Schema, or a schema of a library that knows Standard JSON Schema, such as Zod 4.",
  });
}

function plain(value: unknown): JsonSchema {
  return JSON.parse(JSON.stringify(value)) as JsonSchema;
}
