// Fields that drivers, contracts and secrets have in common.

import { parseRange, parseVersion } from "../../model/index.ts";
import {
  type ObjectShape,
  type Diagnostics,
  quoted,
  type Shape,
  type TextNode,
  toLabel,
} from "../document/index.ts";

export const KINDS: readonly string[] = ["cli", "http", "mcp", "sdk", "builtin"];

export const NAME: Shape = {
  type: "string",
  required: true,
  maxLength: 80,
  scalars: true,
  description: "its name for people",
};

export const DESCRIPTION: Shape = {
  type: "string",
  required: true,
  maxLength: 2_000,
  description: "what it is for",
};

export const VERSION: Shape = {
  type: "string",
  required: true,
  scalars: true,
  pattern: "^\\d+\\.\\d+\\.\\d+(?:[-+][\\w.+-]+)?$",
  says: "Write three numbers, such as 1.0.0.",
  description: "the version of this file, such as 1.0.0",
};

export const TEXTS: Shape = { type: "list", items: { type: "string" } };

export const METADATA: Shape = {
  type: "map",
  values: { type: "any" },
  description: "What hosts have to say beside, each under its own name.",
};

export function tags(description: string, pattern = "^[a-z0-9][a-z0-9-]{0,63}$"): Shape {
  return {
    type: "list",
    unique: true,
    items: {
      type: "string",
      scalars: true,
      pattern,
      says: "Use small letters, digits and -, beginning with a letter or a digit.",
    },
    description,
  };
}

export function whole(minimum: number, description: string, maximum?: number): Shape {
  return {
    type: "number",
    integer: true,
    minimum,
    ...(maximum === undefined ? {} : { maximum }),
    description,
  };
}

export const COST_CLASS: Shape = {
  type: "string",
  enum: ["trivial", "metered", "expensive"],
  description: "How much a call costs, roughly.",
};

export function retryShape(maximum: number, backoffRequired: boolean): ObjectShape {
  return {
    type: "object",
    description: "How often a call that failed is tried again.",
    fields: {
      max_attempts: { ...whole(1, "how often it is tried at most", maximum), required: true },
      backoff: {
        type: "string",
        enum: ["fixed", "exponential"],
        description: "how the pauses grow",
        ...(backoffRequired ? { required: true as const } : {}),
      },
      initial_ms: whole(0, "The first pause, in milliseconds."),
    },
  };
}

export interface CheckedRetry {
  readonly max_attempts?: number;
  readonly backoff?: "fixed" | "exponential";
  readonly initial_ms?: number;
}

/** What a rule says that does not say all: pauses that grow, from half a second. */
export const RETRY_DEFAULTS = { backoff: "exponential", initialMs: 500 } as const;

export function checkVersion(
  version: string | undefined,
  node: TextNode | undefined,
  diagnostics: Diagnostics,
): void {
  if (version === undefined || node === undefined || parseVersion(version) !== undefined) return;
  diagnostics.add(
    node,
    `${toLabel(node.path)} ${quoted(version)} is not a version`,
    "Numbers have no zeros before them, and after - or + stand letters, digits, - and dots: 1.0.0-beta.1.",
  );
}

export function checkRange(
  range: string | undefined,
  node: TextNode | undefined,
  diagnostics: Diagnostics,
): void {
  if (range === undefined || node === undefined || parseRange(range) !== undefined) return;
  diagnostics.add(
    node,
    `${toLabel(node.path)} ${quoted(range)} is not a range of versions`,
    'Write it as npm does: "^1.0.0", ">=0.5", "1.x || 2.x".',
  );
}
