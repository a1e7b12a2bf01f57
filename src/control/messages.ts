// Messages on the control socket: the methods, their parameters and results.

import type { FileChange } from "../catalog/index.ts";
import type { DriverReport } from "../contracts/index.ts";
import type { Diagnostic } from "../errors/index.ts";
import type { BudgetUse, CallerAccess, ShownApproval, Verdict } from "../gateway/index.ts";
import type { OwnName, ServerHealth } from "../hub/index.ts";
import type { LaunchPlan } from "../launch/index.ts";
import type { Implementation, JsonObject, ServerConfig } from "../model/index.ts";
import type { Description } from "../upstream/index.ts";
import type { DenialEvent } from "./server/open-denials.ts";

/** Facts about a running gateway. */
export interface GatewayFacts {
  readonly pid: number;
  /** The version of Portolan. */
  readonly version: string;
  readonly kind: "http" | "stdio";
  readonly url?: string;
  readonly path: string;
  /** ISO time. */
  readonly startedAt: string;
  readonly log?: string;
  /** All servers, by alias. */
  readonly servers: readonly string[];
  /** True if the gateway serves only some servers of its workspace. */
  readonly isPartial?: boolean;
  /** The config files that the servers come from. */
  readonly files?: readonly string[];
  /** Changes of the config files that are not in use, and why. */
  readonly problems: readonly string[];
  /** The config files whose changes the gateway ignores: a server may have made them, or the file is gone. Absent from an older gateway. */
  readonly ignoredFiles?: readonly string[];
  /** How much callers used of their budgets, the fullest first. */
  readonly budgets?: readonly BudgetUse[];
  /** The callers with their rules, as they are in use; absent from an older gateway. */
  readonly callers?: readonly CallerAccess[];
}

/** The state of the selected servers at one time. */
export interface Snapshot {
  readonly health: readonly ServerHealth[];
  /** Full names of tools and prompts, with their server and its own name. */
  readonly tools: readonly (readonly [string, OwnName])[];
  readonly prompts: readonly (readonly [string, OwnName])[];
  readonly description: Description;
  /** Diagnostics at run time; those of config files are not included. */
  readonly diagnostics: readonly Diagnostic[];
  /** Set when the servers were pinged. */
  readonly healthy?: boolean;
}

export interface SnapshotParams {
  /** Waits until no selected server is starting. */
  readonly wait?: boolean;
  /** Pings the servers. */
  readonly check?: boolean;
}

export interface DriversParams {
  /** How long to wait for the verification of drivers. */
  readonly waitMs: number;
}

/** A request to the selected servers. */
export interface ForwardedRequest {
  readonly method: string;
  readonly params?: JsonObject;
  /** Sends the request to this server, with the server's own names of tools and prompts. */
  readonly server?: string;
  readonly clientInfo: Implementation;
  readonly capabilities: JsonObject;
  readonly timeoutMs?: number;
  readonly maxTimeoutMs?: number;
  readonly repeatable?: boolean;
  readonly repeats?: boolean;
}

export interface ReloadParams {
  /** The config files that the command of the user has written, so that the gateway trusts them. */
  readonly changes?: readonly FileChange[];
}

/** The result of a reload. */
export interface ReloadResult {
  /** False for a gateway that does not serve config files. */
  readonly hasFiles: boolean;
  /** Errors, because of which the earlier config stays in use. */
  readonly problems: readonly string[];
  /** Warnings that concern no single server; absent from an older gateway. */
  readonly warnings?: readonly string[];
  /** Why single servers keep their earlier secrets; absent from an older gateway. */
  readonly serverProblems?: readonly string[];
  /** Servers that were restarted, because their secrets have other values now; absent from an older gateway. */
  readonly restarted?: readonly string[];
  /** Servers that changed files added or changed since the last reload; absent from an older gateway. */
  readonly changed?: readonly string[];
  readonly removed?: readonly string[];
  /** Gateway settings that were applied since the last reload; absent from an older gateway. */
  readonly applied?: readonly string[];
  /** Changed settings that take effect after a restart of the gateway; an older gateway reports them in `problems`. */
  readonly restart?: readonly string[];
  /** The end of a TLS certificate that replaced another one (ISO time). */
  readonly certificateValidUntil?: string | undefined;
  /** The servers that were changed or restarted, or could not be, as they are now; absent from an older gateway. */
  readonly servers?: readonly ServerHealth[];
}

/** The config that a gateway uses, as its files had it when they were without errors. */
export interface ConfigResult {
  readonly naming?: string;
  readonly servers: readonly ServerConfig[];
}

export interface DriversResult {
  readonly reports: readonly DriverReport[];
}

export interface SandboxResult {
  readonly plans: readonly LaunchPlan[];
  /** Denials among the last events that nobody has granted since, the newest first. */
  readonly denied: readonly DenialEvent[];
}

export interface ApprovalsResult {
  readonly waiting: readonly ShownApproval[];
}

/** A decision about a waiting call. */
export interface DecideParams extends Omit<Verdict, "approve"> {
  readonly decision: "approve" | "deny";
}

export const METHODS = {
  hello: "hello",
  snapshot: "snapshot",
  config: "config",
  request: "request",
  pins: "pins",
  drivers: "drivers",
  events: "events",
  serverLogs: "serverLogs",
  restart: "restart",
  stopServer: "stopServer",
  consoleLink: "consoleLink",
  sandbox: "sandbox",
  approvals: "approvals",
  decide: "decide",
  logs: "logs",
  client: "client",
  reload: "reload",
  stop: "stop",
} as const;
