// Differences between two versions of a contract, for callers and for drivers, and the version step that each needs.

import { type Contract, isObject, type JsonSchema } from "../../model/index.ts";
import { closedSchema, compareSchemas, viewSchema } from "../../schema/index.ts";
import { toFileKey } from "../define/file-format.ts";
import { Changes, type Difference, same } from "./changes.ts";
import { narrowerBy, noLongerPromised } from "./narrowed-schema.ts";

/** Compares two versions of a contract: the changes, and the version step that they need. */
export function diffContracts(before: Contract, after: Contract): Difference {
  const changes = new Changes();
  changes.compare("id", before.id, after.id, "major", "a contract is known by its id");
  diffSchemas("inputs", before.inputs, after.inputs, "inputs that were right are refused", changes);
  diffSchemas("outputs", before.outputs, after.outputs, "outputs that were right are refused", changes);
  const lost = mismatches(after.outputs, before.outputs, "some");
  if (lost !== undefined) changes.add("outputs", "major", `callers do not get what they got: ${lost}`);
  const optional = noLongerPromised(before.outputs, after.outputs);
  if (optional !== undefined) changes.add("outputs", "major", `${optional} may be missing now`);
  if (before.idempotent && !after.idempotent)
    changes.add("idempotent", "major", "callers that call again would do it twice");
  else
    changes.compare("idempotent", before.idempotent, after.idempotent, "minor", "it may be called again now");
  const more = after.mutates.filter((what) => !before.mutates.includes(what));
  if (more.length > 0) changes.add("mutates", "major", `it changes more: ${more.join(", ")}`);
  else changes.compare("mutates", before.mutates, after.mutates, "minor", "it changes less");
  changes.compare(
    "contextSchema",
    before.contextSchema,
    after.contextSchema,
    "major",
    "callers must pass another context",
  );
  changes.compare("approval", before.approval, after.approval, "minor", "it is approved in another way");
  changes.compare("requires", before.requires, after.requires, "minor", "it needs other things");
  changes.compare(
    "driver_constraints",
    before.driverConstraints,
    after.driverConstraints,
    "minor",
    "other drivers may serve it",
  );
  changes.compare("timeout_ms", before.timeoutMs, after.timeoutMs, "minor", "it has another time limit");
  for (const field of [
    "name",
    "description",
    "riskLevel",
    "costClass",
    "retry",
    "defaultImplementation",
    "tags",
    "examples",
    "metadata",
  ] as const)
    changes.compare(
      toFileKey(field),
      before[field],
      after[field],
      "patch",
      "what it promises stays the same",
    );
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
  else if (!same(bare(before), bare(after))) changes.add(what, "minor", "what was right stays right");
  else if (!same(before, after)) changes.add(what, "patch", "only its words are others");
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
