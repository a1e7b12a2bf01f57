// Types of access control: the authenticated caller, the tools it may see, its limits, and the refusal of a request.

import type { IncomingHttpHeaders } from "node:http";
import type { ErrorCode } from "../../errors/index.ts";
import type { ToolAnnotations } from "../../model/index.ts";
import type { Secret } from "../../secrets/index.ts";

/** The authenticated party of a request. */
export interface AuthenticatedCaller {
  /** Stable name; sessions, suspended calls and task ids are bound to it. */
  readonly name: string;
  /** Undefined: the caller sees every tool. */
  readonly toolFilter: ToolFilter | undefined;
  readonly limits: CallerLimits;
  /** The scopes of an OAuth token; undefined for tokens without scopes. */
  readonly scopes?: readonly string[];
  /** The OAuth token itself, for servers whose config asks for its exchange. It is never forwarded. */
  readonly subject?: Secret;
  /** Changes with the credentials, the rules and the limits of the caller. */
  readonly fingerprint: string;
}

export interface FilteredTool {
  /** The name that clients of the gateway see. */
  readonly name: string;
  readonly alias: string;
  /** The name that the server gave the tool. */
  readonly own: string;
  readonly tags: readonly string[];
  /** Tags that depend on the driver that serves the tool: `deny` rules match them, `allow` rules do not. */
  readonly possibleTags?: readonly string[];
  readonly annotations: ToolAnnotations | undefined;
}

export interface FilteredServer {
  readonly alias: string;
  readonly tags: readonly string[];
  readonly possibleTags?: readonly string[];
}

export interface ToolFilter {
  /** Equal for filters with the same rules. */
  readonly key: string;
  admits(tool: FilteredTool): boolean;
  /** The rule that refuses a tool, such as `deny.tools: files.write_*`; undefined if it is admitted. */
  refusalOf(tool: FilteredTool): string | undefined;
  /** The rule about servers and tags that refuses a server; undefined if it is admitted. */
  refusalOfServer(server: FilteredServer): string | undefined;
  /** For prompts and resources: applies only the rules about servers and tags. */
  admitsServer(server: FilteredServer): boolean;
  /** True if the filter also has rules about the tools of a server. */
  readonly limitsTools: boolean;
}

/** The limits of one caller. A refused request uses up nothing. */
export interface CallerLimits {
  /** Counts messages towards the rate: all of them, or none. */
  countMessages(messages?: number): Refusal | undefined;
  /** A server request was sent to the caller: its answer is accepted even when the rate is used up. */
  expectAnswer(): void;
  /** Counts running requests: all of them, or none. */
  startRequests(requests?: number): Refusal | undefined;
  endRequests(requests?: number): void;
  /** Counts bytes of messages from their arrival until the messages are handled. */
  reserveBytes(bytes: number): Refusal | undefined;
  releaseBytes(bytes: number): void;
}

export interface Refusal {
  readonly status: number;
  readonly headers: Record<string, string>;
  readonly error: { readonly code: ErrorCode; readonly message: string; readonly hint?: string };
}

export type AuthResult = { readonly caller: AuthenticatedCaller } | { readonly refusal: Refusal };

/** The parts of an HTTP request that access control reads. */
export interface RequestHead {
  readonly method?: string;
  readonly headers: IncomingHttpHeaders;
}

export interface AccessControl {
  /** Checks Host and Origin. It must be called first, before any other part of the request is used. */
  checkHost(request: RequestHead): Refusal | undefined;
  /**
   * Finds the caller. Returns a promise only for an OAuth token that must be verified. `path` is the path of the request below
   * that of the gateway: a token may be made for this path only.
   */
  authenticate(request: RequestHead, path?: string): AuthResult | Promise<AuthResult>;
  /** False when the caller does not exist any more, or with other credentials, rules or limits. */
  isCurrent(caller: AuthenticatedCaller): boolean;
  /** CORS headers for an allowed Origin, also for OPTIONS requests, which carry no token. Undefined without an Origin. */
  cors(request: RequestHead): Record<string, string> | undefined;
  /** The protected resource metadata of RFC 9728; undefined without OAuth, or at another path. */
  resourceMetadata(path: string): object | undefined;
}
