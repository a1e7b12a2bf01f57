// Call record: one request of a client as the gateway answered it. Console, metrics, traces and audit log are all made of it.

import type { Era, Implementation, RequestId } from "../model/index.ts";

export type Outcome = "ok" | "tool_error" | "error" | "cancelled" | "input_required";

/** The transport on which the client sent the request. */
export type ClientTransport = "http" | "sse" | "websocket" | "stdio";

/** The decision of access rules, pins, approval and budgets about a call. Most calls need none, and are `allowed`. */
export interface Decision {
  /** `refused`: the caller may not see the tool, or its definition is not approved. */
  readonly kind: "allowed" | "approved" | "refused" | "denied" | "expired" | "over_budget" | "loop";
  /** The way of the decision, such as `terminal`, or the rule that decided. */
  readonly by?: string;
  /** The rule of the policy that asked for the decision. */
  readonly rule?: string;
  /** The id of the approval that was used. */
  readonly grant?: string;
}

/** How a request, or a part of it, ended. */
export interface Ending {
  readonly outcome: Outcome;
  /** A code of Portolan. */
  readonly code?: string;
  /** The code of a JSON-RPC error response. */
  readonly rpcCode?: number;
  /** The message of the error, redacted. */
  readonly reason?: string;
}

/** One part of a call: the dispatch in the hub, or one request to a server. */
export interface Phase extends Ending {
  readonly name: "hub" | "upstream";
  /** Milliseconds since the start of the call. */
  readonly startMs: number;
  readonly durationMs: number;
  readonly method: string;
  /** The server that got the request, and its own name for the tool, prompt or resource. */
  readonly server?: string;
  readonly target?: string;
  readonly driver?: string;
  readonly transport?: string;
  readonly era?: Era;
  readonly revision?: string;
  readonly address?: string;
  readonly port?: number;
  /** The id of the request to the server. */
  readonly requestId?: RequestId;
}

export interface CallRecord extends Ending {
  /** Unique. The audit log and the span `portolan.call.id` have the same. */
  readonly id: string;
  /** ISO time of the start. */
  readonly time: string;
  readonly method: string;
  /** The tool or prompt as the client named it, or the URI of the resource. */
  readonly target?: string;
  /** The account of the caller. */
  readonly caller: string;
  readonly client?: Implementation;
  readonly transport: ClientTransport;
  readonly era: Era;
  readonly revision: string;
  readonly requestId: RequestId;
  /** The route: the server, its own name for the tool, and the driver if the tool is a contract. */
  readonly server?: string;
  readonly tool?: string;
  readonly driver?: string;
  readonly decision: Decision;
  readonly durationMs: number;
  /** The part of `durationMs` in which the call waited for approval; absent if it did not wait. */
  readonly waitedMs?: number;
  /** Sizes as JSON, if an observer needs them. */
  readonly inputBytes?: number;
  readonly outputBytes?: number;
  readonly trace?: TraceIds;
  readonly phases: readonly Phase[];
}

export interface TraceIds {
  readonly traceId: string;
  readonly spanId: string;
}

/** The duration without the wait for approval: the time that a person took says nothing about the gateway and the server. */
export function workMs({ durationMs, waitedMs = 0 }: Pick<CallRecord, "durationMs" | "waitedMs">): number {
  return durationMs - waitedMs;
}
