// YAML as positioned values, within bounds: a hostile file gives diagnostics, never a long wait or a crash.

import { Composer, type CST, type Document, Lexer, Parser, type YAMLError } from "yaml";
import { checkSize, MAX_DEPTH, TooMuch, tooDeep } from "./bounds.ts";
import { createLocator, type Locate } from "./locate.ts";
import type { ReadResult } from "./node.ts";
import { Diagnostics, ROOT } from "./diagnostics.ts";
import { createYamlConverter } from "./yaml-nodes.ts";

const MAX_LEXEMES = 200_000;
const MAX_SYNTAX_ERRORS = 10;

export function readYaml(text: string, file: string): ReadResult {
  const diagnostics = new Diagnostics(file);
  const source = text.startsWith("\uFEFF") ? text.slice(1) : text;
  if (!checkSize(source, diagnostics)) return { root: undefined, diagnostics: diagnostics.sorted() };
  const locate = createLocator(source);
  try {
    const document = compose(source);
    reportSyntax(document, locate, diagnostics);
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

/**
 * The first document. Depth is bounded while parsing, since composing recurses; keys are compared later, since
 * `uniqueKeys` compares each with each (four minutes for a megabyte of keys).
 */
export function compose(source: string): Document.Parsed {
  const composer = new Composer({
    schema: "core",
    merge: false,
    uniqueKeys: false,
    resolveKnownTags: false,
    prettyErrors: false,
  });
  const documents = composer.compose(parse(source), true, source.length);
  const first = documents.next().value as Document.Parsed;
  const second = documents.next();
  if (second.done !== true)
    throw new TooMuch("the file holds several YAML documents; a declaration is one document");
  return first;
}

function* parse(source: string): Generator<CST.Token> {
  const parser = new Parser();
  let lexemes = 0;
  for (const lexeme of new Lexer().lex(source)) {
    yield* parser.next(lexeme);
    lexemes += 1;
    if (lexemes > MAX_LEXEMES) throw new TooMuch("the file holds more values than a declaration has");
    if (parser.stack.length > MAX_DEPTH + 1) throw tooDeep();
  }
  yield* parser.end();
}

function reportSyntax(document: Document.Parsed, locate: Locate, diagnostics: Diagnostics): void {
  const found: YAMLError[] = [...document.errors, ...document.warnings];
  found.sort((a, b) => a.pos[0] - b.pos[0]);
  const lines = new Set<number>();
  for (const { pos, code, message } of found) {
    const place = { ...locate(pos[0]), path: [] };
    // A second one in a line follows from the first.
    if (lines.has(place.line) || lines.size === MAX_SYNTAX_ERRORS) continue;
    lines.add(place.line);
    if (code === "TAG_RESOLVE_FAILED")
      diagnostics.add(place, lowerFirst(message), "Tags have no meaning in a declaration; leave it out.");
    else diagnostics.add(place, `not valid YAML: ${lowerFirst(message)}`, hintFor(code));
  }
}

function hintFor(code: YAMLError["code"]): string | undefined {
  switch (code) {
    case "BLOCK_AS_IMPLICIT_KEY":
    case "MULTILINE_IMPLICIT_KEY":
      return "Put a value that holds a colon and a space into quotes.";
    case "TAB_AS_INDENT":
      return "Indent with spaces.";
    case "BAD_INDENT":
      return "Keys of one object start in the same column.";
    default:
      return undefined;
  }
}

function lowerFirst(message: string): string {
  const line = message.split("\n", 1)[0] ?? "";
  return line.slice(0, 1).toLowerCase() + line.slice(1, 300);
}
