// Types of approvals: a waiting call, a grant, and what both are bound to.

import type { ApprovalWay } from "../../model/index.ts";

/** The call that an approval is for: this caller, this tool of this server, and exactly these arguments. */
export interface ApprovalSubject {
  readonly caller: string;
  /** The alias of the server, or the driver of a contract. */
  readonly server: string;
  /** The server's own name for the tool, or the contract. */
  readonly tool: string;
  /** Digest of the arguments (`argumentDigest`). */
  readonly digest: string;
}

/** A call that waits for a person. */
export interface WaitingCall extends ApprovalSubject {
  readonly id: string;
  /** The name that the client of the call gave itself. */
  readonly client?: string;
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

/** A call that needs approval, as the option `approve` of `openGateway()` gets it. */
export interface ApprovalRequest {
  readonly id: string;
  readonly caller: string;
  /** The alias of the server, or the driver of a contract. */
  readonly server: string;
  /** The server's own name for the tool, or the contract. */
  readonly tool: string;
  /** A copy of the arguments. */
  readonly input: unknown;
  /** The arguments as one line of JSON for people: without secrets, and cut if they are long. */
  readonly shownInput: string;
  /** Why the call needs approval. */
  readonly reason: string;
  /** The rule that asks for it, such as `gateway.approval[0]`. */
  readonly rule: string;
  /** ISO time after which the call fails without a decision. */
  readonly expires: string;
}

/** `undefined` leaves the decision to the other ways of the rule. */
export type ApprovalDecision =
  | "allow"
  | "deny"
  /** The caller reads the reason. */
  | { readonly decision: "deny"; readonly reason: string }
  | undefined;

/** Decides about a call. The signal is aborted when the call ends before, for example because its client has gone. */
export type ApproveCall = (
  request: ApprovalRequest,
  context: { readonly signal: AbortSignal },
) => ApprovalDecision | Promise<ApprovalDecision>;

/** The approval of a person that a call has yet to use. */
export interface Grant extends ApprovalSubject {
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

export function isSame(a: ApprovalSubject, b: ApprovalSubject): boolean {
  return a.caller === b.caller && a.server === b.server && a.tool === b.tool && a.digest === b.digest;
}
