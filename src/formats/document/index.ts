// Public exports of the document layer: YAML and JSON files as values with positions, and their diagnostics.

export { MAX_BYTES } from "./bounds.ts";
export { Diagnostics, quoted, ROOT } from "./diagnostics.ts";
export { openDocument } from "./edit/index.ts";
export {
  createLocator,
  type Entry,
  entryOf,
  type ListNode,
  nodeAt,
  type ObjectNode,
  type Path,
  type Place,
  type ReadResult,
  type ScalarNode,
  type TextNode,
  toLabel,
  toPlain,
  toPointer,
} from "./node.ts";
export { readText } from "./read.ts";
export { jsonErrorMessage, readJson } from "./read-json.ts";
export { readValue } from "./read-value.ts";
export { composeYaml, readYaml, type YamlBounds } from "./read-yaml.ts";
export { renderYaml } from "./render-yaml.ts";
