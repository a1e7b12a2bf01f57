// A server definition: how one server is reached and how much patience it gets. Plain data, free of any declaration format.

export interface StdioEndpoint {
  readonly transport: "stdio";
  readonly command: string;
  readonly args?: readonly string[] | undefined;
  /** Added to a minimal environment; the rest of this process's environment stays here. */
  readonly env?: Readonly<Record<string, string>> | undefined;
  readonly cwd?: string | undefined;
}

export interface UrlEndpoint {
  /** `http` is Streamable HTTP, with the fallback to HTTP+SSE that the specification describes. */
  readonly transport: "http" | "sse" | "websocket";
  readonly url: string;
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

export type Endpoint = StdioEndpoint | UrlEndpoint;

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
  readonly limits: Limits;
}
