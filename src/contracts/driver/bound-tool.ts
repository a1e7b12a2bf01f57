// The words that the parts of this room share: a binding made ready to be called, what code may add to it, who calls.

import type {
  Binding,
  Contract,
  CostOverride,
  Driver,
  DriverResult,
  JsonObject,
  RetryRule,
} from "../../model/index.ts";
import type { ArgumentPlan } from "../dispatch/arguments.ts";
import type { ResultPlan } from "../dispatch/result.ts";

/** One contract served by one MCP tool: everything that does not depend on a call, worked out beforehand. */
export interface BoundTool {
  readonly contract: Contract;
  readonly driver: Driver;
  readonly binding: Binding;
  readonly arguments: ArgumentPlan;
  readonly result: ResultPlan;
  /** The least of what the contract and the driver allow. */
  readonly timeoutMs: number;
  readonly retry: RetryRule | undefined;
  readonly cost: CostOverride;
}

/** Whoever runs this program themselves. */
export const LOCAL_USER = "local";

/** On whose behalf a contract is called. What is absent is not known, and grants nothing. */
export interface CallContext {
  readonly userId?: string | undefined;
  readonly workspaceId?: string | undefined;
  readonly roles?: readonly string[] | undefined;
  readonly capabilities?: readonly string[] | undefined;
  readonly workflow?: string | undefined;
  /** Somebody is there who can log in. */
  readonly interactive?: boolean | undefined;
  /** Only this driver. */
  readonly pinnedProvider?: string | undefined;
  readonly regionConstraint?: string | undefined;
  /** What a contract's contextSchema is about. */
  readonly values?: JsonObject | undefined;
}

export interface DriverContext {
  readonly driver: Driver;
  readonly context: CallContext;
}

export interface BuildArgumentsArgs extends DriverContext {
  readonly tool: string;
  readonly toolName: string;
  /** The contract's input, checked. */
  readonly input: JsonObject;
  /** What the mappings made of it. */
  readonly arguments: JsonObject;
}

export interface ParseToolResultArgs extends DriverContext {
  readonly tool: string;
  readonly toolName: string;
  /** As the server answered. */
  readonly result: JsonObject;
}

export interface LoginArgs extends DriverContext {
  readonly signal: AbortSignal;
}

export type LoginResult =
  | { readonly ok: true }
  | {
      readonly ok: false;
      readonly reason: "user_cancelled" | "callback_failed" | "upstream_error";
      readonly message?: string | undefined;
    };

export type RefreshResult =
  | { readonly ok: true; readonly nextRefreshAt?: Date | undefined }
  | {
      readonly ok: false;
      readonly reason: "auth_expired" | "upstream_error";
      readonly message?: string | undefined;
    };

/** What is known of a failure, for telling whether a login has expired. */
export interface ExpirySigns {
  readonly exitCode?: number | undefined;
  readonly httpStatus?: number | undefined;
  readonly exception?: string | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

export interface ExecuteArgs extends DriverContext {
  readonly input: JsonObject;
  readonly signal: AbortSignal;
}

/** What the entry module of a driver may do in place of its declaration. */
export interface DriverHooks {
  readonly buildArguments?: ((args: BuildArgumentsArgs) => JsonObject) | undefined;
  readonly parseToolResult?: ((args: ParseToolResultArgs) => DriverResult<unknown>) | undefined;
  readonly login?: ((args: LoginArgs) => Promise<LoginResult>) | undefined;
  readonly refresh?: ((args: LoginArgs) => Promise<RefreshResult>) | undefined;
  readonly detectExpiry?: ((signs: ExpirySigns) => boolean) | undefined;
  /** By contract id: carries a call out without the server's tool. */
  readonly execute?: Readonly<Record<string, (args: ExecuteArgs) => Promise<unknown>>> | undefined;
}
