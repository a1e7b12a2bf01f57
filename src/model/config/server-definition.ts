// A server definition: how one server is reached and how much patience it gets. Plain data, free of any declaration format.

import type { Contract, ContractPolicy, DeclaredDriver, SecretEntry } from "./contract.ts";
import type { InvokedServer } from "./invoked-server.ts";
import type { LaunchSettings } from "../sandbox/sandbox.ts";

export interface StdioEndpoint {
  readonly transport: "stdio";
  readonly command: string;
  readonly args?: readonly string[] | undefined;
  /** Added to a minimal environment; the rest of this process's environment stays here. */
  readonly env?: Readonly<Record<string, string>> | undefined;
  readonly cwd?: string | undefined;
}

/** A local program that is spoken to over HTTP: started first, and gone with the connection. */
export interface HttpProgram extends Omit<StdioEndpoint, "transport"> {
  /** The port that it serves inside of its container; the one on this machine is chosen when it starts. */
  readonly port: number;
}

export interface UrlEndpoint {
  /** `http` is Streamable HTTP, with the fallback to HTTP+SSE that the specification describes. */
  readonly transport: "http" | "sse" | "websocket";
  readonly url: string;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** What serves that address; the address's port is filled in when it runs. */
  readonly program?: HttpProgram | undefined;
}

/** Where a server is reached that speaks MCP itself. */
export type Endpoint = StdioEndpoint | UrlEndpoint;

/** A server that is not elsewhere: what it has is carried out by this program. */
export interface InvokeEndpoint {
  readonly transport: "invoke";
  readonly server: InvokedServer;
}

/** Not one server: the contracts of a workspace, served by whichever of its drivers is right for the call. */
export interface ContractsEndpoint {
  readonly transport: "contracts";
  readonly contracts: readonly Contract[];
  readonly drivers: readonly DeclaredDriver[];
  readonly secrets: readonly SecretEntry[];
  readonly policy: ContractPolicy;
  /** What paths of contracts are relative to. */
  readonly root: string;
}

export type DeclaredEndpoint = Endpoint | InvokeEndpoint | ContractsEndpoint;

/** How the protocol era is found: by asking the server, or fixed. */
export type EraPin = "auto" | "legacy" | "modern";

export interface Limits {
  /** From start to the end of negotiation. */
  readonly startTimeoutMs: number;
  /** A request without answer or progress for this long fails. */
  readonly requestTimeoutMs: number;
  /** A request fails after this long, whatever progress it reports. */
  readonly maxRequestMs: number;
  /** How long a stdio or WebSocket server may leave the era probe unanswered before it is also greeted the legacy way. */
  readonly probeTimeoutMs: number;
  /** Largest message accepted from the server, in bytes. */
  readonly maxMessageBytes: number;
  /** Bytes that may wait for a server that does not read. */
  readonly maxQueuedBytes: number;
  /** Rounds of questions that one modern request may need. */
  readonly maxInputRounds: number;
  /** Pages followed in one list. */
  readonly maxPages: number;
}

export const DEFAULT_LIMITS: Limits = {
  startTimeoutMs: 60_000,
  requestTimeoutMs: 60_000,
  maxRequestMs: 3_600_000,
  probeTimeoutMs: 3_000,
  maxMessageBytes: 10 * 1024 * 1024,
  maxQueuedBytes: 16 * 1024 * 1024,
  maxInputRounds: 10,
  maxPages: 1_000,
};

export interface ServerDefinition {
  /** What errors, logs and listings call this server. */
  readonly name: string;
  readonly endpoint: Endpoint;
  readonly era: EraPin;
  /** The revision that is offered first; by default the newest of the era. */
  readonly revision?: string | undefined;
  readonly limits: Limits;
  /** How a local program is brought here and boxed; the default profile when absent. */
  readonly launch?: LaunchSettings | undefined;
  /** Folders that the caller grants, as absolute paths. */
  readonly roots?: readonly string[] | undefined;
}

/** Where a declaration says something. Lines and columns count from 1. */
export interface Origin {
  readonly file: string;
  readonly line: number;
  readonly column: number;
  /** The kind of declaration, such as "manifest" or "claude-code". */
  readonly format: string;
}

/** Which resources of a server are read before a turn, and how much of them. */
export interface ContextRule {
  /** A resource URI, or a pattern with `*`. */
  readonly uri: string;
  readonly maxBytes: number;
}

/** A server as a declaration gives it. Strings of the endpoint may hold references such as `${NAME}`, which are resolved when it starts. */
export interface DeclaredServer {
  /** Unique in a workspace: the prefix of its tools, and its name in logs. */
  readonly alias: string;
  readonly origin: Origin;
  readonly endpoint: DeclaredEndpoint;
  readonly enabled: boolean;
  readonly era?: EraPin | undefined;
  readonly limits?: Partial<Limits> | undefined;
  /** Eager servers start with the workspace, lazy ones with the first call. */
  readonly start?: "eager" | "lazy" | undefined;
  /** A server that nobody used for this long is stopped. */
  readonly idleStopMs?: number | undefined;
  /** Tools to offer, by the server's own names; patterns with `*`. Blocked ones are left out even when allowed. */
  readonly allowTools?: readonly string[] | undefined;
  readonly blockTools?: readonly string[] | undefined;
  /** Put `[MCP: alias]` (or this text) before descriptions. */
  readonly descriptionPrefix?: boolean | string | undefined;
  /** Offer the server's resources as tools. */
  readonly resourceTools?: boolean | undefined;
  /** Offer the server's prompts as tools. */
  readonly promptTools?: boolean | undefined;
  readonly context?: readonly ContextRule[] | undefined;
  readonly tags?: readonly string[] | undefined;
  /** At the gateway: the largest result that is passed on whole; 0 is any. */
  readonly maxResultBytes?: number | undefined;
  /** At the gateway: how many more processes of it may run at once, when it asks questions. */
  readonly lanes?: number | undefined;
  /** How its program is brought here and boxed. */
  readonly launch?: LaunchSettings | undefined;
}
