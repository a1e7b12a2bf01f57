// Reads a description in YAML as plain values. The reader of config files refuses files as large as descriptions of APIs.

import {
  type Alias,
  Composer,
  type CST,
  type Document,
  isAlias,
  isMap,
  isScalar,
  isSeq,
  Lexer,
  type Node,
  Parser,
} from "yaml";
import { createLocator } from "../../formats/document/index.ts";
import type { SpecDiagnostics } from "./diagnostics.ts";
import { FORBIDDEN, SPEC_LIMITS, tooDeep, tooMany } from "../limits.ts";
import type { SpecText } from "./read-spec.ts";
import { type Path, Unusable } from "../types.ts";

const MAX_ERRORS = 10;

export function readYamlSpec(source: string, diagnostics: SpecDiagnostics): SpecText | undefined {
  const document = compose(source);
  const locate = createLocator(source);
  if (document.errors.length > 0) {
    for (const { pos, message } of document.errors.slice(0, MAX_ERRORS))
      diagnostics.errorAt(locate(pos[0]), `not valid YAML: ${firstLine(message)}`);
    return undefined;
  }
  const anchors = new Map<string, Node>();
  const root = toPlain(document.contents, anchors, diagnostics);
  return {
    root,
    locate: (paths) => paths.map((path) => locate(offsetOf(document.contents, path, anchors))),
  };
}

function compose(source: string): Document.Parsed {
  const composer = new Composer({
    schema: "core",
    merge: false,
    // The check compares each key with each other; a map of many keys would take minutes.
    uniqueKeys: false,
    resolveKnownTags: false,
    prettyErrors: false,
    logLevel: "silent",
  });
  const documents = composer.compose(parse(source), true, source.length);
  const first = documents.next().value as Document.Parsed;
  if (documents.next().done !== true)
    throw new Unusable("the file holds several YAML documents; a description of an API is one", []);
  return first;
}

/** Limits the depth here, because composing recurses. */
function* parse(source: string): Generator<CST.Token> {
  const parser = new Parser();
  let lexemes = 0;
  for (const lexeme of new Lexer().lex(source)) {
    yield* parser.next(lexeme);
    lexemes += 1;
    if (lexemes > SPEC_LIMITS.values * 6) throw tooMany();
    if (parser.stack.length > SPEC_LIMITS.depth + 1) throw tooDeep();
  }
  yield* parser.end();
}

/** Expands aliases; the limit on values stops those that multiply. */
function toPlain(contents: Node | null, anchors: Map<string, Node>, diagnostics: SpecDiagnostics): unknown {
  let values = 0;
  const convert = (node: Node | null | undefined, path: Path): unknown => {
    values += 1;
    if (values > SPEC_LIMITS.values) throw tooMany();
    if (path.length > SPEC_LIMITS.depth) throw tooDeep();
    if (isAlias(node)) return convert(follow(node, anchors), path);
    if (node != null && node.anchor !== undefined) anchors.set(node.anchor, node);
    if (isSeq(node)) return node.items.map((item, index) => convert(item as Node, [...path, index]));
    if (!isMap(node)) return isScalar(node) ? plainScalar(node.value) : null;
    const object: Record<string, unknown> = {};
    for (const pair of node.items) {
      const key = keyOf(pair.key as Node);
      if (key === undefined) continue;
      const keyPath = [...path, key];
      if (FORBIDDEN.has(key)) diagnostics.forbidden(key, keyPath);
      else if (Object.hasOwn(object, key))
        diagnostics.warn(
          keyPath,
          `the key ${JSON.stringify(key.slice(0, 60))} stands here twice; the first counts`,
        );
      else object[key] = convert(pair.value as Node, keyPath);
    }
    return object;
  };
  return convert(contents, []);
}

function follow(alias: Alias, anchors: ReadonlyMap<string, Node>): Node {
  const node = anchors.get(alias.source);
  if (node === undefined) throw new Unusable(`there is no anchor &${alias.source} before its alias`, []);
  return node;
}

/** Keys that are not strings stay as written: `200:` is the key "200". */
function keyOf(key: Node | null): string | undefined {
  if (!isScalar(key)) return undefined;
  return typeof key.value === "string" ? key.value : (key.source ?? "");
}

function plainScalar(value: unknown): unknown {
  if (typeof value === "number") return Number.isFinite(value) ? value : null;
  return typeof value === "string" || typeof value === "boolean" ? value : null;
}

function offsetOf(contents: Node | null, path: Path, anchors: ReadonlyMap<string, Node>): number {
  let node = contents;
  let offset = node?.range?.[0] ?? 0;
  for (const step of path) {
    if (isAlias(node)) node = anchors.get(node.source) ?? null;
    if (isMap(node)) {
      const pair = node.items.find((item) => keyOf(item.key as Node) === String(step));
      if (pair === undefined) return offset;
      offset = (pair.key as Node).range?.[0] ?? offset;
      node = pair.value as Node | null;
    } else if (isSeq(node) && typeof step === "number") {
      node = (node.items[step] as Node | undefined) ?? null;
      offset = node?.range?.[0] ?? offset;
    } else return offset;
  }
  return offset;
}

function firstLine(message: string): string {
  const line = message.split("\n", 1)[0] ?? "";
  return line.slice(0, 1).toLowerCase() + line.slice(1, 300);
}
