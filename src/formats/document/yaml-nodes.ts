// Positioned values from a parsed YAML document; aliases are followed a bounded number of times.

import { type Document, isAlias, isMap, isScalar, isSeq, type Node, type Pair } from "yaml";
import { keepGoodEntries, MAX_ALIASES, MAX_DEPTH, MAX_NODES, TooMuch, tooDeep } from "./bounds.ts";
import type { Locate } from "./locate.ts";
import type { Entry, Place, ScalarNode, TextNode } from "./node.ts";
import type { Diagnostics } from "./diagnostics.ts";

type Path = Place["path"];

export function createYamlConverter(
  locate: Locate,
  diagnostics: Diagnostics,
): (document: Document.Parsed) => TextNode {
  const anchors = new Map<string, { readonly node: Node; uses: number }>();
  let nodes = 0;

  const placeOf = (node: Node | null | undefined, path: Path, fallback: Place): Place =>
    node?.range == null ? { ...fallback, path } : { ...locate(node.range[0]), path };

  const convert = (node: Node | null | undefined, path: Path, fallback: Place): TextNode => {
    nodes += 1;
    if (nodes > MAX_NODES) throw new TooMuch("the file holds more values than a declaration has");
    if (path.length > MAX_DEPTH) throw tooDeep();
    const place = placeOf(node, path, fallback);
    if (isAlias(node)) return { ...convert(follow(node.source, place), path, place), ...place };
    if (node != null && "anchor" in node) remember(node.anchor, node);
    if (isMap(node)) {
      const entries = node.items.flatMap((pair) => convertPair(pair as Pair<Node, Node | null>, path, place));
      return { ...place, kind: "object", entries: keepGoodEntries(entries, diagnostics) };
    }
    if (isSeq(node)) {
      const items = node.items.map((item, index) => convert(item as Node, [...path, index], place));
      return { ...place, kind: "list", items };
    }
    return { ...place, ...scalar(node) };
  };

  const convertPair = (pair: Pair<Node, Node | null>, path: Path, parent: Place): Entry[] => {
    const keyPlace = placeOf(pair.key, path, parent);
    const keyNode = isAlias(pair.key) ? follow(pair.key.source, keyPlace) : pair.key;
    if (!isScalar(keyNode)) {
      diagnostics.add(keyPlace, "a key must be a word, not a list or an object");
      return [];
    }
    remember(keyNode.anchor, keyNode);
    const read = scalar(keyNode);
    const key = read.kind === "string" ? String(read.value) : read.source;
    const place = { ...keyPlace, path: [...path, key] };
    return [{ ...place, key, value: convert(pair.value, place.path, place) }];
  };

  /** An anchor inside of another is met again with every use of that one, and keeps its count. */
  const remember = (name: string | undefined, node: Node): void => {
    if (name !== undefined && anchors.get(name)?.node !== node) anchors.set(name, { node, uses: 0 });
  };

  const follow = (name: string, place: Place): Node | undefined => {
    const anchor = anchors.get(name);
    if (anchor === undefined) {
      diagnostics.add(place, `there is no anchor &${name} before this alias`);
      return undefined;
    }
    anchor.uses += 1;
    if (anchor.uses > MAX_ALIASES)
      throw new TooMuch(`the anchor &${name} is used more than ${MAX_ALIASES} times`);
    return anchor.node;
  };

  return (document) => convert(document.contents, [], { line: 1, column: 1, path: [] });
}

function scalar(node: Node | null | undefined): Pick<ScalarNode, "kind" | "value" | "source"> {
  const value = isScalar(node) ? node.value : null;
  const source = isScalar(node) ? (node.source ?? "") : "";
  if (typeof value === "string") return { kind: "string", value, source: value };
  if (typeof value === "number") return { kind: "number", value, source };
  if (typeof value === "boolean") return { kind: "boolean", value, source };
  return { kind: "null", value: null, source };
}
