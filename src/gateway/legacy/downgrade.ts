// What legacy clients cannot take, made so that they can: there, structured content and its schema are objects.

import { isObject, type JsonObject } from "../../model/index.ts";

/** A result for a legacy client. */
export function forLegacy(method: string, result: JsonObject): JsonObject {
  if (method === "tools/list") return withObjectSchemas(result);
  const { structuredContent } = result;
  if (structuredContent === undefined || isObject(structuredContent)) return result;
  const { structuredContent: _dropped, ...others } = result;
  const content = Array.isArray(result.content) ? result.content : [];
  const text = JSON.stringify(structuredContent);
  // Most servers say the same as text already; null beside content is a field that the server left empty.
  const isEmpty = structuredContent === null && content.length > 0;
  const said =
    isEmpty ||
    content.some((block) => isObject(block) && block.type === "text" && sameJson(block.text, text));
  return { ...others, content: said ? content : [...content, { type: "text", text }] };
}

const downgraded = new WeakMap<object, JsonObject>();

function withObjectSchemas(result: JsonObject): JsonObject {
  const known = downgraded.get(result);
  if (known !== undefined) return known;
  const tools = Array.isArray(result.tools) ? result.tools : [];
  const isOdd = (tool: unknown): tool is JsonObject =>
    isObject(tool) && tool.outputSchema !== undefined && !isObjectSchema(tool.outputSchema);
  const fitting = tools.some(isOdd)
    ? {
        ...result,
        tools: tools.map((tool: unknown) => {
          if (!isOdd(tool)) return tool;
          const { outputSchema: _dropped, ...others } = tool;
          return others;
        }),
      }
    : result;
  downgraded.set(result, fitting);
  return fitting;
}

function isObjectSchema(schema: unknown): boolean {
  return isObject(schema) && schema.type === "object";
}

function sameJson(text: unknown, json: string): boolean {
  if (typeof text !== "string") return false;
  try {
    return JSON.stringify(JSON.parse(text)) === json;
  } catch {
    return false;
  }
}
