// The options and settings of `openGateway()`, as tables of their kinds. A misspelt setting would leave the gateway less restricted.

import { checkOptions, OPTION_KINDS, type OptionTable, PortolanError } from "../errors/index.ts";
import { WORKSPACE_OPTIONS } from "../hub/index.ts";
import {
  type ApprovalRule,
  type AuditSettings,
  type BudgetAmount,
  type GatewayBudget,
  type GatewayCaller,
  type GatewayLimits,
  type GatewayLoops,
  type GatewayOAuth,
  type GatewayRate,
  type GatewaySettings,
  type GatewayTls,
  type GatewayTokenRule,
  type GatewayToolRules,
  type GatewayTransports,
  LOG_FORMATS,
  type PrometheusSettings,
  type TelemetrySettings,
  TOOL_TRAITS,
} from "../model/index.ts";
import type { GatewayOptions } from "./gateway.ts";

const { callback, either, fields, flag, list, map, milliseconds, number, object, oneOf, text, texts } =
  OPTION_KINDS;

const rate = fields<GatewayRate>({ perSecond: number, burst: number });
const amount = fields<BudgetAmount>({ amount: number, periodMs: milliseconds });
const TOOL_RULES: OptionTable<GatewayToolRules> = {
  tools: texts,
  servers: texts,
  tags: texts,
  annotations: list(oneOf(...TOOL_TRAITS)),
};

const SETTINGS: OptionTable<GatewaySettings> = {
  host: text,
  port: number,
  allowedHosts: texts,
  allowedOrigins: texts,
  tls: fields<GatewayTls>({ cert: text, key: text }),
  auth: oneOf("token", "none"),
  publicUrl: text,
  console: oneOf("local", "off", "all"),
  logFormat: oneOf(...LOG_FORMATS),
  oauth: fields<GatewayOAuth>({
    issuer: text,
    audience: text,
    jwksUrl: text,
    scopes: texts,
    resource: text,
    clientId: text,
    clientSecret: text,
  }),
  callers: list(
    fields<GatewayCaller>({
      name: text,
      token: either(text, texts),
      tokenSha256: either(text, texts),
      oauth: fields<GatewayTokenRule>({ subject: text, scope: text, claim: map(text) }),
      allow: fields(TOOL_RULES),
      deny: fields(TOOL_RULES),
      limits: fields<Pick<GatewayLimits, "rate" | "concurrency">>({ rate, concurrency: number }),
    }),
  ),
  approval: list(
    fields<ApprovalRule>({
      ...TOOL_RULES,
      contract: flag,
      callers: texts,
      by: list(oneOf("console", "terminal", "caller", "program")),
      forMs: milliseconds,
      timeoutMs: milliseconds,
      reason: text,
    }),
  ),
  limits: fields<GatewayLimits>({
    rate,
    concurrency: number,
    bodyBytes: number,
    sessions: number,
    sessionIdleMs: milliseconds,
    suspended: number,
    suspendedForMs: milliseconds,
  }),
  budgets: map(
    fields<GatewayBudget>({
      callers: texts,
      tools: texts,
      calls: amount,
      cost: amount,
      unitsPerCall: number,
    }),
  ),
  loops: fields<GatewayLoops>({ identical: number, withinMs: milliseconds, except: texts }),
  transports: fields<GatewayTransports>({ sse: flag, websocket: flag }),
  pageSize: number,
  maxResultBytes: number,
  telemetry: fields<TelemetrySettings>({
    endpoint: text,
    protocol: oneOf("http/protobuf", "http/json"),
    headers: map(text),
    traces: flag,
    metrics: flag,
    sample: number,
    serviceName: text,
    arguments: flag,
    results: flag,
    prometheus: fields<PrometheusSettings>({ auth: oneOf("token", "none"), callers: texts }),
  }),
  audit: fields<AuditSettings>({ folder: text, anchors: text, maxBytes: number, keep: number }),
};

const { handlers: _handlers, ...OF_WORKSPACE } = WORKSPACE_OPTIONS;

const GATEWAY_OPTIONS: OptionTable<GatewayOptions> = {
  ...OF_WORKSPACE,
  settings: either(callback, fields(SETTINGS)),
  access: fields<NonNullable<GatewayOptions["access"]>>({ token: text, key: object, file: text }),
  approve: callback,
  path: text,
  http: flag,
  bare: flag,
};

/** Checks the options that a program passes. The settings that a function of it makes are checked when they are made. */
export function checkGatewayOptions(options: GatewayOptions = {}): GatewayOptions {
  checkOptions("the options of openGateway()", options, GATEWAY_OPTIONS);
  const { settings } = options;
  if (typeof settings !== "function") return options;
  return {
    ...options,
    settings: (configured) => {
      const made = settings(configured);
      checkOptions("the settings of openGateway()", made, SETTINGS);
      return made;
    },
  };
}

/** The path before all routes of an embedded gateway. Throws CONFIG_INVALID for one that cannot be used. */
export function checkPath(path: string): string {
  if (path === "" || /^(?:\/[\w.~-]+)+$/.test(path)) return path;
  throw new PortolanError("CONFIG_INVALID", `the path ${JSON.stringify(path)} of the gateway is not valid`, {
    hint: 'Use a path such as /tools. It begins with "/", does not end with "/", and contains only letters, digits, _ . ~ and -.',
  });
}

/** Without a token, callers or OAuth, every request would be refused. */
export function checkReachable(
  { auth, oauth, callers = [] }: GatewaySettings,
  token: string | undefined,
): void {
  if (token !== undefined || auth === "none" || oauth !== undefined || callers.length > 0) return;
  throw new PortolanError(
    "CONFIG_INVALID",
    "no HTTP client can use this gateway: it has no token, callers or OAuth",
    {
      hint: 'Pass access: { token } to openGateway(), or settings with callers, oauth, or auth: "none". If the gateway serves only stdio, pass http: false.',
    },
  );
}
