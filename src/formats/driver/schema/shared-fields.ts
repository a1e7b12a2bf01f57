// Fields and checks that drivers, contracts and secrets have in common.

import { parseRange, parseVersion } from "../../../base/text/versions.ts";
import type { RetryRule, TextPlace } from "../../../model/index.ts";
import { type Place, quoted, type TextNode, toLabel } from "../../document/index.ts";
import {
  anyValue,
  integer,
  list,
  map,
  object,
  oneOf,
  type ReadContext,
  type Schema,
  text,
} from "../../schema-builder/index.ts";

export const KINDS = ["cli", "http", "mcp", "sdk", "builtin"] as const;

export const NAME = text("Display name.", { maxLength: 80, scalars: true }).required();

export const DESCRIPTION = text("Description of the purpose.", { maxLength: 2_000 }).required();

export const VERSION = text("Version of this file, as a semantic version such as 1.0.0.", {
  scalars: true,
  pattern: "^\\d+\\.\\d+\\.\\d+(?:[-+][\\w.+-]+)?$",
  patternHint: "Write three numbers, such as 1.0.0.",
})
  .required()
  .transform((version, node, { diagnostics }) => {
    if (parseVersion(version) !== undefined) return version;
    diagnostics.add(
      node,
      `${toLabel(node.path)} ${quoted(version)} is not a version`,
      "Numbers have no leading zeros. After - or +, use letters, digits, - and dots: 1.0.0-beta.1.",
    );
    return undefined;
  });

export const METADATA_DESCRIPTION = "Additional data of hosts, by the name of the host.";
export const METADATA = map(METADATA_DESCRIPTION, anyValue());

export const texts = (description: string): Schema<readonly string[]> => list(description, text());

export function tags(description: string, pattern = "^[a-z0-9][a-z0-9-]{0,63}$"): Schema<readonly string[]> {
  const patternHint = "Use small letters, digits and -, beginning with a letter or a digit.";
  return list(description, text("", { scalars: true, pattern, patternHint }), { unique: true });
}

export const COST_CLASS = oneOf("Rough cost of a call: trivial, metered or expensive.", [
  "trivial",
  "metered",
  "expensive",
]);

const MAX_ATTEMPTS = "Maximum number of attempts, including the first one.";
const BACKOFF = oneOf(
  "Growth of the pauses between attempts: fixed (equal pauses) or exponential (each pause doubles).",
  ["fixed", "exponential"],
);
const RETRY_DESCRIPTION = "Retries of a call that failed with a temporary error.";
const INITIAL_MS = integer("Pause before the first retry, in milliseconds. Default: 500.", { minimum: 0 });

/** A rule that leaves something open has growing pauses, beginning with half a second. */
const RETRY_DEFAULTS = { backoff: "exponential", initialMs: 500 } as const;

export const TOOL_RETRY = object(RETRY_DESCRIPTION, {
  maxAttempts: integer(MAX_ATTEMPTS, { minimum: 1, maximum: 20 }).required(),
  backoff: BACKOFF.required(),
  initialMs: INITIAL_MS,
}).transform((rule): RetryRule => ({ ...rule, initialMs: rule.initialMs ?? RETRY_DEFAULTS.initialMs }));

export const DRIVER_RETRY = object(RETRY_DESCRIPTION, {
  maxAttempts: integer(MAX_ATTEMPTS, { minimum: 1, maximum: 10 }).required(),
  backoff: BACKOFF,
  initialMs: INITIAL_MS,
}).transform((rule): RetryRule => ({ ...RETRY_DEFAULTS, ...rule }));

export function checkRange(range: string, node: TextNode, { diagnostics }: ReadContext): string | undefined {
  if (parseRange(range) !== undefined) return range;
  diagnostics.add(
    node,
    `${toLabel(node.path)} ${quoted(range)} is not a range of versions`,
    'Write it as npm does: "^1.0.0", ">=0.5", "1.x || 2.x".',
  );
  return undefined;
}

/** Checks that a file of the workspace is named by a relative path. */
export function checkPath(path: string, node: TextNode, { diagnostics }: ReadContext): string {
  if (/^(?:[\\/]|[A-Za-z]:[\\/]|~)/.test(path))
    diagnostics.add(
      node,
      `${toLabel(node.path)} is an absolute path, which is valid on one machine only`,
      "Write a path relative to the workspace or to this file, such as ./tools/fs-read/TOOL.md.",
    );
  else if (/\p{Cc}/u.test(path)) diagnostics.add(node, `${toLabel(node.path)} contains a control character`);
  return path;
}

export function placeOf({ line, column }: Place): TextPlace {
  return { line, column };
}
