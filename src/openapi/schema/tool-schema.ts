// The last step of a tool's schema: the definitions that it refers to are added, and its size is checked.

import { isObject, type JsonObject } from "../../model/index.ts";
import { boundSchema } from "../../schema/index.ts";
import type { SchemaConverter } from "./schema.ts";
import { Unusable } from "../types.ts";

export function closed(root: JsonObject, converter: SchemaConverter): JsonObject {
  const definitions = used(root, converter.definitions());
  const schema = Object.keys(definitions).length === 0 ? root : { ...root, $defs: definitions };
  const bounds = boundSchema(schema);
  if (!bounds.ok) throw new Unusable(`its schema cannot be used: ${bounds.reason}`, []);
  return schema;
}

/** Some were met on the way to a form that needs them no more. */
function used(root: JsonObject, definitions: JsonObject): JsonObject {
  const reached = new Set<string>();
  const todo: unknown[] = [root];
  while (todo.length > 0) {
    const value = todo.pop();
    if (Array.isArray(value)) for (const item of value) todo.push(item);
    if (!isObject(value)) continue;
    const name = typeof value.$ref === "string" ? value.$ref.slice("#/$defs/".length) : undefined;
    if (name !== undefined && !reached.has(name)) {
      reached.add(name);
      todo.push(definitions[name]);
    }
    todo.push(...Object.values(value));
  }
  return Object.fromEntries(Object.entries(definitions).filter(([name]) => reached.has(name)));
}
