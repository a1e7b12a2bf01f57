// Reads a description in YAML as plain values. The reader of config files refuses files as large as descriptions of APIs.

import { type Alias, isAlias, isMap, isScalar, isSeq, type Node } from "yaml";
import { composeYaml, createLocator, type YamlBounds } from "../../formats/document/index.ts";
import type { SpecDiagnostics } from "./diagnostics.ts";
import { FORBIDDEN, SPEC_LIMITS, tooDeep, tooMany } from "../limits.ts";
import type { SpecText } from "./read-spec.ts";
import { type Path, Unusable } from "../types.ts";

const MAX_ERRORS = 10;

const BOUNDS: YamlBounds = {
  lexemes: SPEC_LIMITS.values * 6,
  depth: SPEC_LIMITS.depth,
  tooMany,
  tooDeep,
  tooManyDocuments: () =>
    new Unusable("the file contains several YAML documents; an OpenAPI file must contain exactly one", []),
};

export function readYamlSpec(source: string, diagnostics: SpecDiagnostics): SpecText | undefined {
  const document = composeYaml(source, BOUNDS);
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
          `the key ${JSON.stringify(key.slice(0, 60))} is declared twice; Portolan uses the first one`,
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
