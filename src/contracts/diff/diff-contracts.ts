// Differences between two versions of a contract, for callers and for drivers, and the version step that each needs.

import { isObject, type Contract, type JsonSchema } from "../../model/index.ts";
import { closedSchema, compareSchemas, viewSchema, followReference } from "../../schema/index.ts";
import { Changes, same, type Difference } from "./changes.ts";

/** Compares two versions of a contract: the changes, and the version step that they need. */
export function diffContracts(before: Contract, after: Contract): Difference {
  const changes = new Changes();
  changes.compare("id", before.id, after.id, "major", "another id means another contract");
  diffSchemas("inputs", before.inputs, after.inputs, "inputs that were valid are refused now", changes);
  diffSchemas("outputs", before.outputs, after.outputs, "outputs that were valid are refused now", changes);
  const lost = mismatches(after.outputs, before.outputs, "some");
  if (lost !== undefined) changes.add("outputs", "major", `callers get other outputs than before: ${lost}`);
  const optional = noLongerPromised(before.outputs, after.outputs);
  if (optional !== undefined) changes.add("outputs", "major", `${optional} can be missing now`);
  if (before.idempotent && !after.idempotent)
    changes.add("idempotent", "major", "a repeated call is not safe any more");
  else
    changes.compare(
      "idempotent",
      before.idempotent,
      after.idempotent,
      "minor",
      "a repeated call is safe now",
    );
  const more = after.mutates.filter((what) => !before.mutates.includes(what));
  if (more.length > 0) changes.add("mutates", "major", `a call changes more than before: ${more.join(", ")}`);
  else changes.compare("mutates", before.mutates, after.mutates, "minor", "a call changes less than before");
  changes.compare(
    "contextSchema",
    before.contextSchema,
    after.contextSchema,
    "major",
    "callers must pass another context",
  );
  changes.compare("approval", before.approval, after.approval, "minor", "other calls need approval");
  changes.compare(
    "requires",
    before.requires,
    after.requires,
    "minor",
    "the contract requires other tools or secrets",
  );
  changes.compare(
    "driver_constraints",
    before.driverConstraints,
    after.driverConstraints,
    "minor",
    "other drivers can serve the contract",
  );
  changes.compare("timeout_ms", before.timeoutMs, after.timeoutMs, "minor", "the time limit is different");
  changes.comparePatchFields(before, after, [
    "name",
    "description",
    "riskLevel",
    "costClass",
    "retry",
    "defaultImplementation",
    "tags",
    "examples",
    "metadata",
  ]);
  return changes.conclude();
}

function diffSchemas(
  what: string,
  before: JsonSchema,
  after: JsonSchema,
  why: string,
  changes: Changes,
): void {
  // Inputs that a contract does not declare are always refused.
  const read = what === "inputs" ? closedSchema : (schema: JsonSchema): JsonSchema => schema;
  const narrower = mismatches(read(before), read(after), "all") ?? narrowerBy(read(before), read(after));
  if (narrower !== undefined) changes.add(what, "major", `${why}: ${narrower}`);
  else if (!same(bare(before), bare(after))) changes.add(what, "minor", "valid values stay valid");
  else if (!same(before, after)) changes.add(what, "patch", "only descriptions differ");
}

function mismatches(given: JsonSchema, taken: JsonSchema, demand: "all" | "some"): string | undefined {
  const [from, to] = [viewSchema(given), viewSchema(taken)];
  if (from === undefined || to === undefined) return undefined;
  const [first] = compareSchemas(from, to, demand);
  return first === undefined ? undefined : [...first.path, first.message].join(": ");
}

/** The schema without texts for readers. */
function bare(value: unknown, inMap = false): unknown {
  if (Array.isArray(value)) return value.map((item) => bare(item));
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([key]) => inMap || !["title", "description", "examples", "$comment"].includes(key))
      .map(([key, item]) => [key, bare(item, key === "properties" || key === "$defs")]),
  );
}

const AT_MOST = ["maxLength", "maximum", "exclusiveMaximum", "maxItems", "maxProperties", "maxContains"];
const AT_LEAST = ["minimum", "exclusiveMinimum"];
/** A missing keyword means 0. */
const COUNT_AT_LEAST = ["minLength", "minItems", "minProperties"];
/** A new or changed value of these keywords refuses something. */
const RULES = ["pattern", "multipleOf", "contains", "propertyNames", "not", "dependentRequired"];
const MAX_DEPTH = 32;

/** Finds values that a schema refuses and its earlier version accepted. Describes the first narrower keyword; undefined when there is none. */
function narrowerBy(before: JsonSchema, after: JsonSchema): string | undefined {
  return compare(before, after, { before, after }, [], 0);
}

/** The path of a field that was required and may be missing now. */
function noLongerPromised(before: unknown, after: unknown, path: readonly string[] = []): string | undefined {
  if (!isObject(before) || !isObject(after) || path.length > MAX_DEPTH) return undefined;
  const [old, now] = [namesIn(before.required), new Set(namesIn(after.required))];
  const lost = old.find((name) => !now.has(name));
  if (lost !== undefined) return [...path, lost].join(".");
  const fields = isObject(before.properties) ? before.properties : {};
  for (const [name, field] of Object.entries(fields)) {
    const other = isObject(after.properties) ? after.properties[name] : undefined;
    const found = noLongerPromised(field, other, [...path, name]);
    if (found !== undefined) return found;
  }
  return noLongerPromised(before.items, after.items, [...path, "[]"]);
}

interface Roots {
  readonly before: JsonSchema;
  readonly after: JsonSchema;
}

function compare(
  given: unknown,
  taken: unknown,
  roots: Roots,
  path: readonly string[],
  depth: number,
): string | undefined {
  const [before, after] = [resolved(given, roots.before), resolved(taken, roots.after)];
  if (!isObject(before) || !isObject(after) || depth > MAX_DEPTH) return undefined;
  const own = narrowerHere(before, after);
  if (own !== undefined) return `${path.length === 0 ? "" : `${path.join(".")}: `}${own}`;
  const fields = isObject(before.properties) ? before.properties : {};
  for (const [name, field] of Object.entries(fields)) {
    const other =
      isObject(after.properties) && Object.hasOwn(after.properties, name)
        ? after.properties[name]
        : after.additionalProperties;
    const found = compare(field, other, roots, [...path, name], depth + 1);
    if (found !== undefined) return found;
  }
  return compare(before.items, after.items, roots, [...path, "[]"], depth + 1);
}

function narrowerHere(before: JsonSchema, after: JsonSchema): string | undefined {
  for (const keyword of AT_MOST) {
    const [old, now] = [before[keyword], after[keyword]];
    if (typeof now === "number" && !(typeof old === "number" && old <= now)) return `${keyword} is ${now}`;
  }
  for (const keyword of [...AT_LEAST, ...COUNT_AT_LEAST]) {
    const [old, now] = [before[keyword], after[keyword]];
    const least = typeof old === "number" ? old : COUNT_AT_LEAST.includes(keyword) ? 0 : -Infinity;
    if (typeof now === "number" && now > least) return `${keyword} is ${now}`;
  }
  for (const keyword of RULES)
    if (after[keyword] !== undefined && !same(before[keyword], after[keyword]))
      return `${keyword} is ${before[keyword] === undefined ? "new" : "different"}`;
  if (after.uniqueItems === true && before.uniqueItems !== true) return "entries must be unique";
  if (after.additionalProperties === false && before.additionalProperties !== false)
    return "additional fields are refused";
  return fewerValues(before, after);
}

function fewerValues(before: JsonSchema, after: JsonSchema): string | undefined {
  const [old, now] = [valuesIn(before), valuesIn(after)];
  if (now === undefined) return undefined;
  if (old === undefined) return before.type === "null" ? undefined : "only some values are allowed";
  const lost = old.find((value) => !now.some((other) => same(value, other)));
  return lost === undefined ? undefined : `${JSON.stringify(lost)?.slice(0, 60)} is not allowed any more`;
}

function valuesIn(schema: JsonSchema): readonly unknown[] | undefined {
  if (Object.hasOwn(schema, "const")) return [schema.const];
  return Array.isArray(schema.enum) ? (schema.enum as unknown[]) : undefined;
}

function namesIn(required: unknown): readonly string[] {
  return Array.isArray(required) ? required.filter((name) => typeof name === "string") : [];
}

function resolved(node: unknown, root: JsonSchema): unknown {
  for (let steps = 0, at = node; steps < MAX_DEPTH; steps += 1) {
    if (!isObject(at) || typeof at.$ref !== "string") return at;
    at = followReference(root, at.$ref);
  }
  return undefined;
}
