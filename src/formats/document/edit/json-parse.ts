// JSON with comments and trailing commas, with positions.

import { getNodeValue, type Node, type ParseError, parseTree } from "jsonc-parser";
import type { Path } from "../node.ts";
import { jsonErrorMessage } from "../read-json.ts";
import type { ParsedText, SourceRange } from "./text-document.ts";

export function parseJson(text: string): ParsedText {
  let tree: Node | undefined;
  let built = false;
  const errors: ParseError[] = [];
  const build = (): Node | undefined => {
    if (!built) {
      built = true;
      tree = parseJsonTree(text, errors);
    }
    return tree;
  };
  // Strict JSON is read without a tree: most files are, and Claude Code's can be many megabytes.
  const value = parseStrict(text) ?? valueOf(build());
  // Later errors follow from the first one.
  const problems = errors
    .slice(0, 1)
    .map(({ error, offset }) => ({ offset, message: jsonErrorMessage(error) }));
  if (value === undefined && problems.length === 0 && text.trim() !== "")
    problems.push({ offset: 0, message: "it is nested too deeply to be read, or it is empty" });
  return {
    value,
    problems,
    rangeOf: (path) => rangeOf(build(), path),
    repeatedKeys(path) {
      const seen = new Set<string>();
      return members(nodeAt(build(), path)).flatMap(({ key }) => {
        const repeated = seen.has(key);
        seen.add(key);
        return repeated ? [key] : [];
      });
    },
  };
}

/** Undefined for what is nested so deeply that the parser's own recursion ends. */
export function parseJsonTree(text: string, errors: ParseError[] = []): Node | undefined {
  try {
    return parseTree(text, errors, { allowTrailingComma: true, allowEmptyContent: true });
  } catch (thrown) {
    if (thrown instanceof RangeError) return undefined;
    throw thrown;
  }
}

/** Where a text that is well formed here stops being JSON in the strict sense: a comment, or a comma before a closing mark. */
export function findLooseness(text: string): number | undefined {
  if (parseStrict(text) !== undefined) return undefined;
  const errors: ParseError[] = [];
  parseTree(text, errors, { disallowComments: true, allowTrailingComma: false });
  return errors[0]?.offset;
}

function parseStrict(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

function valueOf(tree: Node | undefined): unknown {
  return tree === undefined ? undefined : (getNodeValue(tree) as unknown);
}

/** The node at a path; of members with the same name the last, which is the one that counts. */
export function nodeAt(tree: Node | undefined, path: Path): Node | undefined {
  let node = tree;
  for (const step of path) {
    if (node?.type === "array" && typeof step === "number") node = node.children?.[step];
    else node = members(node).findLast(({ key }) => key === step)?.property.children?.[1];
  }
  return node;
}

function rangeOf(tree: Node | undefined, path: Path): SourceRange | undefined {
  const node = nodeAt(tree, path);
  if (node === undefined) return undefined;
  const key = node.parent?.type === "property" ? node.parent.offset : node.offset;
  return { key, start: node.offset, end: node.offset + node.length };
}

export function members(node: Node | undefined): { key: string; property: Node }[] {
  if (node?.type !== "object") return [];
  return (node.children ?? []).flatMap((property) => {
    const key = property.children?.[0]?.value as unknown;
    return typeof key === "string" ? [{ key, property }] : [];
  });
}
