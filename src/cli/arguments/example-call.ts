// An example call of a tool: a command line that can be pasted, with a value for every required argument.

import { shellWord } from "../../base/text/command-line.ts";
import { isObject, type JsonSchema, type ToolDefinition } from "../../model/index.ts";
import { enumOf, resolveSchema, shapeOf, typesOf } from "./json-schema.ts";

const MAX_VALUE = 200;

/** `target` are the words before the arguments: `files.read`, or a quoted command and the tool. */
export function exampleCall(tool: ToolDefinition, target: readonly string[]): string {
  const { inputSchema: schema } = tool;
  const properties = [...shapeOf(schema, schema).properties.values()];
  const words = properties
    .filter(({ required }) => required)
    .map(({ name, schema: own }) => {
      const { text, json } = sampleOf(name, own, schema);
      return `${name}${json ? ":=" : "="}${text}`;
    });
  return ["portolan call", ...[...target, ...words].map(quote)].join(" ");
}

/** `key=value` needs no quotes in a shell. */
function quote(word: string): string {
  return /^[\w.:=/@%+,-]+$/.test(word) ? word : shellWord(word);
}

/** A value that the schema names (examples, default, const, enum), else one of its type. */
function sampleOf(name: string, schema: unknown, root: JsonSchema): { text: string; json: boolean } {
  const own = resolveSchema(schema, root) ?? {};
  const examples = Array.isArray(own["examples"]) ? own["examples"] : [];
  const named = [...examples, own["default"], own["const"], ...(enumOf(own) ?? [])].find(
    (value) => value !== undefined && value !== null && JSON.stringify(value).length <= MAX_VALUE,
  ) as unknown;
  if (typeof named === "string" && !named.startsWith("@")) return { text: named, json: false };
  if (named !== undefined) return { text: JSON.stringify(named), json: true };
  const types = typesOf(schema, root);
  if (types === undefined || types.has("string"))
    return { text: name.replace(/[^\w-]/g, "") || "text", json: false };
  if (types.has("integer") || types.has("number"))
    return { text: String(typeof own["minimum"] === "number" ? own["minimum"] : 1), json: false };
  if (types.has("boolean")) return { text: "true", json: false };
  if (types.has("array")) return { text: JSON.stringify(arraySample(own, root)), json: true };
  return { text: JSON.stringify(objectSample(own, root, 0)), json: true };
}

function arraySample(schema: JsonSchema, root: JsonSchema): unknown[] {
  const { text, json } = sampleOf("item", schema["items"], root);
  return [json ? (JSON.parse(text) as unknown) : valueOf(text, schema["items"], root)];
}

function objectSample(schema: unknown, root: JsonSchema, depth: number): Record<string, unknown> {
  if (!isObject(schema) || depth > 3) return {};
  return Object.fromEntries(
    [...shapeOf(schema, root).properties.values()]
      .filter(({ required }) => required)
      .map(({ name, schema: own }) => {
        const { text, json } = sampleOf(name, own, root);
        return [name, json ? (JSON.parse(text) as unknown) : valueOf(text, own, root)];
      }),
  );
}

function valueOf(text: string, schema: unknown, root: JsonSchema): unknown {
  const types = typesOf(schema, root);
  return types === undefined || types.has("string") ? text : (JSON.parse(text) as unknown);
}
