// MCP tool results: built from the outcome of an invocation.

import { firstWords, lastWords } from "../base/text/truncate.ts";
import { isObject, type CallToolResult, type ContentBlock, OUTPUT_MISMATCH } from "../model/index.ts";
import { formatProblem, measureInstance, type SchemaValidator } from "../schema/index.ts";
import { decodeText, isJson, isTextual, mediaType } from "./media-type.ts";
import type { Outcome } from "./types.ts";

const STDERR_CHARS = 4_096;
const SHOWN_CHARS = 4_096;

/** Rules by which `toToolResult()` decides whether a result is an error. */
export interface ResultRules {
  /** Validator of the tool's outputSchema. */
  readonly validator?: SchemaValidator;
  /** Calling the tool twice has the same effect as calling it once. */
  readonly repeatable: boolean;
}

export function toToolResult(outcome: Outcome, { validator, repeatable }: ResultRules): CallToolResult {
  const content = toContent(outcome);
  const notes = (outcome.notes ?? []).map(text);
  if (outcome.failure !== undefined) {
    const stderr = (outcome.stderr ?? "").trimEnd();
    const output = stderr === "" ? [] : [text(stderr)];
    return finish(
      { content: [text(outcome.failure), ...content, ...output, ...notes], isError: true },
      outcome,
    );
  }
  const after = [...stderrOf(outcome), ...notes];
  const all = [...content, ...after];
  const value = validator !== undefined || isJson(outcome.contentType) ? parse(outcome) : undefined;
  const structured = isObject(value) ? { structuredContent: value } : {};
  if (validator === undefined) return finish({ content: all, ...structured }, outcome);
  const problem = value === undefined ? describeNotJson(outcome) : mismatch(value, validator);
  if (problem === undefined) return finish({ content: all, structuredContent: value }, outcome);
  if (repeatable)
    return finish({ content: [text(problem), ...content.map(shortened), ...after], isError: true }, outcome);
  // An error would make the model repeat an operation that has been carried out.
  const warning = text(
    `Warning: ${problem} The operation was carried out; do not repeat it because of this warning.`,
  );
  const meta = { ...outcome.meta, [OUTPUT_MISMATCH]: problem };
  return finish({ content: [...all, warning], ...structured }, { ...outcome, meta });
}

/** The stderr output of a command that succeeded: many commands report there what they did. */
function stderrOf({ stderr = "", bytes }: Outcome): ContentBlock[] {
  const shown = stderr.trim() === "" ? "" : lastWords(stderr.trimEnd(), STDERR_CHARS);
  const about = bytes.length === 0 ? "The command succeeded without output on stdout. stderr:" : "stderr:";
  return shown === "" ? [] : [text(`${about}\n${shown}`)];
}

export function errorResult(message: string): CallToolResult {
  return { resultType: "complete", content: [text(message)], isError: true };
}

function finish(result: CallToolResult, { meta = {} }: Outcome): CallToolResult {
  return { resultType: "complete", ...result, ...(Object.keys(meta).length === 0 ? {} : { _meta: meta }) };
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

/** The output as JSON. Undefined when it is not JSON or exceeds the limits of the schema room. */
function parse({ bytes, contentType }: Outcome): unknown {
  try {
    const value: unknown = JSON.parse(decodeText(bytes, contentType).replace(/^\ufeff/, ""));
    return measureInstance(value).ok ? value : undefined;
  } catch {
    return undefined;
  }
}

function describeNotJson({ cut }: Outcome): string {
  return cut === true
    ? "The tool has an outputSchema, but its output is too long, and was cut."
    : "The tool has an outputSchema, but its output is not JSON.";
}

function mismatch(value: unknown, validator: SchemaValidator): string | undefined {
  const result = validator.check(value);
  if (result.valid !== false) return undefined;
  return `The output does not match the tool's outputSchema: ${result.problems.map(formatProblem).join("; ")}.`;
}

function shortened(block: ContentBlock): ContentBlock {
  return typeof block.text === "string" ? text(firstWords(block.text, SHOWN_CHARS)) : block;
}

function text(value: string): ContentBlock {
  return { type: "text", text: value };
}
