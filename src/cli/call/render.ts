// Renders results as text: text unchanged, bytes as saved files, links as lines.

import {
  type CallToolResult,
  type ContentBlock,
  type GetPromptResult,
  isObject,
  type ReadResourceResult,
  type ResourceContents,
} from "../../model/index.ts";
import type { Cli } from "../context.ts";
import type { Colors } from "../terminal/colors.ts";
import { formatBytes } from "../terminal/layout.ts";
import { plainLine, plainText, toJsonText } from "../terminal/safe-text.ts";
import { createSaver, type Saver } from "./save-file.ts";

export interface RenderContext {
  readonly colors: Colors;
  readonly save: Saver["save"];
  /** Saves text as well, because the user named a file. */
  readonly saveText?: boolean;
}

/** Renders a tool result; structured content is shown unless a text block contains the same. */
export async function renderToolResult(result: CallToolResult, context: RenderContext): Promise<string> {
  const blocks = Array.isArray(result.content) ? result.content : [];
  const parts: string[] = [];
  for (const block of blocks) parts.push(await renderBlock(block, context));
  if (
    result.structuredContent !== undefined &&
    !blocks.some((block) => saysTheSame(block, result.structuredContent))
  ) {
    parts.push(toJsonText(result.structuredContent, 2));
  }
  // A result of another type, such as a task, has no content, so all of it is shown.
  if (parts.length === 0 && (result.resultType ?? "complete") !== "complete") return toJsonText(result, 2);
  return joinParts(parts) || context.colors.dim("(empty result)");
}

export async function renderResource(result: ReadResourceResult, context: RenderContext): Promise<string> {
  const contents = Array.isArray(result.contents) ? result.contents : [];
  const parts: string[] = [];
  for (const entry of contents) {
    const head = contents.length > 1 ? `${context.colors.dim(resourceLine(entry))}\n` : "";
    parts.push(head + (await renderContents(entry, context)));
  }
  return joinParts(parts) || context.colors.dim("(empty resource)");
}

export async function renderPrompt(result: GetPromptResult, context: RenderContext): Promise<string> {
  const parts: string[] = [];
  if (typeof result.description === "string") parts.push(context.colors.dim(plainText(result.description)));
  for (const message of Array.isArray(result.messages) ? result.messages : []) {
    const blocks = [message.content].flat();
    const rendered: string[] = [];
    for (const block of blocks) rendered.push(await renderBlock(block, context));
    parts.push(`${context.colors.bold(plainLine(message.role))}\n${rendered.join("\n")}`);
  }
  return joinParts(parts, "\n\n") || context.colors.dim("(empty prompt)");
}

async function renderBlock(block: ContentBlock, context: RenderContext): Promise<string> {
  if (!isObject(block)) return toJsonText(block);
  switch (block.type) {
    case "text":
      if (typeof block["text"] === "string") return renderText(block["text"], "text/plain", "text", context);
      break;
    case "image":
    case "audio":
      if (typeof block["data"] === "string")
        return renderBytes(block["data"], textOf(block["mimeType"]), block.type, context);
      break;
    case "resource_link":
      return renderLink(block, context.colors);
    case "resource":
      if (isObject(block["resource"])) {
        const entry = block.resource;
        return `${context.colors.dim(resourceLine(entry))}\n${await renderContents(entry, context)}`;
      }
      break;
  }
  return toJsonText(block, 2);
}

async function renderContents(entry: ResourceContents, context: RenderContext): Promise<string> {
  if (typeof entry.text === "string")
    return renderText(entry.text, entry.mimeType ?? "text/plain", "resource", context);
  if (typeof entry.blob === "string") return renderBytes(entry.blob, entry.mimeType, "resource", context);
  return toJsonText(entry, 2);
}

async function renderText(
  text: string,
  mimeType: string,
  stem: string,
  context: RenderContext,
): Promise<string> {
  if (context.saveText !== true) return plainText(text);
  const bytes = Buffer.from(text, "utf8");
  return savedLine("text", mimeType, bytes.length, await context.save(bytes, mimeType, stem), context.colors);
}

async function renderBytes(
  base64: string,
  mimeType: string | undefined,
  stem: string,
  context: RenderContext,
): Promise<string> {
  const bytes = Buffer.from(base64, "base64");
  return savedLine(stem, mimeType, bytes.length, await context.save(bytes, mimeType, stem), context.colors);
}

function savedLine(
  kind: string,
  mimeType: string | undefined,
  size: number,
  path: string,
  colors: Colors,
): string {
  return `${colors.dim(`[${kind}${mimeType === undefined ? "" : ` ${plainLine(mimeType, 80)}`}, ${formatBytes(size)}]`)} ${path}`;
}

function renderLink(block: ContentBlock, colors: Colors): string {
  const name = plainLine(textOf(block["title"]) ?? textOf(block["name"]) ?? "resource");
  const description = textOf(block["description"]);
  return `${name} ${colors.cyan(plainLine(textOf(block["uri"]) ?? "", 2_000))}${description === undefined ? "" : colors.dim(` ${plainLine(description)}`)}`;
}

function resourceLine(entry: ResourceContents): string {
  return `${plainLine(entry.uri, 2_000)}${typeof entry.mimeType === "string" ? ` (${plainLine(entry.mimeType, 80)})` : ""}`;
}

function saysTheSame(block: ContentBlock, structured: unknown): boolean {
  if (!isObject(block) || typeof block["text"] !== "string") return false;
  // Many servers wrap their text in an object with one field.
  const values = isObject(structured) ? Object.values(structured) : [];
  if (values.length === 1 && typeof values[0] === "string" && values[0].trim() === block["text"].trim())
    return true;
  try {
    const text = JSON.stringify(sorted(JSON.parse(block["text"])));
    // So do they with a list: MCP permits only objects as structured content.
    const same = values.length === 1 ? [structured, values[0]] : [structured];
    return same.some((value) => JSON.stringify(sorted(value)) === text);
  } catch {
    return false;
  }
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (!isObject(value)) return value;
  return Object.entries(value)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, entry]) => [key, sorted(entry)]);
}

function joinParts(parts: readonly string[], separator = "\n"): string {
  return parts.map((part) => part.replace(/\n+$/, "")).join(separator);
}

function textOf(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}

export interface ResultOptions {
  out?: string;
  force?: boolean;
}

/** Checks --out before the request is made, so that no result is lost to a wrong path. */
export function openSaver({ io }: Cli, { out, force }: ResultOptions): Promise<Saver> {
  return createSaver({ out, force, cwd: io.cwd });
}

export async function showResult<T>(
  result: T,
  render: (result: T, context: RenderContext) => Promise<string>,
  { output }: Cli,
  saver: Saver,
  { out, saveText }: { readonly out: string | undefined; readonly saveText: boolean },
): Promise<void> {
  if (output.form === "json") output.json(result);
  if (output.form === "json" && out === undefined) return;
  const text = await render(result, { colors: output.colors, save: saver.save, saveText });
  if (output.form === "text") output.print(text);
  else for (const path of saver.saved) output.note(`saved ${path}`);
}
