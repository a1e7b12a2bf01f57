// What came of an invocation, in the words of MCP.

import {
  firstOf,
  isObject,
  lastOf,
  type CallToolResult,
  type ContentBlock,
  type JsonObject,
} from "../model/index.ts";
import { formatProblem, measureInstance, type SchemaValidator } from "../schema/index.ts";
import { decodeText, isJson, isTextual, mediaType } from "./media.ts";
import type { Outcome } from "./types.ts";

const STDERR_CHARS = 4_096;
const SHOWN_CHARS = 4_096;

/** `validator` is that of the tool's outputSchema. */
export function toToolResult(outcome: Outcome, validator: SchemaValidator | undefined): CallToolResult {
  const content = toContent(outcome);
  if (outcome.failure !== undefined) {
    const stderr = (outcome.stderr ?? "").trimEnd();
    const said = stderr === "" ? [] : [text(stderr)];
    return finish({ content: [text(outcome.failure), ...content, ...said], isError: true }, outcome);
  }
  const value = validator !== undefined || isJson(outcome.contentType) ? parse(outcome) : undefined;
  if (validator === undefined)
    return finish(isObject(value) ? { content, structuredContent: value } : { content }, outcome);
  const problem = value === undefined ? whyNotJson(outcome) : mismatch(value, validator);
  if (problem === undefined) return finish({ content, structuredContent: value }, outcome);
  return finish({ content: [text(problem), ...content.map(shortened)], isError: true }, outcome);
}

export function errorResult(message: string): CallToolResult {
  return { resultType: "complete", content: [text(message)], isError: true };
}

function finish(result: CallToolResult, { meta, stderr, failure }: Outcome): CallToolResult {
  const aside = failure === undefined && stderr !== undefined && stderr.trim() !== "";
  const whole: JsonObject = {
    ...meta,
    ...(aside ? { "portolan/stderr": lastOf(stderr.trimEnd(), STDERR_CHARS) } : {}),
  };
  return {
    resultType: "complete",
    ...result,
    ...(Object.keys(whole).length === 0 ? {} : { _meta: whole }),
  };
}

function toContent({ bytes, contentType }: Outcome): ContentBlock[] {
  if (bytes.length === 0) return [];
  const type = mediaType(contentType);
  if (contentType === undefined || isTextual(contentType, bytes))
    return [text(decodeText(bytes, contentType))];
  const data = bytes.toString("base64");
  if (type.startsWith("image/")) return [{ type: "image", data, mimeType: type }];
  if (type.startsWith("audio/")) return [{ type: "audio", data, mimeType: type }];
  return [{ type: "resource", resource: { uri: "portolan:result", mimeType: type, blob: data } }];
}

/** Undefined when it is not JSON, or larger than anybody should have to read. */
function parse({ bytes, contentType }: Outcome): unknown {
  try {
    const value: unknown = JSON.parse(decodeText(bytes, contentType).replace(/^\ufeff/, ""));
    return measureInstance(value).ok ? value : undefined;
  } catch {
    return undefined;
  }
}

function whyNotJson({ cut }: Outcome): string {
  return cut === true
    ? "The tool promises JSON, but its output is longer than what is kept of it."
    : "The tool promises JSON, but its output is not JSON.";
}

function mismatch(value: unknown, validator: SchemaValidator): string | undefined {
  const result = validator.check(value);
  if (result.valid !== false) return undefined;
  return `The output does not match the tool's outputSchema: ${result.problems.map(formatProblem).join("; ")}`;
}

function shortened(block: ContentBlock): ContentBlock {
  return typeof block.text === "string" ? text(firstOf(block.text, SHOWN_CHARS)) : block;
}

function text(value: string): ContentBlock {
  return { type: "text", text: value };
}
