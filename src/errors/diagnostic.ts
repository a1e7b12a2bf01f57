// Diagnostic: a finding with code, severity, position and hint that does not stop the work.

import type { ErrorCode } from "./codes.ts";

/** A finding that does not stop the work: code, severity, message, and the position in a file if there is one. */
export interface Diagnostic {
  readonly code: ErrorCode;
  readonly severity: "error" | "warning" | "info";
  readonly message: string;
  readonly server?: string;
  readonly tool?: string;
  /** JSON Pointer to the part that the diagnostic is about. */
  readonly path?: string;
  /** Config file and position. Lines and columns count from 1. */
  readonly file?: string;
  readonly line?: number;
  readonly column?: number;
  /** Name of the value in the file that looks like a literal secret. Output must not show this value. */
  readonly literalSecret?: string;
  /** Next step for the user. */
  readonly hint?: string;
  /** ISO 8601 time of the call that the diagnostic is about; absent if it is not about a call. */
  readonly at?: string;
}

/** The message with the file and line that it is about, for lists of texts. */
export function locatedMessage({ file, line, message }: Diagnostic): string {
  return file === undefined ? message : `${file}${line === undefined ? "" : `:${line}`}: ${message}`;
}

/** The diagnostic of a definition in code, whose text is in no file. */
export function withoutFile({ file: _file, line: _line, column: _column, ...rest }: Diagnostic): Diagnostic {
  return rest;
}

/** The message and the next step as one text, for places that have no room for a hint of its own. */
export function hintedMessage({ message, hint = "" }: Diagnostic): string {
  return hint === "" ? message : `${message.replace(/\.$/, "")}. ${hint}`;
}

export type Report = (diagnostic: Diagnostic) => void;
