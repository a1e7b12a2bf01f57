// The text of the mcpfile. The same description always gives the same bytes.

import { Lexer, stringify } from "yaml";
import type { JsonObject } from "../model/index.ts";
import { wellFormed } from "./request/url-text.ts";

/** Block style throughout, lines as long as they are; words that older YAML takes for booleans are quoted. */
function yaml(value: unknown): string {
  return wellFormed(
    stringify(value, {
      aliasDuplicateObjects: false,
      blockQuote: "literal",
      compat: "yaml-1.1",
      doubleQuotedMinMultiLineLength: Number.MAX_SAFE_INTEGER,
      lineWidth: 0,
    }),
  );
}

export function renderFile(comments: readonly string[], head: JsonObject, tools: readonly string[]): string {
  const lines = comments.map(
    (comment) => `# ${comment.replace(/[\p{C}\u2028\u2029]+/gu, " ").slice(0, 300)}`,
  );
  return `${lines.join("\n")}\n${yaml(head)}tools:\n${tools.join("")}`;
}

export function renderTool(tool: JsonObject): string {
  return yaml([tool]).replace(/^(?=.)/gm, "  ");
}

export interface Size {
  readonly bytes: number;
  readonly lexemes: number;
}

export function sizeOf(text: string): Size {
  let lexemes = 0;
  for (const _ of new Lexer().lex(text)) lexemes += 1;
  return { bytes: Buffer.byteLength(text), lexemes };
}

export function depthOf(value: unknown): number {
  if (typeof value !== "object" || value === null) return 0;
  let deepest = 0;
  for (const inner of Object.values(value)) deepest = Math.max(deepest, depthOf(inner));
  return deepest + 1;
}
