// Upstream: the interface of one live MCP server, with the types of a call. Everything that answers MCP implements it.

import type { PortolanError } from "../errors/index.ts";
import type {
  Era,
  Implementation,
  JsonObject,
  LogLevel,
  LogMessage,
  Progress,
  RequestId,
  ServerCapabilities,
} from "../model/index.ts";
import type { Observation } from "../telemetry/index.ts";
import type { TransportName } from "./transports/transport.ts";

/** The client on whose behalf a request is made. It travels with the call; the connection remembers nothing of it. */
export interface Caller {
  /** Identifies the client. A log message about several calls reaches the client only when all of them are its own. */
  readonly id?: string;
  /** The account of the client. Scarce resources are shared by account. */
  readonly account?: string;
  readonly clientInfo: Implementation;
  readonly capabilities: JsonObject;
  /** The era of the client. A server that supports both is called in this one; by default in the preferred one. */
  readonly era?: Era;
  /** Aborted when the client has disconnected, so that its sessions can be closed. */
  readonly ended?: AbortSignal;
  readonly logLevel?: LogLevel;
  /** Headers of the client's request, without credentials. */
  readonly headers?: Readonly<Record<string, string | string[] | undefined>>;
  /** The scopes of the client's token; undefined when there is no token. */
  readonly scopes?: readonly string[];
}

/** A request that a server sends to its client during a call: elicitation, sampling or roots. */
export interface ServerRequest {
  /** The server's id: of its request, or the key among several input requests. */
  readonly id: RequestId;
  readonly method: string;
  readonly params: JsonObject;
  readonly signal: AbortSignal;
  /** The name of the server; absent for requests of Portolan itself. */
  readonly server?: string;
  /** True when the transport showed which call the request belongs to. */
  readonly related?: boolean;
}

/** Answers a server request. Undefined declines it. */
export type ServerRequestHandler = (request: ServerRequest) => Promise<JsonObject | undefined>;

export interface Call {
  readonly method: string;
  readonly params?: JsonObject;
  readonly caller?: Caller;
  readonly signal?: AbortSignal;
  /** The call fails when neither a response nor progress arrives for this long; 0 means no limit. */
  readonly timeoutMs?: number;
  readonly maxTimeoutMs?: number;
  readonly onProgress?: (progress: Progress) => void;
  /** Receives log messages that belong to this call; the others are `log` events. */
  readonly onLog?: (message: LogMessage) => void;
  /** Receives the notifications on the subscription stream that this call opens. */
  readonly onNotification?: (method: string, params: JsonObject) => void;
  readonly onServerRequest?: ServerRequestHandler;
  /** Called when a URL elicitation of this call is complete, also after the call has ended. */
  readonly onElicitationComplete?: (elicitationId: string) => void;
  /** True when the called tool is known to send no server requests. */
  readonly noServerRequests?: boolean;
  /** Called with a server request that certainly belongs to this call and was declined. */
  readonly onDeclined?: (request: Pick<ServerRequest, "method" | "params">) => void;
  /** The caller accepts an `input_required` result. */
  readonly passInputRequired?: boolean;
  /** Running the call twice does no harm, so it may be repeated after a crash. */
  readonly repeatable?: boolean;
  /**
   * Called with the cost units of each attempt of a contract, as its driver declares them. A returned refusal is the reason not to
   * make the attempt.
   */
  readonly charge?: (
    units: number | undefined,
  ) => { readonly message: string; readonly retryAfterMs: number | undefined } | undefined;
  /** Called now and then while the call waits for a person, so that a client without progress does not time out. */
  readonly onWaiting?: () => void;
  /** True when a person approved this call. */
  readonly approved?: boolean;
  /** Observes the call on its way; absent if nobody is interested. */
  readonly observation?: Observation;
  /** False when the caller decides itself about repeating: the call is then not repeated after 429 or a lost connection. */
  readonly repeats?: boolean;
}

export interface Description {
  readonly info: Implementation | undefined;
  readonly era: Era;
  readonly revision: string;
  readonly transport: TransportName;
  readonly capabilities: ServerCapabilities;
  readonly instructions: string | undefined;
}

export type UpstreamState = "ready" | "reconnecting" | "failed" | "closed";

export interface UpstreamEvents {
  toolsChanged: [];
  promptsChanged: [];
  resourcesChanged: [];
  resourceUpdated: [uri: string];
  log: [message: LogMessage];
  /** With the reason, when a connection was lost. */
  stateChanged: [state: UpstreamState, reason?: PortolanError];
}

/** One live MCP server. */
export interface Upstream extends AsyncDisposable {
  readonly name: string;
  describe(): Description;
  /** Sends any request. The result is relayed JSON with unknown fields kept. */
  request(call: Call): Promise<JsonObject>;
  /** Sends a notification, for instance that the client's roots changed. Modern servers get none. */
  notify(method: string, params?: JsonObject): void;
  /** Enables `resourceUpdated` events for a URI, across reconnections, until the returned function is called. */
  subscribe(uri: string): Promise<() => Promise<void>>;
  /** The most verbose log level wanted from this server. */
  setLogLevel(level: LogLevel): Promise<void>;
  on<E extends keyof UpstreamEvents>(event: E, listener: (...args: UpstreamEvents[E]) => void): () => void;
  stats(): UpstreamStats;
  close(): Promise<void>;
}

/** Counters of a connection since it was opened. */
export interface UpstreamStats {
  readonly inFlight: number;
  /** Responses that arrived after their request was abandoned. */
  readonly lateAnswers: number;
  /** Responses without a request. */
  readonly unknownAnswers: number;
  readonly noise: number;
  /** Server requests that were declined. */
  readonly declined: number;
  /** Declined server requests that could have belonged to several calls. */
  readonly ambiguous?: number;
  readonly restarts: number;
  readonly eraProbes: number;
}

export const NO_STATS: UpstreamStats = {
  inFlight: 0,
  lateAnswers: 0,
  unknownAnswers: 0,
  noise: 0,
  declined: 0,
  ambiguous: 0,
  restarts: 0,
  eraProbes: 0,
};
