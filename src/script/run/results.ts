// Values of results: the structured content of a tool, else its JSON, else its text; the same for resources.

import { isObject, type CallToolResult, type ReadResourceResult } from "../../model/index.ts";

/** The value of a tool result. Text is JSON only if it is an object or a list, so that "007" stays as it is. */
export function toolValue({ structuredContent, content }: CallToolResult): unknown {
  if (structuredContent !== undefined) return structuredContent;
  const blocks: readonly unknown[] = Array.isArray(content) ? content : [];
  const texts = blocks.map((block) => {
    if (!isObject(block)) return undefined;
    if (block.type === "text") return block.text;
    return block.type === "resource" && isObject(block.resource) ? block.resource.text : undefined;
  });
  // Images and other bytes are kept as the server sent them.
  if (!texts.every((text) => typeof text === "string")) return blocks;
  return parseJson(texts.join("\n"));
}

/** The value of a resource: its JSON or text; bytes as they were sent; a list if there are several contents. */
export function resourceValue({ contents }: ReadResourceResult): unknown {
  const values = (Array.isArray(contents) ? contents : []).map((entry: unknown) =>
    isObject(entry) && typeof entry.text === "string" ? parseJson(entry.text) : entry,
  );
  return values.length === 1 ? values[0] : values;
}

function parseJson(text: string): unknown {
  if (!/^\s*[[{]/.test(text)) return text;
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}
