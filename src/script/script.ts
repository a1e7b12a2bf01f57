// A script that is ready to run: parsed, and all its names checked.

import type { Diagnostic } from "../errors/index.ts";
import { type CheckedNames, checkNames } from "./check/check-names.ts";
import { SCRIPT_LIMITS } from "./limits.ts";
import type { Statement } from "./syntax/ast.ts";
import { parseStatements } from "./syntax/parse.ts";
import type { SourceText } from "./syntax/source-text.ts";

export interface Script {
  readonly source: SourceText;
  readonly statements: readonly Statement[];
  readonly names: Omit<CheckedNames, "diagnostics">;
}

export interface ParseResult {
  /** Undefined when the script has errors. */
  readonly script: Script | undefined;
  /** Sorted by their position. */
  readonly diagnostics: readonly Diagnostic[];
}

export interface ParseOptions {
  /** The path of the script, for messages. */
  readonly file: string;
  /** The variables that the caller sets. */
  readonly variables?: Iterable<string>;
}

/** Parses a script and checks it. All errors are returned at once. */
export function parseScript(text: string, { file, variables = [] }: ParseOptions): ParseResult {
  if (Buffer.byteLength(text) > SCRIPT_LIMITS.bytes) {
    const message = `The script is larger than ${SCRIPT_LIMITS.bytes} bytes.`;
    return {
      script: undefined,
      diagnostics: [{ code: "FILE_INVALID", severity: "error", message, file }],
    };
  }
  const { source, statements, diagnostics } = parseStatements(text, file);
  const names = checkNames(source, statements, new Set(variables));
  const all = [...diagnostics, ...names.diagnostics].toSorted(
    (a, b) => (a.line ?? 0) - (b.line ?? 0) || (a.column ?? 0) - (b.column ?? 0),
  );
  return { script: all.length === 0 ? { source, statements, names } : undefined, diagnostics: all };
}
