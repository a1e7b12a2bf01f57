// Resolves the engine's URI-encoded locations to fields of the value and keywords of the schema.

import { pointerStep } from "../keywords.ts";

/** Resolves the engine's keyword location, which passes through references. */
export function schemaAt(
  path: readonly string[],
  schema: unknown,
  lookup: Readonly<Record<string, unknown>>,
): unknown {
  let node = schema;
  for (const step of path) {
    const target = child(node, "__absolute_ref__");
    if (step === "$recursiveRef") node = schema;
    else node = step === "$ref" && typeof target === "string" ? lookup[target] : child(node, step);
  }
  return node;
}

export function steps(location: string): string[] {
  return location
    .split("/")
    .slice(1)
    .map((step) => decode(step).replaceAll("~1", "/").replaceAll("~0", "~"));
}

function decode(step: string): string {
  try {
    return decodeURIComponent(step);
  } catch {
    return step;
  }
}

export function pointer(path: readonly string[]): string {
  return path.map((step) => `/${pointerStep(step)}`).join("");
}

export function child(value: unknown, name: string): unknown {
  return typeof value === "object" && value !== null && Object.hasOwn(value, name)
    ? (value as Record<string, unknown>)[name]
    : undefined;
}
