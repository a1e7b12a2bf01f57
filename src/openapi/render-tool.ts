// One tool as YAML, and its size in a file. Definitions that many tools share are rendered once, because writing YAML is slow.

import { Lexer } from "yaml";
import { renderYaml } from "../formats/document/index.ts";
import { isObject, type JsonObject } from "../model/index.ts";
import { DEFINITION_BYTES, RESULT_LIMITS } from "./limits.ts";
import { wellFormed } from "./request/url-text.ts";

export interface Size {
  readonly bytes: number;
  readonly lexemes: number;
}

/** A tool as YAML, with and without its outputSchema. */
export interface PackedTool {
  readonly lean: string;
  readonly size: Size;
  /** The text with its outputSchema; `more` is the size of the outputSchema. */
  readonly full: string | undefined;
  readonly more: Size;
  /** True if the outputSchema is left out because of its size. */
  readonly isShortened: boolean;
}

interface Fragment {
  readonly text: string;
  readonly size: Size;
}

/** The room that is kept for the head of the file. */
export const HEAD: Size = { bytes: 8_192, lexemes: 1_000 };
const NOTHING: Size = { bytes: 0, lexemes: 0 };

/** Renders the tools of one description. */
export class ToolRenderer {
  /** Rendered definitions, by their JSON. */
  readonly #definitions = new Map<string, Fragment>();

  /** Returns undefined for a tool that has no room in any file, even without its outputSchema. */
  pack(tool: JsonObject): PackedTool | undefined {
    const { outputSchema, ...rest } = tool;
    // A tool that is far too large is refused before it is rendered.
    if (!fits(plus(HEAD, leastSize(rest)))) return undefined;
    const isShortened = jsonLength(outputSchema) > DEFINITION_BYTES.output;
    const parts = Object.entries(tool)
      .filter(([key]) => key !== "outputSchema" || !isShortened)
      .map(([key, value]) => ({ key, ...this.#member(key, value) }));
    const lean = parts.filter(({ key }) => key !== "outputSchema");
    const size = lean.reduce((sum, part) => plus(sum, part.size), NOTHING);
    if (!fits(plus(HEAD, size))) return undefined;
    const hasOutput = parts.length > lean.length;
    return {
      lean: asItem(lean),
      size,
      full: hasOutput ? asItem(parts) : undefined,
      more: parts.find(({ key }) => key === "outputSchema")?.size ?? NOTHING,
      isShortened,
    };
  }

  /** One member of the tool, indented as in a file. The `$defs` of a schema are its last member. */
  #member(key: string, value: unknown): Fragment {
    if (!isObject(value) || !isObject(value.$defs)) return fragment(yaml({ [key]: value }), 4);
    const { $defs, ...schema } = value;
    return join([
      fragment(yaml({ [key]: schema }), 4),
      fragment("$defs:\n", 6),
      ...Object.entries($defs).map(([name, definition]) => this.#definition(name, definition)),
    ]);
  }

  #definition(name: string, definition: unknown): Fragment {
    const key = JSON.stringify([name, definition]);
    const known = this.#definitions.get(key);
    if (known !== undefined) return known;
    const rendered = fragment(yaml({ [name]: definition }), 8);
    this.#definitions.set(key, rendered);
    return rendered;
  }
}

/** The members of a tool as an item of the list `tools`. */
function asItem(parts: readonly Fragment[]): string {
  return `  - ${parts
    .map(({ text }) => text)
    .join("")
    .slice(4)}`;
}

function fragment(text: string, indent: number): Fragment {
  const indented = text.replace(/^(?=.)/gm, " ".repeat(indent));
  let lexemes = 0;
  for (const _ of new Lexer().lex(indented)) lexemes += 1;
  return { text: indented, size: { bytes: Buffer.byteLength(indented), lexemes } };
}

function join(fragments: readonly Fragment[]): Fragment {
  return {
    text: fragments.map(({ text }) => text).join(""),
    size: fragments.reduce((sum, { size }) => plus(sum, size), NOTHING),
  };
}

export function yaml(value: unknown): string {
  return wellFormed(renderYaml(value));
}

export function fits({ bytes, lexemes }: Size): boolean {
  return bytes <= RESULT_LIMITS.bytes && lexemes <= RESULT_LIMITS.lexemes;
}

export function plus(a: Size, b: Size): Size {
  return { bytes: a.bytes + b.bytes, lexemes: a.lexemes + b.lexemes };
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
