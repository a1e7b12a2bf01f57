// Limits on the size of a description of an API, and on the size of the result.

import { MAX_BYTES } from "../formats/document/index.ts";
import { Unusable } from "./types.ts";

/** Real descriptions have up to a dozen megabytes, far more than a config file; a selection of them is converted. */
export const SPEC_LIMITS = {
  bytes: 16_777_216,
  depth: 64,
  values: 1_000_000,
  operations: 2_000,
  parameters: 200,
} as const;

/** The limits of the reader of mcpfiles (`formats/document/bounds.ts`), with some room left. */
export const RESULT_LIMITS: {
  readonly bytes: number;
  readonly lexemes: number;
  readonly depth: number;
  /** All files together. */
  readonly allBytes: number;
} = {
  bytes: MAX_BYTES - 16 * 1024,
  allBytes: 64 * 1024 * 1024,
  lexemes: 180_000,
  depth: 60,
};

/** Counted in schemas and values. All tools together have a limit too, because each contains the schemas that it references. */
export const SCHEMA_BUDGET = { input: 20_000, output: 6_000, all: 3_000_000 } as const;

/**
 * In JSON. Definitions of a tool beyond this size are outlined in an inputSchema; a larger outputSchema is left out, because clients
 * do not read that much.
 */
export const DEFINITION_BYTES = { input: 24 * 1024, output: 32 * 1024 } as const;

/** A list of tools beyond one of these is reported: models choose badly from it, and some providers refuse it. */
export const MODEL_LIMITS = { tools: 128, bytes: 256 * 1024 } as const;

export const MAX_DESCRIPTION = 8_000;

/** Keys that would change the prototype of an object; the reader of the result refuses them. */
export const FORBIDDEN: ReadonlySet<string> = new Set(["__proto__", "constructor", "prototype"]);

export function tooDeep(): Unusable {
  return new Unusable(`values are nested more than ${SPEC_LIMITS.depth} deep`, []);
}

export function tooMany(): Unusable {
  return new Unusable(`the file contains more than ${SPEC_LIMITS.values} values`, []);
}
