// What changed between two versions of a contract, for those who call it and for those who serve it.

import { type Contract, isObject, type JsonSchema } from "../../model/index.ts";
import { closedSchema, compareSchemas, viewSchema } from "../../schema/index.ts";
import { asWritten } from "../define/as-written.ts";
import { type AddChange, type Change, conclude, type Difference, same, type Step } from "./changes.ts";
import { narrowerBy, noLongerPromised } from "./narrowed-schema.ts";

export function diffContracts(before: Contract, after: Contract): Difference {
  const changes: Change[] = [];
  const add: AddChange = (what, needs, why) => void changes.push({ what, needs, why });
  const compare = (what: string, a: unknown, b: unknown, needs: Step, why: string): void => {
    if (!same(a, b)) add(what, needs, why);
  };
  compare("id", before.id, after.id, "major", "a contract is known by its id");
  diffSchemas("inputs", before.inputs, after.inputs, "inputs that were right are refused", add);
  diffSchemas("outputs", before.outputs, after.outputs, "outputs that were right are refused", add);
  const lost = mismatches(after.outputs, before.outputs, "some");
  if (lost !== undefined) add("outputs", "major", `callers do not get what they got: ${lost}`);
  const optional = noLongerPromised(before.outputs, after.outputs);
  if (optional !== undefined) add("outputs", "major", `${optional} may be missing now`);
  if (before.idempotent && !after.idempotent)
    add("idempotent", "major", "callers that call again would do it twice");
  else compare("idempotent", before.idempotent, after.idempotent, "minor", "it may be called again now");
  const more = after.mutates.filter((what) => !before.mutates.includes(what));
  if (more.length > 0) add("mutates", "major", `it changes more: ${more.join(", ")}`);
  else compare("mutates", before.mutates, after.mutates, "minor", "it changes less");
  compare(
    "contextSchema",
    before.contextSchema,
    after.contextSchema,
    "major",
    "callers must tell other things",
  );
  compare("approval", before.approval, after.approval, "minor", "it is approved in another way");
  compare("requires", before.requires, after.requires, "minor", "it needs other things");
  compare(
    "driver_constraints",
    before.driverConstraints,
    after.driverConstraints,
    "minor",
    "other drivers may serve it",
  );
  compare("timeout_ms", before.timeoutMs, after.timeoutMs, "minor", "it has another time limit");
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
    compare(asWritten(field), before[field], after[field], "patch", "what it promises stays the same");
  return conclude(changes);
}

function diffSchemas(what: string, before: JsonSchema, after: JsonSchema, why: string, add: AddChange): void {
  // Inputs that a contract does not name are refused, whether it says so or not.
  const read = what === "inputs" ? closedSchema : (schema: JsonSchema): JsonSchema => schema;
  const narrower = mismatches(read(before), read(after), "all") ?? narrowerBy(read(before), read(after));
  if (narrower !== undefined) add(what, "major", `${why}: ${narrower}`);
  else if (!same(bare(before), bare(after))) add(what, "minor", "what was right stays right");
  else if (!same(before, after)) add(what, "patch", "only its words are others");
}

function mismatches(given: JsonSchema, taken: JsonSchema, demand: "all" | "some"): string | undefined {
  const [from, to] = [viewSchema(given), viewSchema(taken)];
  if (from === undefined || to === undefined) return undefined;
  const [first] = compareSchemas(from, to, demand);
  return first === undefined ? undefined : [...first.path, first.message].join(": ");
}

/** Without what only readers see. */
function bare(value: unknown, inMap = false): unknown {
  if (Array.isArray(value)) return value.map((item) => bare(item));
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([key]) => inMap || !["title", "description", "examples", "$comment"].includes(key))
      .map(([key, item]) => [key, bare(item, key === "properties" || key === "$defs")]),
  );
}
