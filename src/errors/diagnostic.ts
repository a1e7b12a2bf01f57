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
}

export type Report = (diagnostic: Diagnostic) => void;
