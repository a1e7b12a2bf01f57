// What a call of a contract is, and what it needs of the rest of this room.

import type { Report } from "../../errors/index.ts";
import type { DriverResult, JsonObject, LogMessage, Progress } from "../../model/index.ts";
import type { ServerRequestHandler, Caller, Upstream } from "../../upstream/index.ts";
import type { Audit } from "./audit.ts";
import type { AuthMachine } from "../auth/auth-machine.ts";
import type { ContractPolicy } from "../routing/policy.ts";
import type { PreparedContract } from "../contract/prepared-contract.ts";
import type { Resolution, RouteRequest } from "../routing/route.ts";
import type { SecretGrants } from "../auth/secret-grants.ts";
import type { BoundTool, CallContext, DriverHooks } from "../driver/bound-tool.ts";

export interface ContractCall {
  /** The contract's id. */
  readonly tool: string;
  readonly input?: unknown;
  readonly context?: CallContext | undefined;
  readonly caller?: Caller | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Less than what the contract allows; more does not help. */
  readonly timeoutMs?: number | undefined;
  readonly maxTimeoutMs?: number | undefined;
  readonly onProgress?: ((progress: Progress) => void) | undefined;
  readonly onLog?: ((message: LogMessage) => void) | undefined;
  readonly ask?: ServerRequestHandler | undefined;
}

export interface ApprovalRequest {
  readonly contract: PreparedContract["contract"];
  readonly driver: string;
  readonly input: JsonObject;
  readonly context: CallContext;
  /** Why it must be approved. */
  readonly reason: string;
  readonly signal?: AbortSignal | undefined;
  /** Asks whoever made the call. */
  readonly ask?: ServerRequestHandler | undefined;
}

/** True lets the call go on; a text says why not; undefined: nobody is there to say. */
export type Approve = (request: ApprovalRequest) => Promise<boolean | string | undefined>;

/** On whose behalf a driver's server is needed. */
export interface Acquirer {
  readonly context: CallContext;
  /** The contract that is called. */
  readonly tool: string;
  readonly signal?: AbortSignal | undefined;
  /** What is left for the call; waiting for a server that runs already takes from it. */
  readonly time?: CallTime | undefined;
}

/** All drivers and attempts of one call share it; starting servers, logins and approvals take nothing from it. */
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
  route(request: RouteRequest, context: CallContext): Resolution;
  ready(driver: string, contract: string): ReadyTool | undefined;
  /** The driver's live server; throws when it does not come up or does not fit any more. */
  acquire(bound: BoundTool, who: Acquirer): Upstream | Promise<Upstream>;
  /** Looks at a driver that nobody has looked at for this caller yet. Never fails. */
  look(driver: string, who: Acquirer): Promise<void>;
  /** The same for drivers that failed before; whoever calls need not wait for it. */
  lookAgain(drivers: readonly string[], who: Acquirer): Promise<void>;
  readonly policy: ContractPolicy;
  readonly auth: AuthMachine;
  readonly grants: SecretGrants | undefined;
  /** Whether a driver serves the contract of this id, in any version. */
  readonly isServed: (id: string) => boolean;
  readonly approve: Approve | undefined;
  readonly audit: Audit | undefined;
  readonly report: Report;
  /** Why these arguments must not reach the server, such as a path outside of its box. */
  readonly checkArguments: ((bound: BoundTool, args: JsonObject) => string | undefined) | undefined;
}

export interface Dispatched {
  readonly result: DriverResult<unknown>;
  /** Who served it, or was to. */
  readonly driver?: string | undefined;
}

/** A call whose input and context have been checked. */
export interface CheckedCall {
  readonly call: ContractCall;
  readonly prepared: PreparedContract;
  /** With defaults. */
  readonly input: JsonObject;
  /** The names of what the caller gave: a default that a driver cannot take is no reason to turn the driver away. */
  readonly given: readonly string[];
  readonly context: CallContext;
}
