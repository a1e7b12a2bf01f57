// Puts tools into one file as long as there is room. What they promise about results goes first when there is too little.

import type { JsonObject } from "../model/index.ts";
import { RESULT_LIMITS } from "./limits.ts";
import { renderTool, type Size, sizeOf } from "./render.ts";

/** In JSON. A longer outputSchema says more than any client reads, and is left out. */
const MAX_OUTPUT_BYTES = 32 * 1024;
/** What the head of the file takes. */
const HEAD: Size = { bytes: 8_192, lexemes: 1_000 };

interface Packed {
  readonly lean: string;
  /** With its outputSchema, and what that costs. */
  readonly full: string | undefined;
  readonly more: Size;
}

const NOTHING: Size = { bytes: 0, lexemes: 0 };

export class Pack {
  readonly #tools: Packed[] = [];
  #size: Size = HEAD;
  #tooLong = 0;

  get count(): number {
    return this.#tools.length;
  }

  /** False when there is no room for it, even without its outputSchema. */
  add(tool: JsonObject): boolean {
    const { outputSchema, ...rest } = tool;
    // Writing YAML is slow, and what is far too large can be told without it.
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

  /** The texts in the order in which they came, and how many had to go without their outputSchema. */
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

/** Less than it will take: each value has at least a mark, its text and the end of its line. */
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
