// What a workspace says about its gateway: where it listens, who may use it and how much of it. Plain data; what is absent has its default.

export interface GatewaySettings {
  readonly host?: string | undefined;
  /** 0 is any free port. */
  readonly port?: number | undefined;
  /** What a Host header may say: `name`, `name:port`, `*.name`. */
  readonly allowedHosts?: readonly string[] | undefined;
  /** Web pages that may use the gateway, as `https://name[:port]`. */
  readonly allowedOrigins?: readonly string[] | undefined;
  readonly tls?: GatewayTls | undefined;
  /** `none` lets in everyone who can reach the gateway. */
  readonly auth?: "token" | "none" | undefined;
  readonly oauth?: GatewayOAuth | undefined;
  readonly callers?: readonly GatewayCaller[] | undefined;
  readonly limits?: GatewayLimits | undefined;
  readonly transports?: GatewayTransports | undefined;
  /** How many entries one page of a list has. */
  readonly pageSize?: number | undefined;
  /** The largest result that is passed on whole; 0 is any. A server may say its own. */
  readonly maxResultBytes?: number | undefined;
}

/** Files in PEM; absolute once they are in a catalog. */
export interface GatewayTls {
  readonly cert: string;
  readonly key: string;
}

/** Whose tokens are taken beside the gateway's own. */
export interface GatewayOAuth {
  readonly issuer: string;
  /** Whom a token must be made for; absent, the gateway's own URL. */
  readonly audience?: string | undefined;
  /** Where the issuer's keys are; absent, what its metadata says. */
  readonly jwksUrl?: string | undefined;
  /** Scopes that every token must have. */
  readonly scopes?: readonly string[] | undefined;
  /** The URL under which clients reach the gateway, when it is not the one that it listens at. */
  readonly resource?: string | undefined;
}

export interface GatewayCaller {
  readonly name: string;
  /** May hold references such as `${NAME}`. */
  readonly token?: string | undefined;
  /** In place of the token: its SHA-256, in lower-case hex. */
  readonly tokenSha256?: string | undefined;
  /** Which tokens of the OAuth issuer are this caller's; all that is given must hold, and nothing given is any token. */
  readonly oauth?: GatewayTokenRule | undefined;
  readonly allow?: GatewayToolRules | undefined;
  readonly deny?: GatewayToolRules | undefined;
  readonly limits?: Pick<GatewayLimits, "rate" | "concurrency"> | undefined;
}

export interface GatewayTokenRule {
  readonly subject?: string | undefined;
  /** One scope, or several with spaces between them: the token has them all. */
  readonly scope?: string | undefined;
  /** Claims by name; one that is a list must hold the value. */
  readonly claim?: Readonly<Record<string, string>> | undefined;
}

/** Which tools are meant. In `allow` every kind that is given must match, in `deny` one match is enough. */
export interface GatewayToolRules {
  /** Patterns with `*` for the names that the gateway offers, or for `alias.tool`. */
  readonly tools?: readonly string[] | undefined;
  readonly servers?: readonly string[] | undefined;
  readonly tags?: readonly string[] | undefined;
  readonly annotations?: readonly ToolTrait[] | undefined;
}

/** What a server claims about a tool; `not-` turns it around. */
export type ToolTrait = `${"" | "not-"}${"read-only" | "destructive" | "idempotent" | "open-world"}`;

export interface GatewayRate {
  readonly perSecond: number;
  /** How many may come at once after a silence. */
  readonly burst: number;
}

/** `rate` and `concurrency` hold for each caller that says nothing itself; absent, there is no such limit. */
export interface GatewayLimits {
  readonly rate?: GatewayRate | undefined;
  /** Requests of one caller at the same time. */
  readonly concurrency?: number | undefined;
  readonly bodyBytes?: number | undefined;
  /** Sessions of legacy clients, all together. */
  readonly sessions?: number | undefined;
  readonly sessionIdleMs?: number | undefined;
  /** Calls of one caller that wait for the answer to a question. */
  readonly parked?: number | undefined;
  readonly parkedForMs?: number | undefined;
}

/** Older ways to reach the gateway, beside Streamable HTTP. */
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
  /** How many more processes of a server that asks questions may run at once. */
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
