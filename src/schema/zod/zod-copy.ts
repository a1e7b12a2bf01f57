// Copy of an untrusted schema for Zod: never stricter than the schema, and cheap to run.

import { isObject, type JsonObject } from "../../model/index.ts";
import { isWellFormed } from "../keyword-shapes.ts";
import { IN_PLACE, isSchema, kindUnder, pointerStep } from "../keywords.ts";
import { isSafePattern } from "../pattern/safe-pattern.ts";

/** Keyword for constraints that Zod does not check, so that a JSON Schema made from the view still contains them. */
export const HINTS = "portolan:hints";

export interface ZodCopyOptions {
  /** Returns true if Zod can follow this reference. */
  follows(ref: string): boolean;
  /** Called for each part that is left out. */
  leftOut(path: string, why: string): void;
}

/** Zod throws for these keywords, or rejects more than JSON Schema does. The full check supports them. */
const NOT_IN_ZOD = new Set(
  "not if then else dependentSchemas dependentRequired dependencies unevaluatedItems unevaluatedProperties $dynamicRef $recursiveRef".split(
    " ",
  ),
);
const NAMES = new Set(
  "$schema $id id $anchor $dynamicAnchor $recursiveAnchor $vocabulary $comment __proto__".split(" "),
);
/** Zod rejects valid URIs and UUIDs for `format`, freezes the caller's object for `readOnly`, and a view is never strict. */
const HINT_ONLY = new Set(["format", "readOnly"]);

/** The schema must be within the limits. `inUnion` is true inside of alternatives, where a default of the wrong alternative must not apply. */
export function copyForZod(
  schema: unknown,
  options: ZodCopyOptions,
  path = "",
  inUnion = false,
): JsonObject | boolean {
  if (typeof schema === "boolean") return schema;
  if (!isObject(schema)) return true;
  if (schema["$ref"] !== undefined) {
    if (typeof schema["$ref"] === "string" && options.follows(schema["$ref"]))
      return withDefinitions(schema, options, path);
    options.leftOut(`${path}/$ref`, "Portolan does not follow this reference");
    return typeof schema["description"] === "string" ? { description: schema["description"] } : {};
  }
  const copy: JsonObject = {};
  const hints: JsonObject = {};
  for (const [keyword, value] of Object.entries(schema)) {
    const at = `${path}/${pointerStep(keyword)}`;
    if (NAMES.has(keyword)) continue;
    if (NOT_IN_ZOD.has(keyword)) options.leftOut(at, "Zod has no equivalent keyword");
    else if (isHintOnly(keyword, value, schema, inUnion)) hints[keyword] = value;
    else if (isWellFormed(keyword, value) === false) options.leftOut(at, "it is not a valid JSON Schema");
    else if (keyword === "pattern" && !isSafePattern(value as string)) {
      hints[keyword] = value;
      options.leftOut(at, "the pattern could take unbounded time");
    } else if (keyword === "oneOf") {
      // A looser copy may match two alternatives of a `oneOf`.
      const anyOf = copyList(value as unknown[], options, at);
      if (schema["anyOf"] === undefined) copy["anyOf"] = anyOf;
      else copy["allOf"] = [...((copy["allOf"] as unknown[] | undefined) ?? []), { anyOf }];
    } else if (keyword === "allOf") {
      copy["allOf"] = [
        ...copyList(value as unknown[], options, at),
        ...((copy["allOf"] as unknown[] | undefined) ?? []),
      ];
    } else if (keyword === "description" && typeof value !== "string") continue;
    else copy[keyword] = copyValue(keyword, value, options, at, inUnion || IN_PLACE.includes(keyword));
  }
  if (Array.isArray(copy["type"])) copy["type"] = [...new Set(copy["type"])];
  if (Object.keys(hints).length > 0) copy[HINTS] = hints;
  return copy;
}

function copyList(list: readonly unknown[], options: ZodCopyOptions, path: string): unknown[] {
  return list.map((entry, index) => copyForZod(entry, options, `${path}/${index}`, true));
}

function copyValue(
  keyword: string,
  value: unknown,
  options: ZodCopyOptions,
  path: string,
  inUnion: boolean,
): unknown {
  // The value of an unknown keyword is metadata.
  const kind = isWellFormed(keyword, value) === "unknown" ? "data" : kindUnder(keyword, value);
  if (kind === "schema") return copyForZod(value, options, path, inUnion);
  if (kind === "list")
    return (value as unknown[]).map((item, index) => copyForZod(item, options, `${path}/${index}`, inUnion));
  if (kind !== "map") return value;
  const entries: [string, unknown][] = [];
  for (const [name, entry] of Object.entries(value as JsonObject)) {
    const at = `${path}/${pointerStep(name)}`;
    // Zod drops "__proto__" from objects, and treats inherited properties as fields.
    if (keyword === "properties" && name in Object.prototype) {
      options.leftOut(at, "Zod does not support a field of this name");
    } else if (keyword === "patternProperties" && !isSafePattern(name)) {
      options.leftOut(at, "the pattern could take unbounded time");
    } else {
      if (!isSchema(entry)) options.leftOut(at, "it is not a valid JSON Schema");
      entries.push([name, copyForZod(entry, options, at, inUnion)]);
    }
  }
  return Object.fromEntries(entries);
}

/** Zod ignores most keywords beside a `$ref`, and would write the others to the shared target. */
function withDefinitions(schema: JsonObject, options: ZodCopyOptions, path: string): JsonObject {
  const copy: JsonObject = { $ref: schema["$ref"] };
  if (typeof schema["description"] === "string") copy["description"] = schema["description"];
  for (const keyword of ["$defs", "definitions"]) {
    const value = schema[keyword];
    if (isObject(value)) copy[keyword] = copyValue(keyword, value, options, `${path}/${keyword}`, false);
  }
  return copy;
}

function isHintOnly(keyword: string, value: unknown, schema: JsonObject, inUnion: boolean): boolean {
  // If a field is missing from the copy, the rule for other properties would apply to it.
  if (keyword === "additionalProperties") {
    const names = isObject(schema["properties"]) ? Object.keys(schema["properties"]) : [];
    return (
      typeof value === "boolean" ||
      schema["patternProperties"] !== undefined ||
      names.some((name) => name in Object.prototype)
    );
  }
  // Zod compares objects by identity, so that no parsed value would be equal.
  if (keyword === "const") return !isPrimitive(value);
  if (keyword === "enum") return Array.isArray(value) && value.length > 0 && !value.every(isPrimitive);
  if (keyword === "default") return inUnion || !fits(value, schema);
  return HINT_ONLY.has(keyword);
}

/** Zod returns a default unchecked: `{ type: "string", default: null }` would send null to the server. */
function fits(value: unknown, { type, enum: values }: JsonObject): boolean {
  if (Array.isArray(values)) return values.includes(value);
  const is = Array.isArray(value) ? "array" : value === null ? "null" : typeof value;
  const types: unknown[] = Array.isArray(type) ? type : [type];
  return types.includes(is) || (types.includes("integer") && Number.isInteger(value));
}

function isPrimitive(value: unknown): boolean {
  return value === null || typeof value !== "object";
}
