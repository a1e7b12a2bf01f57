// Parser of scripts: splits the text into statements and lines of text, and reports all syntax errors at once.

import type { Diagnostic } from "../../errors/index.ts";
import { SCRIPT_LIMITS } from "../limits.ts";
import type { Statement } from "./ast.ts";
import { Cursor, SyntaxProblem } from "./cursor.ts";
import { SourceText } from "./source-text.ts";
import { parseStatement } from "./statement.ts";
import { parseParts } from "./template.ts";

export interface ParsedScript {
  readonly source: SourceText;
  readonly statements: readonly Statement[];
  readonly diagnostics: readonly Diagnostic[];
}

/** Comments are whole lines, too: `# …` as in the package format, `>> …` as in the language. */
const COMMENT_LINE = /[ \t]*(?:#|>>)[^\n]*(?:\n|$)/y;
/** A line that begins a statement or a comment; the text before it belongs to the broken statement. */
const RESTART = /^(?:@[A-Za-z]|#|>>|\/?import[ \t]|\/?var[ \t]+@|\/?show[ \t])/;

export function parseStatements(text: string, file: string): ParsedScript {
  const source = new SourceText(text, file);
  const cursor = new Cursor(source.text);
  const statements: Statement[] = [];
  const diagnostics: Diagnostic[] = [];
  const lines = new TextLines(source.text, statements);
  const add = (offset: number, message: string, hint?: string): void => {
    diagnostics.push(source.diagnostic("FILE_INVALID", offset, message, hint));
  };
  while (cursor.at < cursor.text.length) {
    if (diagnostics.length >= SCRIPT_LIMITS.errors) {
      add(cursor.at, "The script has more errors; the rest of it was not checked.");
      break;
    }
    const start = cursor.at;
    if (statements.length >= SCRIPT_LIMITS.statements) {
      add(
        start,
        `The script has more than ${SCRIPT_LIMITS.statements} statements.`,
        "Split it into several scripts.",
      );
      break;
    }
    try {
      if (cursor.match(COMMENT_LINE) !== undefined) {
        lines.end();
        continue;
      }
      const statement = parseStatement(cursor);
      if (statement === undefined) {
        cursor.at = source.nextLine(start);
        lines.add(start, cursor.text.charAt(cursor.at - 1) === "\n" ? cursor.at - 1 : cursor.at);
        continue;
      }
      cursor.endStatement();
      lines.end();
      statements.push(statement);
    } catch (thrown) {
      if (!(thrown instanceof SyntaxProblem)) throw thrown;
      add(thrown.offset, thrown.message, thrown.hint);
      lines.end();
      cursor.at = restartAfter(source, start);
      const names = definedNames(source.text.slice(start, cursor.at));
      statements.push({ kind: "broken", names, at: start });
    }
  }
  lines.end();
  return { source, statements, diagnostics };
}

/** Collects lines of text into one statement. Blank lines at its beginning and its end do not count. */
class TextLines {
  readonly #text: string;
  readonly #statements: Statement[];
  #parts: ReturnType<typeof parseParts> = [];
  #at = 0;
  #blanks = 0;

  constructor(text: string, statements: Statement[]) {
    this.#text = text;
    this.#statements = statements;
  }

  /** Adds the line from `start` to `end`. Throws a SyntaxProblem for a malformed placeholder. */
  add(start: number, end: number): void {
    if (this.#text.slice(start, end).trim() === "") {
      this.#blanks += 1;
      return;
    }
    // A backslash before a character that would begin a statement or a comment makes the line text.
    const first = /^[ \t]*\\(?=[@#>\\/]|import|var|show)/.exec(
      this.#text.slice(start, Math.min(end, start + 200)),
    );
    const indent = first === null ? "" : first[0].slice(0, -1);
    const parts = parseParts(this.#text, start + (first?.[0].length ?? 0), end);
    if (this.#parts.length === 0) this.#at = start;
    else this.#parts.push("\n".repeat(this.#blanks + 1));
    this.#parts.push(...(indent === "" ? [] : [indent]), ...parts);
    this.#blanks = 0;
  }

  end(): void {
    this.#blanks = 0;
    if (this.#parts.length === 0) return;
    const value = { kind: "template", parts: this.#parts, at: this.#at } as const;
    this.#statements.push({ kind: "show", value, at: this.#at });
    this.#parts = [];
  }
}

/**
 * The line to go on with after a broken statement: the next one if the brackets of its first line match, else the next line without
 * indentation that begins a statement or a comment.
 */
function restartAfter(source: SourceText, start: number): number {
  let at = source.nextLine(start);
  if (isBalanced(source.text.slice(start, at))) return at;
  while (at < source.text.length && !RESTART.test(source.text.slice(at, at + 20))) at = source.nextLine(at);
  return at;
}

function isBalanced(line: string): boolean {
  const count = (pattern: RegExp): number => line.match(pattern)?.length ?? 0;
  return count(/[([{]/g) === count(/[)\]}]/g);
}

/** The names that a broken statement probably defines. */
function definedNames(text: string): string[] {
  const [, variable] = /^\s*(?:@(?:mcp|text|data)|\/?var)[ \t]+@?(\w+)/.exec(text) ?? [];
  const [, imported] = /^\s*@import[ \t]+\w*[ \t]*@?(\w+)/.exec(text) ?? [];
  const ofTools = /^\s*\/?import[ \t]/.test(text) ? [...text.matchAll(/@([A-Za-z_]\w*)/g)] : [];
  return [variable, imported, ...ofTools.map(([, name]) => name)].filter((name) => name !== undefined);
}
