// Public face of the text readers: texts as positioned values, shapes that check them.

export { ALIAS_PATTERN, aliasProblem, MAX_ALIAS } from "./alias.ts";
export { MAX_BYTES } from "./bounds.ts";
export { checkShape } from "./check.ts";
export { DURATION_PATTERN, parseDuration } from "./duration.ts";
export { type SchemaObject, toJsonSchema } from "./json-schema.ts";
export {
  type Entry,
  entryOf,
  type ListNode,
  nodeAt,
  type ObjectNode,
  type Place,
  type ReadResult,
  type ScalarNode,
  type TextNode,
  toLabel,
  toPlain,
  toPointer,
} from "./node.ts";
export { createLocator } from "./locate.ts";
export { Diagnostics, ROOT } from "./diagnostics.ts";
export { readText } from "./read.ts";
export { jsonErrorMessage, readJson } from "./read-json.ts";
export { compose as composeYaml, readYaml } from "./read-yaml.ts";
export type { ObjectShape, Shape } from "./shape.ts";
export { parseSize, SIZE_PATTERN } from "./size.ts";
export { quoted } from "./words.ts";
