// Token counter: what a tool definition costs in a model's context, with the tokenizer o200k_base.

import { hash } from "node:crypto";
import type { ToolDefinition } from "../../model/index.ts";

/** Named beside every figure, because other models have other tokenizers. */
export const ENCODING = "o200k_base";

/** The types of this module need those of browsers, so that the compiler must not find it. */
const MODULE: string = `gpt-tokenizer/encoding/${ENCODING}`;

interface Tokenizer {
  readonly countTokens: (
    text: string,
    options: { readonly disallowedSpecial: ReadonlySet<string> },
  ) => number;
}

/** Tokens of the parts of one definition. */
export interface DefinitionTokens {
  /** Name, description and input schema as JSON: the parts that clients pass to the model. */
  readonly tokens: number;
  /** The description alone, which is part of `tokens`. */
  readonly description: number;
  /** Title, annotations, output schema and other parts, which few clients pass on. */
  readonly rest: number;
}

/** A definition of a server can be of any size and content; a long run without spaces takes quadratic time. */
const SLICE = 2_000;
const MAX_CACHED = 10_000;

export interface TokenCounter {
  readonly encoding: typeof ENCODING;
  text(text: string): number;
  definition(tool: ToolDefinition): DefinitionTokens;
}

/** Loads the tokenizer, which takes a moment: 2 MB of ranks. Counts are cached by the digest of the definition. */
export async function createTokenCounter(): Promise<TokenCounter> {
  const { countTokens } = (await import(MODULE)) as Tokenizer;
  const cached = new Map<string, DefinitionTokens>();
  // Names of special tokens in a description are plain text.
  const options = { disallowedSpecial: new Set<string>() };
  const text = (whole: string): number => {
    let tokens = 0;
    for (const part of slices(whole)) tokens += countTokens(part, options);
    return tokens;
  };
  const measure = ({ name, description, inputSchema, ...rest }: ToolDefinition): DefinitionTokens => ({
    tokens: text(JSON.stringify({ name, description, inputSchema })),
    description: text(description ?? ""),
    rest: Object.keys(rest).length === 0 ? 0 : text(JSON.stringify(rest)),
  });
  return {
    encoding: ENCODING,
    text,
    definition(tool) {
      const key = hash("sha256", JSON.stringify(tool), "base64url");
      const known = cached.get(key);
      if (known !== undefined) return known;
      if (cached.size >= MAX_CACHED) cached.clear();
      const measured = measure(tool);
      cached.set(key, measured);
      return measured;
    },
  };
}

/** Parts of at most 2000 characters, cut at a space if there is one, where no token ends elsewhere. */
function* slices(text: string): Iterable<string> {
  let at = 0;
  while (text.length - at > SLICE) {
    const space = text.lastIndexOf(" ", at + SLICE);
    const end = space > at ? space : at + SLICE;
    yield text.slice(at, end);
    at = end;
  }
  yield text.slice(at);
}
