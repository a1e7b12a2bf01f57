// What the door decides about a request: who makes it, what they may see, how much they may ask for, or why they may not come in.

import type { IncomingMessage } from "node:http";
import type { ErrorCode } from "../../errors/index.ts";
import type { ToolAnnotations } from "../../model/index.ts";

export interface Principal {
  /** Stable: sessions and parked calls are bound to it. */
  readonly name: string;
  /** Nothing: everything. */
  readonly view: ToolView | undefined;
  readonly gate: Gate;
  /** What the token allows; nothing where tokens say nothing about that. */
  readonly scopes?: readonly string[] | undefined;
}

export interface ViewedTool {
  /** The name that the gateway offers. */
  readonly name: string;
  readonly alias: string;
  /** The server's own name for it. */
  readonly own: string;
  readonly tags: readonly string[];
  /** Those that it may have, too, depending on who serves it: enough to be denied, not to be allowed. */
  readonly possibleTags?: readonly string[] | undefined;
  readonly annotations: ToolAnnotations | undefined;
}

export interface ViewedServer {
  readonly alias: string;
  readonly tags: readonly string[];
  readonly possibleTags?: readonly string[] | undefined;
}

export interface ToolView {
  /** Equal for views that admit the same. */
  readonly key: string;
  admits(tool: ViewedTool): boolean;
  /** For prompts and resources: only what is said about servers and tags. */
  admitsServer(server: ViewedServer): boolean;
  /** It also chooses among the tools of a server. */
  readonly limitsTools: boolean;
}

/** The limits of one caller. A refused caller has used up nothing. */
export interface Gate {
  /** Counts messages towards the rate: all of them, or none. */
  count(messages?: number): Refusal | undefined;
  /** The caller was sent a server request: its answer may come even when the rate is used up. */
  expectAnswer(): void;
  /** Requests begin to run: all of them, or none. */
  enter(requests?: number): Refusal | undefined;
  leave(requests?: number): void;
  /** Bytes of messages arrive. They count until the messages are dealt with. */
  hold(bytes: number): Refusal | undefined;
  release(bytes: number): void;
}

export interface Refusal {
  readonly status: number;
  readonly headers: Record<string, string>;
  readonly error: { readonly code: ErrorCode; readonly message: string; readonly hint?: string };
}

export type Admission = { readonly principal: Principal } | { readonly refusal: Refusal };

export interface Door {
  /** Host and Origin: to be asked first, before anything else of the request is looked at. */
  greets(request: IncomingMessage): Refusal | undefined;
  /** Who it is. At once for tokens that are known, a promise only for a token of an issuer that must be checked. */
  admit(request: IncomingMessage): Admission | Promise<Admission>;
  /** What a browser wants to hear about an allowed Origin, also in answer to OPTIONS, which carries no token. Nothing without Origin. */
  cors(request: IncomingMessage): Record<string, string> | undefined;
  /** The document of RFC 9728 at `/.well-known/oauth-protected-resource[/path]`; nothing without OAuth, or at another path. */
  resourceMetadata(path: string): object | undefined;
}
