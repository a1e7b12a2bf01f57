// Downgrades results for legacy clients, which accept only objects as structured content and as output schema.

import { isObject, type JsonObject } from "../../model/index.ts";

/** A result for a legacy client. */
export function forLegacy(method: string, result: JsonObject): JsonObject {
  if (method === "tools/list") return withObjectSchemas(result);
  const { structuredContent } = result;
  if (structuredContent === undefined || isObject(structuredContent)) return result;
  const { structuredContent: _dropped, ...others } = result;
  const content = Array.isArray(result.content) ? result.content : [];
  const text = JSON.stringify(structuredContent);
  // Most servers send the same value as text too; null beside content is an empty field.
  const isEmpty = structuredContent === null && content.length > 0;
  const isRepeated =
    isEmpty ||
    content.some((block) => isObject(block) && block.type === "text" && sameJson(block.text, text));
  return { ...others, content: isRepeated ? content : [...content, { type: "text", text }] };
}

/** Cache: the same list is downgraded once. */
const downgraded = new WeakMap<object, JsonObject>();

function withObjectSchemas(result: JsonObject): JsonObject {
  const known = downgraded.get(result);
  if (known !== undefined) return known;
  const tools = Array.isArray(result.tools) ? result.tools : [];
  const needsDowngrade = (tool: unknown): tool is JsonObject =>
    isObject(tool) && tool.outputSchema !== undefined && !isObjectSchema(tool.outputSchema);
  const converted = tools.some(needsDowngrade)
    ? {
        ...result,
        tools: tools.map((tool: unknown) => {
          if (!needsDowngrade(tool)) return tool;
          const { outputSchema: _dropped, ...others } = tool;
          return others;
        }),
      }
    : result;
  downgraded.set(result, converted);
  return converted;
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
