// YAML with positions.

import {
  isMap,
  isNode,
  isPair,
  isScalar,
  isSeq,
  type Node,
  parseDocument,
  YAMLParseError,
  type ParsedNode,
  type Document,
} from "yaml";
import { composeYaml } from "../../document/index.ts";
import type { SourceDocument, SourceRange } from "./document.ts";
import type { Path } from "../types.ts";

export type YamlTree = Document.Parsed;

/** Within the bounds of every other config file: some texts would end the process inside the parser. */
export function parseYamlTree(text: string): YamlTree {
  try {
    return composeYaml(text);
  } catch {
    const nothing = parseDocument("");
    nothing.errors.push(new YAMLParseError([0, 1], "IMPOSSIBLE", "too large or too deep"));
    return nothing;
  }
}

export function readYaml(text: string): SourceDocument {
  const tree = parseYamlTree(text);
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
  return { value, problems, rangeOf: (path) => rangeOf(tree, path), repeatedKeys: () => [] };
}

export function yamlNodeAt(tree: YamlTree, path: Path): { key?: Node; node: Node } | undefined {
  let key: Node | undefined;
  let node: unknown = tree.contents;
  for (const step of path) {
    key = undefined;
    if (isSeq(node) && typeof step === "number") node = node.items[step];
    else if (isMap(node)) {
      const pair = node.items.find((item) => isScalar(item.key) && String(item.key.value) === step);
      key = isPair(pair) && isNode(pair.key) ? pair.key : undefined;
      node = pair?.value;
    } else return undefined;
  }
  return isNode(node) ? { key, node } : undefined;
}

function rangeOf(tree: YamlTree, path: Path): SourceRange | undefined {
  const found = yamlNodeAt(tree, path);
  const range = (found?.node as ParsedNode | undefined)?.range;
  if (range == null) return undefined;
  return { key: found?.key?.range?.[0] ?? range[0], start: range[0], end: range[1] };
}
