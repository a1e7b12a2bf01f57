// Copy of an untrusted schema for the engine: only well-formed keywords, no annotations, no native patterns.

import { isObject, type JsonObject } from "../../model/index.ts";
import { type Dialect, isSchema, kindUnder, pointerStep } from "../keywords.ts";
import { isWellFormed } from "../keyword-shapes.ts";
import { isEcmaScript } from "../pattern/pattern.ts";

export interface Rewritten {
  readonly schema: JsonObject | boolean;
  /** JSON Pointers of malformed or unsupported parts, which were left out. */
  readonly unchecked: readonly string[];
  /** True if the copy is not stricter than the schema, so that its errors are errors of the schema. */
  readonly sure: boolean;
}

export interface RewriteOptions {
  readonly dialect: Dialect;
  /** Keep the targets of references: ids, anchors, definitions, unknown keywords. */
  readonly refs: boolean;
  /** Returns the name of the `format` that runs this pattern, or undefined if no engine supports it. */
  patternFormat(source: string): string | undefined;
}

/** Under these keywords, a looser subschema makes the schema stricter. */
const INVERTING = new Set(["not", "oneOf", "if", "maxContains", "unevaluatedProperties", "unevaluatedItems"]);
/** Without these keywords, `additionalProperties` and similar keywords reject more. */
const SHAPING = new Set(["properties", "patternProperties", "items", "prefixItems"]);
const FOR_REFS = new Set([
  "$ref",
  "$recursiveRef",
  "$recursiveAnchor",
  "$anchor",
  "$id",
  "$defs",
  "definitions",
]);
/** `format` is an annotation in 2020-12. Rejecting valid input is worse than passing invalid input to the server. */
const ANNOTATIONS = new Set(
  "$schema id $comment $vocabulary $dynamicAnchor title description default example examples deprecated readOnly writeOnly format contentEncoding contentMediaType contentSchema".split(
    " ",
  ),
);

/** The schema must be within the limits, because the traversal is recursive. */
export function rewriteSchema(schema: unknown, options: RewriteOptions): Rewritten {
  const unchecked: string[] = [];
  let [inverting, reshaped] = [false, false];

  const leaveOut = (path: string, keyword: string): void => {
    unchecked.push(path);
    if (SHAPING.has(keyword)) reshaped = true;
  };

  const copySchema = (value: unknown, path: string): JsonObject | boolean => {
    if (typeof value === "boolean") return value;
    if (!isObject(value)) {
      leaveOut(path, "");
      return true;
    }
    // In an object without a prototype, "__proto__" is an ordinary key.
    const copy: JsonObject = Object.create(null) as JsonObject;
    for (const [written, child] of Object.entries(value)) {
      const keyword = written === "id" && options.dialect === "4" ? "$id" : written;
      // Up to draft-07 a reference disables its sibling keywords, which the engine does not do for this one.
      if (
        keyword === "$id" &&
        value["$ref"] !== undefined &&
        (options.dialect === "4" || options.dialect === "7")
      )
        continue;
      if (INVERTING.has(keyword)) inverting = true;
      copyKeyword(copy, keyword, child, `${path}/${pointerStep(written)}`);
    }
    useNumericBounds(copy, value);
    return copy;
  };

  const copyKeyword = (copy: JsonObject, keyword: string, value: unknown, path: string): void => {
    if (ANNOTATIONS.has(keyword) || (FOR_REFS.has(keyword) && !options.refs)) return;
    const wellFormed = isWellFormed(keyword, value);
    if (wellFormed === "unknown") {
      if (options.refs && isObject(value)) copy[keyword] = copySchema(value, path);
    } else if (!wellFormed) {
      leaveOut(path, keyword);
    } else if (keyword === "pattern") {
      const format = options.patternFormat(value as string);
      if (format === undefined) leaveOut(path, keyword);
      else copy["format"] = format;
    } else if (keyword === "uniqueItems" && value === false) {
      return;
    } else {
      copy[keyword] = copyValue(keyword, value, path);
    }
  };

  const copyValue = (keyword: string, value: unknown, path: string): unknown => {
    const kind = kindUnder(keyword, value);
    if (kind === "schema") return copySchema(value, path);
    if (kind === "list")
      return (value as unknown[]).map((item, index) => copySchema(item, `${path}/${index}`));
    if (kind !== "map") return value;
    const entries: [string, unknown][] = [];
    for (const [name, entry] of Object.entries(value as JsonObject)) {
      const at = `${path}/${pointerStep(name)}`;
      if (keyword === "patternProperties" && !isEcmaScript(name)) leaveOut(at, keyword);
      else if (keyword === "dependencies" && isWellFormed("required", entry) === true)
        entries.push([name, entry]);
      else entries.push([name, copySchema(entry, at)]);
    }
    // `fromEntries` defines properties; an assignment would call the setter of "__proto__".
    return Object.fromEntries(entries);
  };

  const copy = copySchema(isSchema(schema) ? schema : true, "");
  return { schema: copy, unchecked, sure: unchecked.length === 0 || !(inverting || reshaped) };
}

/** Draft-04 writes `exclusiveMinimum: true` beside `minimum`. Many schemas of later drafts still do. */
function useNumericBounds(copy: JsonObject, original: JsonObject): void {
  for (const [flag, bound] of [
    ["exclusiveMinimum", "minimum"],
    ["exclusiveMaximum", "maximum"],
  ] as const) {
    const exclusive = original[flag];
    if (typeof exclusive !== "boolean") continue;
    const limit = copy[bound];
    delete copy[flag];
    if (exclusive && limit !== undefined) {
      copy[flag] = limit;
      delete copy[bound];
    }
  }
}
