// A binding that is ready to be called, and the hooks that code beside a driver may provide.

import type {
  Binding,
  CallToolResult,
  Contract,
  CostOverride,
  Driver,
  DriverResult,
  JsonObject,
  RetryRule,
} from "../../model/index.ts";
import type { CallContext } from "../contract/call-context.ts";
import type { ArgumentPlan } from "../dispatch/arguments.ts";
import type { ResultPlan } from "../dispatch/result.ts";

/** One contract served by one MCP tool: everything that does not depend on a call, computed once. */
export interface BoundTool {
  readonly contract: Contract;
  readonly driver: Driver;
  readonly binding: Binding;
  readonly arguments: ArgumentPlan;
  readonly result: ResultPlan;
  /** The shortest limit of the contract, the binding and the driver. */
  readonly timeoutMs: number;
  readonly retry: RetryRule | undefined;
  readonly cost: CostOverride;
}

export interface DriverContext {
  readonly driver: Driver;
  readonly context: CallContext;
}

/** The argument of the hook `buildArguments`. */
export interface BuildArgumentsArgs extends DriverContext {
  readonly tool: string;
  readonly toolName: string;
  /** The contract's input, checked. */
  readonly input: JsonObject;
  /** The arguments that the mappings give. */
  readonly arguments: JsonObject;
}

/** The argument of the hook `parseToolResult`. */
export interface ParseToolResultArgs extends DriverContext {
  readonly tool: string;
  readonly toolName: string;
  /** As the server answered. */
  readonly result: CallToolResult;
}

/** The argument of the hook `login`. */
export interface LoginArgs extends DriverContext {
  readonly signal: AbortSignal;
  /**
   * Opens a page in the browser of the user. The page gets the address to return to in place of `{callback_url}`, or as its parameter
   * `redirect_uri`. Resolves to the address that it returned to, with its parameters, such as a code. Throws without a user.
   */
  readonly showPage: (url: string) => Promise<URL>;
}

/** The argument of the hook `refresh`. */
export interface RefreshArgs extends DriverContext {
  readonly signal: AbortSignal;
}

/** The outcome of a login. */
export type LoginResult =
  | { readonly ok: true }
  | {
      readonly ok: false;
      readonly reason: "user_cancelled" | "callback_failed" | "upstream_error";
      readonly message?: string;
    };

/** The outcome of refreshing a login. */
export type RefreshResult =
  | { readonly ok: true; readonly nextRefreshAt?: Date }
  | {
      readonly ok: false;
      readonly reason: "auth_expired" | "upstream_error";
      readonly message?: string;
    };

/** Facts about a failure that may show an expired login. */
export interface ExpirySigns {
  readonly exitCode?: number;
  readonly httpStatus?: number;
  readonly exception?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** The argument of the hook `execute`. */
export interface ExecuteArgs extends DriverContext {
  readonly input: JsonObject;
  readonly signal: AbortSignal;
}

/** Functions of the entry module of a driver, which take the place of fields in DRIVER.md. */
export interface DriverHooks {
  readonly buildArguments?: (args: BuildArgumentsArgs) => JsonObject;
  readonly parseToolResult?: (args: ParseToolResultArgs) => DriverResult<unknown>;
  readonly login?: (args: LoginArgs) => Promise<LoginResult>;
  readonly refresh?: (args: RefreshArgs) => Promise<RefreshResult>;
  readonly detectExpiry?: (signs: ExpirySigns) => boolean;
  /** By contract id: serves a call without the server's tool. */
  readonly execute?: Readonly<Record<string, (args: ExecuteArgs) => Promise<unknown>>>;
}
