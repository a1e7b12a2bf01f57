// YAML as a value with offsets.

import {
  type Document,
  isMap,
  isNode,
  isScalar,
  isSeq,
  type Node,
  type ParsedNode,
  type YAMLMap,
  type YAMLSeq,
} from "yaml";
import type { Path } from "../node.ts";
import { composeYaml } from "../read-yaml.ts";
import { type ParsedText, toFailure } from "./text-document.ts";

/** Within the limits of every other config file: some texts would end the process inside the parser. */
export function parseYaml(text: string): ParsedText {
  let tree: Document.Parsed;
  try {
    tree = composeYaml(text);
  } catch {
    return toFailure(0, "not valid YAML: too large or too deep");
  }
  // Later errors follow from the first one. The parser's own message may contain parts of the file.
  const problems = tree.errors.slice(0, 1).map(({ pos, code }) => ({
    offset: pos[0],
    message: `not valid YAML: ${code.toLowerCase().replaceAll("_", " ")}`,
  }));
  let value: unknown;
  try {
    value = tree.toJS({ maxAliasCount: 100 }) as unknown;
  } catch {
    problems.push({ offset: 0, message: "an alias has no anchor, or there are too many aliases" });
  }
  return {
    value,
    problems,
    rangeOf(path) {
      const { node, key } = yamlNodeAt(tree, path) ?? {};
      const range = (node as ParsedNode | undefined)?.range;
      return range == null ? undefined : { key: key?.range?.[0] ?? range[0], start: range[0], end: range[1] };
    },
  };
}

export interface FoundNode {
  readonly node: Node;
  readonly parent?: YAMLMap | YAMLSeq;
  /** The index in the parent. */
  readonly index: number;
  /** The key in a parent that is a map. */
  readonly key?: Node;
}

/** The node at a path; aliases are not followed. */
export function yamlNodeAt(tree: Document.Parsed, path: Path): FoundNode | undefined {
  let found: FoundNode | undefined = isNode(tree.contents) ? { node: tree.contents, index: 0 } : undefined;
  for (const step of path) found = found === undefined ? undefined : childOf(found.node, step);
  return found;
}

function childOf(parent: Node, step: string | number): FoundNode | undefined {
  if (isSeq(parent) && typeof step === "number") {
    const node = parent.items[step];
    return isNode(node) ? { node, parent, index: step } : undefined;
  }
  if (!isMap(parent)) return undefined;
  const index = parent.items.findIndex(({ key }) => isScalar(key) && String(key.value) === step);
  const { key, value } = parent.items[index] ?? {};
  return isNode(value) && isNode(key) ? { node: value, parent, index, key } : undefined;
}
