// Transforms that a mapping may apply to a value, with the type of each result.

import type { TypeName } from "../../schema/index.ts";

export interface Transform {
  readonly gives: TypeName;
  /** Undefined when the value cannot be transformed. */
  apply(value: unknown): unknown;
}

const onText = (change: (text: string) => string): Transform => ({
  gives: "string",
  apply: (value) => (typeof value === "string" ? change(value) : undefined),
});

export const TRANSFORMS: ReadonlyMap<string, Transform> = new Map<string, Transform>([
  ["lowercase", onText((text) => text.toLowerCase())],
  ["uppercase", onText((text) => text.toUpperCase())],
  ["trim", onText((text) => text.trim())],
  ["json", { gives: "string", apply: (value) => JSON.stringify(value) }],
  ["string", { gives: "string", apply: toText }],
  ["number", { gives: "number", apply: toNumber }],
  ["array", { gives: "array", apply: (value) => (Array.isArray(value) ? value : [value]) }],
]);

function toNumber(value: unknown): number | undefined {
  if (typeof value === "number") return value;
  if (typeof value !== "string" || value.trim() === "") return undefined;
  const number = Number(value);
  return Number.isFinite(number) ? number : undefined;
}

function toText(value: unknown): string | undefined {
  if (typeof value === "string") return value;
  return typeof value === "number" || typeof value === "boolean" ? String(value) : undefined;
}
