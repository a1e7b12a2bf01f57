// Transport: carries JSON-RPC messages to one server and back. It knows bytes and connections, not the meaning of messages.

import { changedError, type ErrorCode, PortolanError, type Report } from "../../errors/index.ts";
import type { LaunchContext, LaunchNews } from "../../launch/index.ts";
import type { Era, LaunchSettings, RequestId, RpcMessage } from "../../model/index.ts";
import type { RequestAuth } from "../../oauth/index.ts";
import type { OutgoingMessage } from "./outgoing-message.ts";

/** The errors of HTTP status codes that refuse a request whatever the protocol; any other status is an HTTP_ERROR. */
export const REFUSALS: Readonly<Record<number, ErrorCode>> = {
  401: "AUTH_REQUIRED",
  403: "FORBIDDEN",
  429: "RATE_LIMITED",
};

/** The hint for a 5xx status. */
export const FAILURE_HINT =
  "The server, or a proxy in front of it, reports a failure of its own. See the log of the server, or try again later.";

export type TransportName = "stdio" | "http" | "sse" | "websocket" | "memory";

export interface TransportEvents {
  /** A message arrived. `origin` is the request whose response stream carried it, where the transport has such streams. */
  message(message: RpcMessage, origin?: RequestId): void;
  /** One request failed; the connection stays open. */
  failed(id: RequestId, error: PortolanError): void;
  /** The connection ended, and every request in flight with it. Called at most once, and not after `close()`. */
  closed(error: PortolanError): void;
}

export interface TransportOptions {
  readonly server: string;
  readonly maxMessageBytes: number;
  readonly maxQueuedBytes: number;
  readonly report: Report;
  /** Receives the server's stderr output as it arrives. */
  readonly onStderr?: (text: string) => void;
  /** Receives the beginning of the first line on stdout that is no message. */
  readonly onNoise?: (line: string) => void;
  /** Install and sandbox settings of a local program. */
  readonly launch?: LaunchSettings;
  readonly roots?: readonly string[];
  /** Receives the launch plan, install progress and refused connections of a local program. */
  readonly onLaunch?: (news: LaunchNews) => void;
  /** State of the starts of one workspace. */
  readonly launchContext?: LaunchContext;
  /** Credentials for the requests to a URL. */
  readonly auth?: RequestAuth;
}

export interface TransportCounters {
  /** Number of lines on stdout, or of frames, that were not JSON-RPC. */
  noise: number;
}

export interface Transport {
  readonly name: TransportName;
  /** True when each request has its own response stream: a message then names its request, and a dropped stream cancels it. */
  readonly perRequestStreams: boolean;
  readonly counters: TransportCounters;
  /** Opens the connection. Messages may be sent once the promise resolves. */
  open(events: TransportEvents, signal: AbortSignal): Promise<void>;
  /** Sends one message. Throws BUSY when the server does not read fast enough. */
  send(message: OutgoingMessage, headers?: Readonly<Record<string, string>>): void;
  /** Resolves when the server has accepted all messages sent so far; needed where a later message could overtake them. */
  flushed?(): Promise<void>;
  /** After the connection ended: true when this request cannot have reached the server. */
  neverSent?(id: RequestId): boolean;
  /** Stops waiting for the response to this request. */
  abandon?(id: RequestId): void;
  /** Sets the negotiated era and revision, which HTTP transports send as headers. */
  negotiated?(era: Era, revision: string): void;
  /** Opens the stream for messages that belong to no request, where the transport has such a stream. */
  listen?(): void;
  /** The last lines of stderr of a local program. */
  stderrTail?(): string | undefined;
  close(): Promise<void>;
}

/** Marks the error of a request that cannot have reached its server, so that the request may be repeated. */
export function neverRan(error: PortolanError): PortolanError {
  return changedError(error, { data: { ...error.data, neverRan: true } });
}

/** Throws for a message that alone is larger than the queue: to wait would not help. */
export function refuseLarger(
  text: string,
  { server, maxQueuedBytes }: Pick<TransportOptions, "server" | "maxQueuedBytes">,
): void {
  if (text.length <= maxQueuedBytes) return;
  throw new PortolanError(
    "MESSAGE_TOO_LARGE",
    `the request was not sent: it has ${text.length} characters, and the limit for data that waits for ${server} is ${maxQueuedBytes}`,
    { server, hint: "Send smaller arguments, or raise limits.maxQueuedBytes in a program." },
  );
}

/** Counts the bytes that one server has not accepted yet, and rejects messages above the limit. */
export class SendQueue {
  readonly #server: string;
  readonly #max: number;
  #bytes = 0;

  constructor({ server, maxQueuedBytes }: TransportOptions) {
    this.#server = server;
    this.#max = maxQueuedBytes;
  }

  /** Throws BUSY when the text would exceed the limit. */
  check(text: string): void {
    refuseLarger(text, { server: this.#server, maxQueuedBytes: this.#max });
    if (this.#bytes + text.length <= this.#max) return;
    const server = this.#server;
    throw new PortolanError(
      "BUSY",
      `the request was not sent: ${server} reads its input too slowly, and too much data waits already`,
      {
        server,
      },
    );
  }

  /** Counts the text until the returned function is called. */
  add(text: string): () => void {
    this.#bytes += text.length;
    let counted = true;
    return () => {
      if (counted) this.#bytes -= text.length;
      counted = false;
    };
  }
}
