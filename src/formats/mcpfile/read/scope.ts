// Values that placeholders may name: properties of an inputSchema, nested ones by dotted path.

import { didYouMean } from "../../../errors/index.ts";
import { isObject, type JsonSchema } from "../../../model/index.ts";

export interface Scope {
  /** The path of the value, or undefined. */
  find(name: string): readonly string[] | undefined;
  /** True if the value can only be a number. */
  isNumber(name: string): boolean;
  hintFor(name: string): string;
  /** Describes the allowed names, for messages. */
  readonly what: string;
}

const MOST_NAMES = 200;
const DEEPEST = 16;
/** Keywords that may add properties that are not listed. */
const OPEN = [
  "$ref",
  "$dynamicRef",
  "allOf",
  "anyOf",
  "oneOf",
  "if",
  "dependentSchemas",
  "patternProperties",
];

export function createScope(schema: JsonSchema | undefined): Scope {
  return {
    find: (name) => find(schema, name),
    isNumber: (name) => {
      let level: unknown = schema;
      for (const step of find(schema, name) ?? [name]) level = propertyOf(level, step);
      return isObject(level) && (level.type === "integer" || level.type === "number");
    },
    what: schema === undefined ? "known: there are no arguments here" : "a property of the inputSchema",
    hintFor: (name) => {
      const names: string[] = [];
      collect(schema, "", names, 0);
      const braces = /[^\w.$@-]/.test(name) ? " For braces as such write {{ and }}." : "";
      if (names.length === 0) return `No properties are declared.${braces}`;
      const known = names.slice(0, 20).join(", ");
      return `${didYouMean(name, names) ?? `The properties are ${known}.`}${braces}`;
    },
  };
}

/** Where the declared arguments cannot be read: any name may be one, so that only other diagnostics are found. */
export const OPEN_SCOPE: Scope = {
  find: (name) => (name.trim() === "" ? undefined : name.split(".")),
  isNumber: () => true,
  what: "known",
  hintFor: () => "Correct the inputSchema first.",
};

function find(schema: unknown, name: string): readonly string[] | undefined {
  if (name === "") return undefined;
  if (propertyOf(schema, name) !== undefined) return [name];
  const steps = name.split(".");
  if (steps.some((step) => step === "" || /[\s"':,]/.test(step)) || steps.length > DEEPEST) return undefined;
  let level: unknown = schema;
  for (const step of steps) {
    const next = propertyOf(level, step);
    if (next === undefined) return isOpen(level) ? steps : undefined;
    level = next;
  }
  return steps;
}

function propertyOf(schema: unknown, name: string): unknown {
  if (!isObject(schema) || !isObject(schema.properties)) return undefined;
  return Object.hasOwn(schema.properties, name) ? (schema.properties[name] ?? true) : undefined;
}

function isOpen(schema: unknown): boolean {
  return isObject(schema) && OPEN.some((keyword) => Object.hasOwn(schema, keyword));
}

function collect(schema: unknown, prefix: string, names: string[], depth: number): void {
  if (!isObject(schema) || !isObject(schema.properties) || depth > DEEPEST) return;
  for (const [name, property] of Object.entries(schema.properties)) {
    if (names.length >= MOST_NAMES) return;
    names.push(`${prefix}${name}`);
    collect(property, `${prefix}${name}.`, names, depth + 1);
  }
}
