// Types of approvals: a waiting call, a grant, and what both are bound to.

import type { ApprovalWay } from "../../model/index.ts";

/** A grant is for this caller, this tool and exactly these arguments. */
export interface Binding {
  readonly caller: string;
  /** The alias of the server, or the driver of a contract. */
  readonly server: string;
  /** The server's own name for the tool, or the contract. */
  readonly tool: string;
  /** Digest of the arguments (`argumentDigest`). */
  readonly digest: string;
}

/** A call that waits for a person. */
export interface WaitingCall extends Binding {
  readonly id: string;
  /** ISO times. */
  readonly time: string;
  readonly expires: string;
  /** The arguments as JSON, redacted; `cut` characters are missing at the end. */
  readonly arguments: string;
  readonly cut: number;
  readonly reason: string;
  readonly rule: string;
  readonly by: readonly ApprovalWay[];
  readonly maxForMs?: number;
}

/** The approval of a person that a call has yet to use. */
export interface Grant extends Binding {
  /** The id of the call that was approved. */
  readonly id: string;
  readonly by: ApprovalWay;
  readonly expires: string;
  /** True for a grant that ends with the first call. */
  readonly once: boolean;
}

export interface Verdict {
  readonly id: string;
  readonly approve: boolean;
  /** Approves repetitions of the call for this time. */
  readonly forMs?: number;
  /** The reason of a denial, which the caller reads. */
  readonly reason?: string;
}

export function isSame(a: Binding, b: Binding): boolean {
  return a.caller === b.caller && a.server === b.server && a.tool === b.tool && a.digest === b.digest;
}
