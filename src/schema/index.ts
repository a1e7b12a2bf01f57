// Public exports of the schema room. The engines load with the first validator or view.

export {
  boundSchema,
  INSTANCE_LIMITS,
  type InstanceBounds,
  type InstanceSize,
  measureInstance,
  SCHEMA_LIMITS,
  type SchemaBounds,
  type SchemaFacts,
} from "./bounds.ts";
export { type Budgeted, withinBudget } from "./budget.ts";
export { closedSchema } from "./close-schema.ts";
export { compareSchemas, describeView, meant, type Mismatch } from "./compatibility/compare.ts";
export { type DeclaredPath, declaredPaths, type PathView, viewAtPath } from "./compatibility/paths.ts";
export {
  fieldNames,
  fieldOf,
  followReference,
  requiredOf,
  type SchemaView,
  type TypeName,
  typesOf,
  viewOf,
  viewSchema,
} from "./compatibility/view.ts";
export { type Dialect, dialectOf } from "./keywords.ts";
export { isWellFormed } from "./keyword-shapes.ts";
export { describeField, formatProblem, type Problem } from "./validator/problems.ts";
export { isSafePattern } from "./pattern/safe-pattern.ts";
export {
  type CheckResult,
  createValidator,
  type SchemaValidator,
  type ValidatorOptions,
} from "./validator/validator.ts";
export { toZodView } from "./zod/zod-view.ts";
