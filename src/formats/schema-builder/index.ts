// Public exports of the schema builder: typed builders that describe a file format once.

export { list, map, union, variants } from "./collections.ts";
export {
  type AnySchema,
  type Fields,
  type Input,
  type JsonSchemaObject,
  type ReadContext,
  Schema,
  toDocsTable,
  toJsonSchemaDocument,
  type Value,
} from "./schema.ts";
export { nodeOf, object, partialObject, toWhole, without, withoutRequired } from "./object.ts";
export { anyValue, duration, flag, integer, number, oneOf, oneOfNumbers, size, text } from "./scalars.ts";
