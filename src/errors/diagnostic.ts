// A finding that does not stop the work: what was odd, where, and what was done about it.

import type { ErrorCode } from "./codes.ts";

export interface Diagnostic {
  readonly code: ErrorCode;
  readonly severity: "error" | "warning" | "info";
  readonly message: string;
  readonly server?: string | undefined;
  readonly tool?: string | undefined;
  /** JSON Pointer into the thing that is odd, where there is one. */
  readonly path?: string | undefined;
  /** The declaration it was found in, and where: lines and columns count from 1. */
  readonly file?: string | undefined;
  readonly line?: number | undefined;
  readonly column?: number | undefined;
  /** What would be right. */
  readonly hint?: string | undefined;
}

export type Report = (diagnostic: Diagnostic) => void;
