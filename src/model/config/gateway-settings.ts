// Gateway settings of a workspace: address, access and limits, as plain data. Absent fields have the defaults below.

export interface GatewaySettings {
  readonly host?: string | undefined;
  /** Port 0 chooses a free port. */
  readonly port?: number | undefined;
  /** Accepted Host headers: `name`, `name:port`, `*.name`. */
  readonly allowedHosts?: readonly string[] | undefined;
  /** Origins of web pages that may use the gateway, as `https://name[:port]`. */
  readonly allowedOrigins?: readonly string[] | undefined;
  readonly tls?: GatewayTls | undefined;
  /** `none` accepts every client that can reach the gateway. */
  readonly auth?: "token" | "none" | undefined;
  readonly oauth?: GatewayOAuth | undefined;
  readonly callers?: readonly GatewayCaller[] | undefined;
  readonly limits?: GatewayLimits | undefined;
  readonly transports?: GatewayTransports | undefined;
  /** Number of entries in one page of a list. */
  readonly pageSize?: number | undefined;
  /** Largest result that is passed on whole; 0 means no limit. A server config may override it. */
  readonly maxResultBytes?: number | undefined;
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
  readonly audience?: string | undefined;
  /** URL of the issuer's keys. The default comes from the issuer's metadata. */
  readonly jwksUrl?: string | undefined;
  /** Scopes that every token needs. */
  readonly scopes?: readonly string[] | undefined;
  /** URL under which clients reach the gateway, if it differs from the address it listens at. */
  readonly resource?: string | undefined;
}

export interface GatewayCaller {
  readonly name: string;
  /** The text may contain references such as `${NAME}`. */
  readonly token?: string | undefined;
  /** SHA-256 of the token in lower-case hex, instead of the token. */
  readonly tokenSha256?: string | undefined;
  /** Rule that assigns tokens of the OAuth issuer to this caller. All given fields must match; an empty rule matches every token. */
  readonly oauth?: GatewayTokenRule | undefined;
  readonly allow?: GatewayToolRules | undefined;
  readonly deny?: GatewayToolRules | undefined;
  readonly limits?: Pick<GatewayLimits, "rate" | "concurrency"> | undefined;
}

export interface GatewayTokenRule {
  readonly subject?: string | undefined;
  /** One or more scopes, separated by spaces. The token needs all of them. */
  readonly scope?: string | undefined;
  /** Required claims by name. A claim that is a list must contain the value. */
  readonly claim?: Readonly<Record<string, string>> | undefined;
}

/** Rules that select tools. In `allow` every given field must match; in `deny` one match is enough. */
export interface GatewayToolRules {
  /** Patterns with `*` for tool names at the gateway, or for `alias.tool`. */
  readonly tools?: readonly string[] | undefined;
  readonly servers?: readonly string[] | undefined;
  readonly tags?: readonly string[] | undefined;
  readonly annotations?: readonly ToolTrait[] | undefined;
}

/** Annotation of a tool by its server; `not-` negates it. */
export type ToolTrait = `${"" | "not-"}${"read-only" | "destructive" | "idempotent" | "open-world"}`;

export interface GatewayRate {
  readonly perSecond: number;
  /** Number of requests that may arrive at once after a pause. */
  readonly burst: number;
}

/** `rate` and `concurrency` apply to each caller without its own limits. Absent limits are unlimited. */
export interface GatewayLimits {
  readonly rate?: GatewayRate | undefined;
  /** Number of concurrent requests of one caller. */
  readonly concurrency?: number | undefined;
  readonly bodyBytes?: number | undefined;
  /** Number of sessions of all legacy clients together. */
  readonly sessions?: number | undefined;
  readonly sessionIdleMs?: number | undefined;
  /** Number of calls of one caller that wait for the response to a server request. */
  readonly parked?: number | undefined;
  readonly parkedForMs?: number | undefined;
}

/** Older transports, beside Streamable HTTP. */
export interface GatewayTransports {
  readonly sse?: boolean | undefined;
  readonly websocket?: boolean | undefined;
}

export const GATEWAY_DEFAULTS: {
  readonly host: string;
  readonly port: number;
  readonly bodyBytes: number;
  readonly sessions: number;
  readonly sessionIdleMs: number;
  readonly parked: number;
  readonly parkedForMs: number;
  readonly pageSize: number;
  readonly maxResultBytes: number;
  /** Number of dedicated processes of a server that sends server requests. */
  readonly lanes: number;
} = {
  host: "127.0.0.1",
  port: 7420,
  bodyBytes: 4 * 1024 * 1024,
  sessions: 1_000,
  sessionIdleMs: 30 * 60_000,
  parked: 1_000,
  parkedForMs: 10 * 60_000,
  pageSize: 1_000,
  maxResultBytes: 1024 * 1024,
  lanes: 15,
};
