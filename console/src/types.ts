// Types that the page shares with the gateway.

export type { DriverReport } from "../../src/contracts/index.ts";
export type { GatewayFacts, SandboxResult } from "../../src/control/index.ts";
export type { ShownApproval } from "../../src/gateway/index.ts";
export type { HubEvent, ServerHealth, ServerPins } from "../../src/hub/index.ts";
export type { LaunchPlan } from "../../src/launch/index.ts";
export type { CallRecord } from "../../src/telemetry/index.ts";
export type { OpenedApp } from "../../src/console/apps/apps.ts";
export type { BudgetUse } from "../../src/gateway/index.ts";
export type { TokenReport } from "../../src/cli/tokens/report.ts";
export type { SeriesPoint, ToolSummary } from "../../src/console/series.ts";

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
export interface JsonMap {
  [key: string]: Json;
}

/** A JSON Schema of a stranger: nothing about it is certain. */
export interface Schema {
  readonly type?: string | readonly string[];
  readonly title?: string;
  readonly description?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly items?: Schema;
  readonly enum?: readonly Json[];
  readonly enumNames?: readonly string[];
  readonly const?: Json;
  readonly oneOf?: readonly Schema[];
  readonly anyOf?: readonly Schema[];
  readonly default?: Json;
  readonly format?: string;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly contentEncoding?: string;
}

export interface Tool {
  readonly name: string;
  readonly title?: string;
  readonly description?: string;
  readonly inputSchema?: Schema;
  readonly outputSchema?: Schema;
  readonly annotations?: {
    readonly title?: string;
    readonly readOnlyHint?: boolean;
    readonly destructiveHint?: boolean;
    readonly idempotentHint?: boolean;
    readonly openWorldHint?: boolean;
  };
  readonly _meta?: JsonMap;
}

export interface Resource {
  readonly uri: string;
  readonly name: string;
  readonly title?: string;
  readonly description?: string;
  readonly mimeType?: string;
  readonly size?: number;
}

export interface ResourceTemplate extends Omit<Resource, "uri"> {
  readonly uriTemplate: string;
}

export interface Prompt {
  readonly name: string;
  readonly title?: string;
  readonly description?: string;
  readonly arguments?: readonly {
    readonly name: string;
    readonly description?: string;
    readonly required?: boolean;
  }[];
}

export interface ResourceContents {
  readonly uri: string;
  readonly mimeType?: string;
  readonly text?: string;
  readonly blob?: string;
}

export interface Content {
  readonly type: string;
  readonly text?: string;
  readonly data?: string;
  readonly mimeType?: string;
  readonly uri?: string;
  readonly name?: string;
  readonly title?: string;
  readonly description?: string;
  readonly resource?: ResourceContents;
}

export interface ToolResult {
  readonly content?: readonly Content[];
  readonly structuredContent?: Json;
  readonly isError?: boolean;
}

/** The login of the owner at a server behind OAuth. */
export interface Account {
  readonly server: string;
  readonly state: "logged in" | "expired" | "logged out";
  readonly as?: string;
  readonly issuer: string;
  readonly expiresAt?: string;
  /** True if the gateway obtains a new token then. */
  readonly renewed: boolean;
  /** The command for a login, if one is needed. */
  readonly command?: string;
}

/** An error as the API sends it. */
export interface Problem {
  readonly code: string;
  readonly message: string;
  readonly hint?: string;
}
