// Compares two schemas: can values of one be used where the other is required? Only certain mismatches are reported.

import {
  fieldNames,
  fieldOf,
  isWhole,
  itemOf,
  requiredOf,
  type SchemaView,
  typesOf,
  valuesOf,
} from "./view.ts";
import { alternatives, nearest, quote } from "../message-text.ts";

/**
 * `error`: values that the source may produce are certainly refused, by their type, value or fields.
 * `warning`: some of them are.
 */
export interface Mismatch {
  /** Names of nested fields, the outermost first; `[]` stands for the entries of a list. */
  readonly path: readonly string[];
  readonly severity: "error" | "warning";
  readonly message: string;
}

/**
 * Direction of the requirement. `all`: every value of the source must be accepted, as with arguments of a call.
 * `some`: the source may add and leave out fields, and only impossible values are mismatches, as with a result.
 */
export type Demand = "all" | "some";

const MOST_DEPTH = 12;
const MOST_MISMATCHES = 20;

export function compareSchemas(given: SchemaView, taken: SchemaView, demand: Demand): readonly Mismatch[] {
  const found: Mismatch[] = [];
  compare(given, taken, demand, [], found);
  return found;
}

function compare(
  given: SchemaView,
  taken: SchemaView,
  demand: Demand,
  path: readonly string[],
  found: Mismatch[],
): void {
  if (path.length > MOST_DEPTH || found.length >= MOST_MISMATCHES) return;
  const [gives, takes] = [typesOf(given), typesOf(taken)];
  // A place without possible values has nothing to refuse.
  if (gives.size === 0) return;
  const common = [...gives].filter((type) => takes.has(type));
  const add = (severity: Mismatch["severity"], message: string): void =>
    void found.push({ path, severity, message });
  if (common.length === 0)
    return add("error", `${describeView(given)} where ${describeView(taken)} is expected`);
  const refused = [...gives].filter((type) => !takes.has(type));
  if (refused.length > 0 && gives.size < 6 && demand === "all")
    add("warning", `can be ${alternatives(refused)}, but only ${describeView(taken)} is accepted`);
  if (!compareValues(given, taken, demand, add)) return;
  if (common.length > 1) return;
  if (common[0] === "object") compareObjects(given, taken, demand, path, found);
  if (common[0] === "array") {
    const [gets, wants] = [itemOf(given, undefined), itemOf(taken, undefined)];
    if (gets !== undefined && wants !== undefined) compare(gets, wants, demand, [...path, "[]"], found);
  }
}

/** Returns false if no value matches both. */
function compareValues(
  given: SchemaView,
  taken: SchemaView,
  demand: Demand,
  add: (severity: Mismatch["severity"], message: string) => void,
): boolean {
  const [gives, takes] = [valuesOf(given), valuesOf(taken)];
  if (takes === undefined) return true;
  if (gives === undefined) return true;
  const known = new Set(takes.map((value) => JSON.stringify(value)));
  const refused = gives.filter((value) => !known.has(JSON.stringify(value)));
  if (refused.length === 0) return true;
  const wanted = alternatives(takes.map(quote));
  if (refused.length === gives.length) {
    add("error", `${alternatives(gives.map(quote))} where ${wanted} is expected`);
    return false;
  }
  if (demand === "all")
    add("warning", `can be ${alternatives(refused.map(quote))}, but only ${wanted} is accepted`);
  return true;
}

function compareObjects(
  given: SchemaView,
  taken: SchemaView,
  demand: Demand,
  path: readonly string[],
  found: Mismatch[],
): void {
  const [gives, needs] = [requiredOf(given), requiredOf(taken)];
  const add = (message: string, severity: Mismatch["severity"] = "error"): void =>
    void found.push({ path, severity, message });
  const known = fieldNames(given);
  for (const name of known) {
    const [from, to] = [fieldOf(given, name), fieldOf(taken, name)];
    if (from.state !== "declared") continue;
    const certain = demand === "all" || gives.has(name) || needs.has(name);
    if (to.state === "closed" && (demand === "all" || gives.has(name)))
      add(`the field ${quote(name)} is not accepted${meant(name, fieldNames(taken))}`);
    if (to.state === "declared" && certain) compare(from.view, to.view, demand, [...path, name], found);
  }
  for (const name of needs) {
    if (gives.has(name)) continue;
    const { state } = fieldOf(given, name);
    if (state === "closed") add(`the field ${quote(name)} is required and never given${meant(name, known)}`);
    else if (demand === "all") add(`the field ${quote(name)} is required, but can be missing`);
    // The schema does not forbid the field, but it lists its fields and this one is missing.
    else if (state === "open" && known.length > 0)
      add(`the field ${quote(name)} is required, but not declared${meant(name, known)}`, "warning");
  }
}

/** Describes the values of a place: `string`, `"a" or "b"`, `object or null`. */
export function describeView(view: SchemaView): string {
  const values = valuesOf(view);
  if (values !== undefined && values.length > 0) return alternatives(values.map(quote));
  const types = [...typesOf(view)];
  if (types.length === 6) return "any value";
  if (types.length === 0) return "no value at all";
  const item = types.length === 1 && types[0] === "array" ? itemOf(view, undefined) : undefined;
  if (item !== undefined && typesOf(item).size < 3) return `array of ${[...typesOf(item)].join(" or ")}`;
  return alternatives(types.map((type) => (type === "number" && isWhole(view) ? "integer" : type)));
}

/** Returns ` (did you mean "x"?)`, or a list of the existing names, or an empty text. */
export function meant(name: string, known: readonly string[]): string {
  const near = nearest(name, known);
  if (near !== undefined) return ` (did you mean ${quote(near)}?)`;
  return known.length === 0 ? "" : ` (there are ${alternatives(known.map(quote)).replace(" or ", " and ")})`;
}
