// Text of a tool result: its text blocks, and a placeholder for every other block.

import { type CallToolResult, type ContentBlock, isObject } from "../model/index.ts";

export function resultText(result: CallToolResult): string {
  const blocks = Array.isArray(result.content) ? result.content : [];
  if (blocks.length === 0 && result.structuredContent !== undefined) return json(result.structuredContent);
  return blocks.map(blockText).join("\n");
}

export function blockText(block: ContentBlock): string {
  if (!isObject(block)) return "[malformed content]";
  switch (block.type) {
    case "text":
      return typeof block.text === "string" ? block.text : "[malformed text]";
    case "image":
    case "audio":
      return `[${block.type}: ${media(block.mimeType)}, ${base64Bytes(block.data)} bytes]`;
    case "resource_link":
      return `[resource: ${typeof block.name === "string" ? `${block.name} ` : ""}<${block.uri}>]`;
    case "resource":
      return embeddedText(block.resource);
    default:
      return `[${block.type} content]`;
  }
}

function embeddedText(resource: unknown): string {
  if (!isObject(resource)) return "[malformed resource]";
  if (typeof resource.text === "string") return resource.text;
  return `[resource: <${String(resource.uri)}> ${media(resource.mimeType)}, ${base64Bytes(resource.blob)} bytes]`;
}

function media(mimeType: unknown): string {
  return typeof mimeType === "string" ? mimeType : "unknown type";
}

function base64Bytes(data: unknown): number {
  if (typeof data !== "string") return 0;
  const padding = data.endsWith("==") ? 2 : data.endsWith("=") ? 1 : 0;
  return Math.floor(((data.length - padding) * 3) / 4);
}

function json(value: unknown): string {
  try {
    return JSON.stringify(value) ?? "";
  } catch {
    return "[structured content is nested too deeply to show]";
  }
}
