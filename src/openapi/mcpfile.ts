// The text of the mcpfile: tools as long as there is room, the bases that they share, and the head. The same description always
// gives the same bytes.

import { Lexer } from "yaml";
import { renderYaml } from "../formats/document/index.ts";
import type { JsonObject } from "../model/index.ts";
import { RESULT_LIMITS } from "./limits.ts";
import { wellFormed } from "./request/url-text.ts";

/** In JSON. A longer outputSchema is left out, because clients do not read that much. */
const MAX_OUTPUT_BYTES = 32 * 1024;
/** The room that is kept for the head of the file. */
const HEAD: Size = { bytes: 8_192, lexemes: 1_000 };

interface Packed {
  readonly lean: string;
  /** The text with its outputSchema; `more` is the size of the outputSchema. */
  readonly full: string | undefined;
  readonly more: Size;
}

const NOTHING: Size = { bytes: 0, lexemes: 0 };

/** Collects the tools of a file. If there is too little room, the largest outputSchemas are left out first. */
export class Pack {
  readonly #tools: Packed[] = [];
  #size: Size = HEAD;
  #tooLong = 0;

  get count(): number {
    return this.#tools.length;
  }

  /** Returns false if there is no room for the tool, even without its outputSchema. */
  add(tool: JsonObject): boolean {
    const { outputSchema, ...rest } = tool;
    // Writing YAML is slow, so tools that are far too large are refused before.
    if (!fits(plus(this.#size, leastSize(rest)))) return false;
    const lean = renderTool(rest);
    const size = sizeOf(lean);
    const sum = plus(this.#size, size);
    if (!fits(sum)) return false;
    this.#size = sum;
    const isTooLong = jsonLength(outputSchema) > MAX_OUTPUT_BYTES;
    const full = outputSchema === undefined || isTooLong ? undefined : renderTool(tool);
    const more = full === undefined ? NOTHING : minus(sizeOf(full), size);
    this.#tools.push({ lean, full, more });
    if (isTooLong) this.#tooLong += 1;
    return true;
  }

  /** Returns the texts in the order in which they were added, and the number of outputSchemas that were left out. */
  finish(): { readonly texts: readonly string[]; readonly shortened: number } {
    const smallestFirst = this.#tools
      .map((tool, index) => ({ tool, index }))
      .sort((a, b) => a.tool.more.bytes - b.tool.more.bytes || a.index - b.index);
    const whole = new Set<Packed>();
    let size = this.#size;
    for (const { tool } of smallestFirst) {
      const sum = plus(size, tool.more);
      if (tool.full === undefined || !fits(sum)) continue;
      size = sum;
      whole.add(tool);
    }
    const shortened =
      this.#tooLong + this.#tools.filter((tool) => tool.full !== undefined && !whole.has(tool)).length;
    return {
      texts: this.#tools.map((tool) => (whole.has(tool) ? (tool.full ?? tool.lean) : tool.lean)),
      shortened,
    };
  }
}

function fits({ bytes, lexemes }: Size): boolean {
  return bytes <= RESULT_LIMITS.bytes && lexemes <= RESULT_LIMITS.lexemes;
}

function plus(a: Size, b: Size): Size {
  return { bytes: a.bytes + b.bytes, lexemes: a.lexemes + b.lexemes };
}

function minus(a: Size, b: Size): Size {
  return { bytes: a.bytes - b.bytes, lexemes: a.lexemes - b.lexemes };
}

/** A lower bound: each value has at least a mark, its text and the end of its line. */
function leastSize(value: unknown): Size {
  return { bytes: jsonLength(value) * 0.8, lexemes: leastLexemes(value) };
}

function leastLexemes(value: unknown): number {
  if (typeof value !== "object" || value === null) return 5;
  let lexemes = 3;
  for (const inner of Object.values(value)) lexemes += leastLexemes(inner);
  return lexemes;
}

function jsonLength(value: unknown): number {
  return value === undefined ? 0 : JSON.stringify(value).length;
}

/** The `invocationBases` of a file: each base URL with its headers, written once for all tools that use it. */
export class Bases {
  readonly #names = new Map<string, string>();
  readonly list: JsonObject = {};

  /** Returns the name of the base with this URL and these headers; adds the base if it is new. */
  nameFor(url: string, headers: Readonly<Record<string, string>>): string {
    const key = JSON.stringify([url, headers]);
    const known = this.#names.get(key);
    if (known !== undefined) return known;
    const name = this.#names.size === 0 ? "api" : `api-${this.#names.size + 1}`;
    this.#names.set(key, name);
    const http: JsonObject = { method: "GET", url };
    if (Object.keys(headers).length > 0) http.headers = headers;
    this.list[name] = { http };
    return name;
  }

  /** The bases of these names. */
  named(names: ReadonlySet<string>): JsonObject {
    return Object.fromEntries(Object.entries(this.list).filter(([name]) => names.has(name)));
  }
}

function yaml(value: unknown): string {
  return wellFormed(renderYaml(value));
}

export function renderFile(comments: readonly string[], head: JsonObject, tools: readonly string[]): string {
  const lines = comments.map(
    (comment) => `# ${comment.replace(/[\p{C}\u2028\u2029]+/gu, " ").slice(0, 300)}`,
  );
  return `${lines.join("\n")}\n${yaml(head)}tools:\n${tools.join("")}`;
}

function renderTool(tool: JsonObject): string {
  return yaml([tool]).replace(/^(?=.)/gm, "  ");
}

interface Size {
  readonly bytes: number;
  readonly lexemes: number;
}

function sizeOf(text: string): Size {
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
