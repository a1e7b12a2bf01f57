// Types of a contract call, and the parts of this room that carry it out.

import type { Report } from "../../errors/index.ts";
import type { DriverResult, JsonObject, LogMessage, Progress } from "../../model/index.ts";
import type { Call, ServerRequestHandler, Caller, Upstream } from "../../upstream/index.ts";
import type { Audit } from "./audit.ts";
import type { AuthMachine } from "../auth/auth-machine.ts";
import type { ContractPolicy } from "../routing/policy.ts";
import type { PreparedContract } from "../contract/prepared-contract.ts";
import type { Resolution, RouteRequest } from "../routing/route.ts";
import type { SecretGrants } from "../auth/secret-grants.ts";
import type { CallContext } from "../contract/call-context.ts";
import type { BoundTool, DriverHooks } from "../driver/bound-tool.ts";

/** One call of a contract. */
export interface ContractCall {
  /** The contract's id. */
  readonly tool: string;
  readonly input?: unknown;
  readonly context?: CallContext | undefined;
  readonly caller?: Caller | undefined;
  readonly signal?: AbortSignal | undefined;
  /** May shorten the time limit of the contract, never extend it. */
  readonly timeoutMs?: number | undefined;
  readonly maxTimeoutMs?: number | undefined;
  readonly onProgress?: ((progress: Progress) => void) | undefined;
  readonly onLog?: ((message: LogMessage) => void) | undefined;
  readonly ask?: ServerRequestHandler | undefined;
  readonly observation?: Call["observation"] | undefined;
  readonly charge?: Call["charge"] | undefined;
  readonly onWaiting?: Call["onWaiting"] | undefined;
  /** True when a person has approved this call before. */
  readonly approved?: boolean | undefined;
}

export interface ApprovalRequest {
  readonly contract: PreparedContract["contract"];
  readonly driver: string;
  readonly input: JsonObject;
  readonly context: CallContext;
  /** Why the call needs approval. */
  readonly reason: string;
  /** The call, with its caller and the function that sends server requests to its client. */
  readonly call: ContractCall;
  /** True when the policy allows calls that nobody can approve. */
  readonly mayRunUnattended: boolean;
}

/** True approves the call; a text is the reason of a refusal; undefined: nobody is there to decide. */
export type Approve = (request: ApprovalRequest) => Promise<boolean | string | undefined>;

/** On whose behalf a driver's server is needed. */
export interface Acquirer {
  readonly context: CallContext;
  /** The contract that is called. */
  readonly tool: string;
  readonly signal?: AbortSignal;
  /** Time left for the call; waiting for a server that runs already takes from it. */
  readonly time?: CallTime;
}

/** Time budget that all attempts of one call share. Server starts, logins and approvals do not count. */
export interface CallTime {
  left: number;
}

export interface ReadyTool {
  readonly bound: BoundTool;
  readonly hooks: DriverHooks;
}

export interface DispatchParts {
  contract(id: string): PreparedContract | undefined;
  contractIds(): Iterable<string>;
  /** Why a contract of the workspace is refused. */
  refusal(id: string): string | undefined;
  route(request: RouteRequest, context: CallContext): Resolution;
  ready(driver: string, contract: string): ReadyTool | undefined;
  /** The driver's live server; throws when it does not start or does not match any more. */
  acquire(bound: BoundTool, who: Acquirer): Upstream | Promise<Upstream>;
  /** Verifies a driver for this caller. Never rejects. */
  verify(driver: string, who: Acquirer): Promise<void>;
  /** Drivers whose verification takes longer than calls wait for it. */
  readonly slow: Set<string>;
  /** Verifies drivers again that failed before, in the background. Never rejects. */
  reverify(drivers: readonly string[], who: Acquirer): Promise<void>;
  readonly policy: ContractPolicy;
  readonly auth: AuthMachine;
  readonly grants: SecretGrants | undefined;
  /** True when a driver serves the contract of this id, in any version. */
  readonly isServed: (id: string) => boolean;
  readonly approve: Approve | undefined;
  /** The hint of a call that no person can approve. */
  readonly approvalHint: string | undefined;
  readonly audit: Audit | undefined;
  readonly report: Report;
  /** Why these arguments must not reach the server, such as a path outside of its sandbox. */
  readonly checkArguments: ((bound: BoundTool, args: JsonObject) => string | undefined) | undefined;
}

/** The result of a contract call. */
export interface Dispatched {
  readonly result: DriverResult<unknown>;
  /** The driver of the last attempt. */
  readonly driver?: string;
  /** True: the call failed, and cannot have reached the server of a driver. */
  readonly neverRan?: boolean;
}

/** A call whose input and context have been checked. */
export interface CheckedCall {
  readonly call: ContractCall;
  readonly prepared: PreparedContract;
  /** With defaults. */
  readonly input: JsonObject;
  /** Names of the inputs that the caller gave. A driver that cannot take an input is not rejected for a default. */
  readonly given: readonly string[];
  readonly context: CallContext;
}
