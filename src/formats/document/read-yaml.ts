// Reads YAML as values with positions, within limits: a hostile file gives diagnostics, never a long wait or a crash.

import {
  Composer,
  type CST,
  type Document,
  isAlias,
  isMap,
  isScalar,
  isSeq,
  Lexer,
  type Node,
  type Pair,
  Parser,
  type YAMLError,
} from "yaml";
import {
  checkSize,
  keepGoodEntries,
  MAX_ALIASES,
  MAX_DEPTH,
  MAX_NODES,
  tooDeep,
  tooMany,
  TooMuch,
} from "./bounds.ts";
import { Diagnostics, ROOT } from "./diagnostics.ts";
import {
  createLocator,
  type Entry,
  type Locate,
  type Place,
  type ReadResult,
  type ScalarNode,
  type TextNode,
} from "./node.ts";
import { explainSyntax } from "./yaml-syntax.ts";

const MAX_SYNTAX_ERRORS = 10;

export function readYaml(text: string, file: string): ReadResult {
  const diagnostics = new Diagnostics(file);
  const source = text.startsWith("\uFEFF") ? text.slice(1) : text;
  if (!checkSize(source, diagnostics)) return { root: undefined, diagnostics: diagnostics.sorted() };
  const locate = createLocator(source);
  try {
    const document = composeYaml(source);
    reportSyntax(document, source, locate, diagnostics);
    const root = diagnostics.list.length > 0 ? undefined : createYamlConverter(locate, diagnostics)(document);
    return { root, diagnostics: diagnostics.sorted() };
  } catch (thrown) {
    const message =
      thrown instanceof TooMuch
        ? thrown.message
        : `the file cannot be read as YAML: ${thrown instanceof Error ? thrown.message : String(thrown)}`;
    diagnostics.add(ROOT, message);
    return { root: undefined, diagnostics: diagnostics.sorted() };
  }
}

/** Limits of a YAML text, and the errors that are thrown beyond them. */
export interface YamlBounds {
  readonly lexemes: number;
  readonly depth: number;
  readonly tooMany: () => Error;
  readonly tooDeep: () => Error;
  readonly tooManyDocuments: () => Error;
}

const CONFIG_BOUNDS: YamlBounds = {
  lexemes: 200_000,
  depth: MAX_DEPTH,
  tooMany,
  tooDeep,
  tooManyDocuments: () =>
    new TooMuch("the file contains several YAML documents; a config file must contain exactly one"),
};

/**
 * The first document. Depth is bounded while parsing, since composing recurses; keys are compared later, since
 * `uniqueKeys` compares each with each (four minutes for a megabyte of keys).
 */
export function composeYaml(source: string, bounds: YamlBounds = CONFIG_BOUNDS): Document.Parsed {
  const composer = new Composer({
    schema: "core",
    merge: false,
    uniqueKeys: false,
    resolveKnownTags: false,
    prettyErrors: false,
    logLevel: "silent",
  });
  const documents = composer.compose(parse(source, bounds), true, source.length);
  const first = documents.next().value as Document.Parsed;
  if (documents.next().done !== true) throw bounds.tooManyDocuments();
  return first;
}

function* parse(source: string, bounds: YamlBounds): Generator<CST.Token> {
  const parser = new Parser();
  let lexemes = 0;
  for (const lexeme of new Lexer().lex(source)) {
    yield* parser.next(lexeme);
    lexemes += 1;
    if (lexemes > bounds.lexemes) throw bounds.tooMany();
    if (parser.stack.length > bounds.depth + 1) throw bounds.tooDeep();
  }
  yield* parser.end();
}

function reportSyntax(
  document: Document.Parsed,
  source: string,
  locate: Locate,
  diagnostics: Diagnostics,
): void {
  const found: YAMLError[] = [...document.errors, ...document.warnings];
  found.sort((a, b) => a.pos[0] - b.pos[0]);
  const lines = new Set<number>();
  let covered = 0;
  for (const error of found) {
    const { line, column, message, hint, through = line } = explainSyntax(error, source, locate);
    // A second one in a line follows from the first.
    if (lines.has(line) || line <= covered || lines.size === MAX_SYNTAX_ERRORS) continue;
    lines.add(line);
    covered = Math.max(covered, through);
    diagnostics.add({ line, column, path: [] }, message, hint);
  }
}

type Path = Place["path"];

function createYamlConverter(
  locate: Locate,
  diagnostics: Diagnostics,
): (document: Document.Parsed) => TextNode {
  const anchors = new Map<string, { readonly node: Node; uses: number }>();
  let nodes = 0;

  const placeOf = (node: Node | null | undefined, path: Path, fallback: Place): Place =>
    node?.range == null ? { ...fallback, path } : { ...locate(node.range[0]), path };

  const convert = (node: Node | null | undefined, path: Path, fallback: Place): TextNode => {
    nodes += 1;
    if (nodes > MAX_NODES) throw tooMany();
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
