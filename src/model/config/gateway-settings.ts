// Gateway settings of a workspace: address, access and limits, as plain data. Absent fields have the defaults below.

import type { JsonObject } from "../json/json.ts";
import { APPS_CAPABILITY } from "../protocol/apps.ts";
import type { AuditSettings, TelemetrySettings } from "./telemetry-settings.ts";

export const LOG_FORMATS = ["pretty", "text", "json"] as const;
export type LogFormat = (typeof LOG_FORMATS)[number];

export interface GatewaySettings {
  readonly host?: string;
  /** Port 0 chooses a free port. */
  readonly port?: number;
  /** Accepted Host headers: `name`, `name:port`, `*.name`. */
  readonly allowedHosts?: readonly string[];
  /** Origins of web pages that may use the gateway, as `https://name[:port]`. */
  readonly allowedOrigins?: readonly string[];
  readonly tls?: GatewayTls;
  /** `none` accepts every client that can reach the gateway. */
  readonly auth?: "token" | "none";
  /** URL under which browsers reach the gateway, before `/mcp`, if it differs from the address it listens at. */
  readonly publicUrl?: string;
  /** The browsers that reach the console: those of this computer (the default), none, or all that reach the gateway. */
  readonly console?: "local" | "off" | "all";
  /** The form of the log of `portolan serve`. */
  readonly logFormat?: LogFormat;
  readonly oauth?: GatewayOAuth;
  readonly callers?: readonly GatewayCaller[];
  /** Calls that wait for a person before they run. The first rule that matches a call applies. */
  readonly approval?: readonly ApprovalRule[];
  readonly limits?: GatewayLimits;
  /** Budgets of callers, by name. */
  readonly budgets?: Readonly<Record<string, GatewayBudget>>;
  readonly loops?: GatewayLoops;
  readonly transports?: GatewayTransports;
  /** Number of entries in one page of a list. */
  readonly pageSize?: number;
  /** Largest result that is passed on whole; 0 means no limit. A server config may override it. */
  readonly maxResultBytes?: number;
  /** The section `telemetry` of portolan.yaml. */
  readonly telemetry?: TelemetrySettings;
  /** The section `audit` of portolan.yaml; absent: no audit log. */
  readonly audit?: AuditSettings;
}

/** Paths of PEM files. They are absolute in a catalog. */
export interface GatewayTls {
  readonly cert: string;
  readonly key: string;
}

/** OAuth issuer whose tokens are accepted beside the gateway's own tokens. */
export interface GatewayOAuth {
  readonly issuer: string;
  /** Required audience of a token. The default is the gateway's own URL. */
  readonly audience?: string;
  /** URL of the issuer's keys. The default comes from the issuer's metadata. */
  readonly jwksUrl?: string;
  /** Scopes that every token needs. */
  readonly scopes?: readonly string[];
  /** URL under which clients reach the gateway, if it differs from the address it listens at. */
  readonly resource?: string;
  /** The gateway's own client at the issuer: with it, a browser shows who is logging in to a server. */
  readonly clientId?: string;
  readonly clientSecret?: string;
}

/** Names of callers without a config: of the gateway's own token, of stdio, and of a gateway without tokens. */
export const BUILT_IN_CALLERS: ReadonlySet<string> = new Set(["local", "stdio", "anyone"]);

export interface GatewayCaller {
  readonly name: string;
  /** One token, or several that are valid at the same time. A text may contain references such as `${NAME}`. */
  readonly token?: string | readonly string[];
  /** SHA-256 of the token or tokens in lower-case hex, instead of `token`. */
  readonly tokenSha256?: string | readonly string[];
  /** Rule that assigns tokens of the OAuth issuer to this caller. All given fields must match; an empty rule matches every token. */
  readonly oauth?: GatewayTokenRule;
  readonly allow?: GatewayToolRules;
  readonly deny?: GatewayToolRules;
  readonly limits?: Pick<GatewayLimits, "rate" | "concurrency">;
}

export interface GatewayTokenRule {
  readonly subject?: string;
  /** One or more scopes, separated by spaces. The token needs all of them. */
  readonly scope?: string;
  /** Required claims by name. A claim that is a list must contain the value. */
  readonly claim?: Readonly<Record<string, string>>;
}

/** Rules that select tools. In `allow` every given field must match; in `deny` one match is enough. */
export interface GatewayToolRules {
  /** Patterns with `*` for tool names at the gateway, or for `alias.tool`. */
  readonly tools?: readonly string[];
  readonly servers?: readonly string[];
  readonly tags?: readonly string[];
  readonly annotations?: readonly ToolTrait[];
}

/** Annotations of a tool by its server; `not-` negates them. */
export const TOOL_TRAITS = [
  "read-only",
  "not-read-only",
  "destructive",
  "not-destructive",
  "idempotent",
  "not-idempotent",
  "open-world",
  "not-open-world",
] as const;

export type ToolTrait = (typeof TOOL_TRAITS)[number];

/** Where a person decides about a call; `caller` is an elicitation that the calling client answers. */
export type ApprovalWay = "console" | "terminal" | "caller" | "program";

/** Calls that need approval: every given field must match. A rule without such fields matches every call of a tool. */
export interface ApprovalRule extends GatewayToolRules {
  /** True: only calls for which a contract, or the policy of contracts, asks for approval. */
  readonly contract?: boolean;
  /** Names of callers, with `*` for anything. Default: every caller. */
  readonly callers?: readonly string[];
  /** Default: console and terminal. */
  readonly by?: readonly ApprovalWay[];
  /** The longest time for which a person may approve repetitions of the call. Without it, an approval is for one call. */
  readonly forMs?: number;
  /** How long a call waits. */
  readonly timeoutMs?: number;
  /** The reason that the person reads. */
  readonly reason?: string;
}

export interface GatewayRate {
  readonly perSecond: number;
  /** Number of requests that may arrive at once after a pause. */
  readonly burst: number;
}

/** `rate` and `concurrency` apply to each caller without its own limits. Absent limits are unlimited. */
export interface GatewayLimits {
  readonly rate?: GatewayRate;
  /** Number of concurrent requests of one caller. */
  readonly concurrency?: number;
  readonly bodyBytes?: number;
  /** Number of sessions of all legacy clients together. */
  readonly sessions?: number;
  readonly sessionIdleMs?: number;
  /** Number of calls of one caller that wait for the response to a server request. */
  readonly suspended?: number;
  readonly suspendedForMs?: number;
}

/** How much each caller may use some tools. Every caller has an amount of its own. A call must fit into all its budgets. */
export interface GatewayBudget {
  /** Names of callers. The default is every caller. */
  readonly callers?: readonly string[];
  /** Patterns with `*` for tool names at the gateway, or for `alias.tool`. The default is every tool. */
  readonly tools?: readonly string[];
  readonly calls?: BudgetAmount;
  /** Cost units, as drivers declare them (`cost_units_per_call`). */
  readonly cost?: BudgetAmount;
  /** Cost units of a call whose driver declares none, and of tools that are no contract. The default is 0. */
  readonly unitsPerCall?: number;
}

/** An amount for a period, which begins with the first call in it. */
export interface BudgetAmount {
  readonly amount: number;
  readonly periodMs: number;
}

/** Loop breaker: refuses a call that a caller repeats with the same arguments. */
export interface GatewayLoops {
  /** How many identical calls are sent within the time. */
  readonly identical: number;
  readonly withinMs: number;
  /** Patterns of tools that may be repeated. */
  readonly except?: readonly string[];
}

/** Older transports, beside Streamable HTTP. */
export interface GatewayTransports {
  readonly sse?: boolean;
  readonly websocket?: boolean;
}

/** The default template for the names of tools in a gateway. */
export const DEFAULT_NAMING = "mcp_{alias}_{tool}";

export const GATEWAY_DEFAULTS: {
  readonly host: string;
  readonly port: number;
  readonly bodyBytes: number;
  readonly sessions: number;
  readonly sessionIdleMs: number;
  readonly suspended: number;
  readonly suspendedForMs: number;
  readonly pageSize: number;
  readonly maxResultBytes: number;
  readonly approvalTimeoutMs: number;
  /** Number of dedicated processes of a server that sends server requests. */
  readonly lanes: number;
} = {
  host: "127.0.0.1",
  port: 7420,
  bodyBytes: 4 * 1024 * 1024,
  sessions: 1_000,
  sessionIdleMs: 30 * 60_000,
  suspended: 1_000,
  suspendedForMs: 10 * 60_000,
  pageSize: 1_000,
  maxResultBytes: 1024 * 1024,
  approvalTimeoutMs: 5 * 60_000,
  lanes: 15,
};

const GATEWAY_CAPABILITIES: JsonObject = {
  elicitation: { form: {}, url: {} },
  sampling: { tools: {} },
  roots: { listChanged: true },
};

/**
 * Client capabilities that a gateway declares to every server. A server request goes to the client whose call caused it, and is
 * declined if that client does not support it. Apps are declared if the console can show them; in the modern era, each client
 * declares them for its own calls.
 */
export function gatewayCapabilities(hasConsole: boolean): JsonObject {
  return hasConsole ? { ...GATEWAY_CAPABILITIES, ...APPS_CAPABILITY } : GATEWAY_CAPABILITIES;
}
