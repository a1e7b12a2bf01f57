// The spine: what everything that answers MCP looks like to the rest of the program.

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
import type { TransportName } from "./transports/transport.ts";

/** On whose behalf a request is made. It travels with the call; nothing of it is remembered on the connection. */
export interface Caller {
  /** Tells clients apart. What a server says about several calls at once only reaches a client when all of them are its own. */
  readonly id?: string | undefined;
  /** Whose client it is: what there is little of is shared out by this. */
  readonly account?: string | undefined;
  readonly clientInfo: Implementation;
  readonly capabilities: JsonObject;
  /** The era that the client itself speaks. A server that speaks both is called in this one; without it, in the preferred one. */
  readonly era?: Era | undefined;
  /** Aborted when the client has left, so that sessions which were opened for it can be closed. */
  readonly ended?: AbortSignal | undefined;
  readonly logLevel?: LogLevel | undefined;
  /** Headers of the request that the client made, without those that let it in. */
  readonly headers?: Readonly<Record<string, string | string[] | undefined>> | undefined;
  /** What the client's token allows; undefined when there is no such notion. */
  readonly scopes?: readonly string[] | undefined;
}

/** Something a server wants to know in the middle of a call. */
export interface Question {
  /** What the server itself calls it: the id of its request, or its key among several. */
  readonly id: RequestId;
  readonly method: string;
  readonly params: JsonObject;
  readonly signal: AbortSignal;
  /** The server itself said which call it is for, by the stream on which it came. */
  readonly related?: boolean | undefined;
}

/** Answers a question with the result that the server gets, or with undefined when nobody is there to answer it. */
export type Ask = (question: Question) => Promise<JsonObject | undefined>;

export interface Call {
  readonly method: string;
  readonly params?: JsonObject | undefined;
  readonly caller?: Caller | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Fails when neither answer nor progress comes for this long; 0 waits for ever. */
  readonly timeoutMs?: number | undefined;
  readonly maxTimeoutMs?: number | undefined;
  readonly onProgress?: ((progress: Progress) => void) | undefined;
  /** Log messages that are known to be about this call; the others are `log` events. */
  readonly onLog?: ((message: LogMessage) => void) | undefined;
  /** Hears what comes on the subscription stream that this call opens. */
  readonly onNotification?: ((method: string, params: JsonObject) => void) | undefined;
  readonly ask?: Ask | undefined;
  /** What it calls is known not to ask anything. */
  readonly quiet?: boolean | undefined;
  /** Hears of a question that is certainly this call's and that nobody answered. */
  readonly onDeclined?: ((question: Pick<Question, "method" | "params">) => void) | undefined;
  /** The caller takes an `input_required` result as it is. */
  readonly passInputRequired?: boolean | undefined;
  /** Running it twice does no harm, so it may be sent again after a crash. */
  readonly repeatable?: boolean | undefined;
  /** False when the caller itself decides what is sent again: a server that has too much to do is then not asked by itself once more. */
  readonly repeats?: boolean | undefined;
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

/** One live MCP server, however it is reached. */
export interface Upstream extends AsyncDisposable {
  readonly name: string;
  describe(): Description;
  /** Sends any request; the result is relayed JSON with unknown fields kept. */
  request(call: Call): Promise<JsonObject>;
  /** Tells the server something, such as that the client's roots changed. A modern server has no such notices. */
  notify(method: string, params?: JsonObject): void;
  /** Hear `resourceUpdated` for a URI, across reconnections, until the returned function is called. */
  subscribe(uri: string): Promise<() => Promise<void>>;
  /** The most verbose log level wanted from this server. */
  setLogLevel(level: LogLevel): Promise<void>;
  on<E extends keyof UpstreamEvents>(event: E, listener: (...args: UpstreamEvents[E]) => void): () => void;
  stats(): UpstreamStats;
  close(): Promise<void>;
}

export interface UpstreamStats {
  readonly inFlight: number;
  /** Answers that came after their request was given up. */
  readonly lateAnswers: number;
  /** Answers to nothing that was asked. */
  readonly unknownAnswers: number;
  readonly noise: number;
  /** Server questions that found nobody to answer. */
  readonly declined: number;
  /** Those among them that might have been of one call or another. */
  readonly ambiguous?: number | undefined;
  readonly restarts: number;
  readonly eraProbes: number;
}
