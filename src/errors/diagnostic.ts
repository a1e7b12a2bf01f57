// Diagnostic: a finding with code, severity, position and hint that does not stop the work.

import type { ErrorCode } from "./codes.ts";

/** A finding that does not stop the work: code, severity, message, and the position in a file if there is one. */
export interface Diagnostic {
  readonly code: ErrorCode;
  readonly severity: "error" | "warning" | "info";
  readonly message: string;
  readonly server?: string | undefined;
  readonly tool?: string | undefined;
  /** JSON Pointer to the part that the diagnostic is about. */
  readonly path?: string | undefined;
  /** Config file and position. Lines and columns count from 1. */
  readonly file?: string | undefined;
  readonly line?: number | undefined;
  readonly column?: number | undefined;
  /** Next step for the user. */
  readonly hint?: string | undefined;
}

export type Report = (diagnostic: Diagnostic) => void;
