// JSON as positioned values; comments and trailing commas are tolerated, as editors tolerate them.

import { createScanner, type Node, type ParseError, parseTree, printParseErrorCode } from "jsonc-parser";
import { checkSize, keepGoodEntries, MAX_DEPTH, MAX_NODES, TooMuch, tooDeep, tooMany } from "./bounds.ts";
import {
  createLocator,
  type Entry,
  type Locate,
  type Place,
  type ReadResult,
  type TextNode,
} from "./node.ts";
import { Diagnostics, ROOT } from "./diagnostics.ts";

export function readJson(text: string, file: string): ReadResult {
  const diagnostics = new Diagnostics(file);
  const source = text.startsWith("\uFEFF") ? text.slice(1) : text;
  if (!checkSize(source, diagnostics)) return { root: undefined, diagnostics: diagnostics.sorted() };
  try {
    checkDepth(source);
    const locate = createLocator(source);
    const errors: ParseError[] = [];
    const tree = parseTree(source, errors, { allowTrailingComma: true });
    const [first] = errors;
    // The others follow from it: the parser reads on as well as it can.
    if (first !== undefined)
      diagnostics.add({ ...locate(first.offset), path: [] }, jsonErrorMessage(first.error));
    const root =
      tree === undefined || errors.length > 0 ? undefined : convert(tree, [], source, locate, diagnostics);
    return { root, diagnostics: diagnostics.sorted() };
  } catch (thrown) {
    const message =
      thrown instanceof TooMuch
        ? thrown.message
        : `the file cannot be read as JSON: ${thrown instanceof Error ? thrown.message : String(thrown)}`;
    diagnostics.add(ROOT, message);
    return { root: undefined, diagnostics: diagnostics.sorted() };
  }
}

/** The parser recurses, so depth and number of values are bounded before it runs. */
function checkDepth(source: string): void {
  const scanner = createScanner(source, true);
  let depth = 0;
  let tokens = 0;
  while (scanner.getPosition() < source.length) {
    scanner.scan();
    const first = source[scanner.getTokenOffset()];
    if (scanner.getTokenLength() === 1 && (first === "{" || first === "[")) depth += 1;
    else if (scanner.getTokenLength() === 1 && (first === "}" || first === "]")) depth -= 1;
    tokens += 1;
    if (depth > MAX_DEPTH) throw tooDeep();
    if (tokens > MAX_NODES * 4) throw tooMany();
  }
}

function convert(
  node: Node,
  path: Place["path"],
  source: string,
  locate: Locate,
  diagnostics: Diagnostics,
): TextNode {
  const place = { ...locate(node.offset), path };
  switch (node.type) {
    case "object": {
      const entries = (node.children ?? []).flatMap((property): Entry[] => {
        const [keyNode, valueNode] = property.children ?? [];
        if (keyNode === undefined || valueNode === undefined) return [];
        const key = String(keyNode.value);
        const keyPath = [...path, key];
        const value = convert(valueNode, keyPath, source, locate, diagnostics);
        return [{ ...locate(keyNode.offset), path: keyPath, key, value }];
      });
      return { ...place, kind: "object", entries: keepGoodEntries(entries, diagnostics) };
    }
    case "array": {
      const items = (node.children ?? []).map((child, index) =>
        convert(child, [...path, index], source, locate, diagnostics),
      );
      return { ...place, kind: "list", items };
    }
    case "string":
      return { ...place, kind: "string", value: String(node.value), source: String(node.value) };
    default: {
      const written = source.slice(node.offset, node.offset + node.length);
      if (node.type === "number")
        return { ...place, kind: "number", value: Number(node.value), source: written };
      if (node.type === "boolean")
        return { ...place, kind: "boolean", value: node.value === true, source: written };
      return { ...place, kind: "null", value: null, source: written };
    }
  }
}

/** The error message for a text that is not JSON. It never contains a part of the text. */
export function jsonErrorMessage(error: ParseError["error"]): string {
  return `not valid JSON: ${WORDS[printParseErrorCode(error)] ?? "this is not expected here"}`;
}

/** By the parser's own names of its errors. */
const WORDS: Readonly<Record<string, string>> = {
  InvalidSymbol: "this is not a JSON value; text needs double quotes",
  InvalidNumberFormat: "this number is not complete",
  PropertyNameExpected: "a key in double quotes is expected here",
  ValueExpected: "a value is expected here",
  ColonExpected: "a colon is expected here",
  CommaExpected: "a comma is expected here",
  CloseBraceExpected: "a closing } is expected here",
  CloseBracketExpected: "a closing ] is expected here",
  EndOfFileExpected: "nothing more is expected here",
  UnexpectedEndOfComment: "this comment is not closed",
  UnexpectedEndOfString: "this string is not closed",
  UnexpectedEndOfNumber: "this number is not complete",
  InvalidUnicode: "this \\u escape is not complete",
  InvalidEscapeCharacter: "this escape is not known in JSON",
  InvalidCharacter: "this character must be escaped in a string",
};
