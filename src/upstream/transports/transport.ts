// A wire carries JSON-RPC messages to one server and back. It knows bytes and connections, not what the messages mean.

import type { PortolanError, Report } from "../../errors/index.ts";
import type { LaunchNews } from "../../launch/index.ts";
import type { Era, LaunchSettings, RequestId, RpcMessage } from "../../model/index.ts";
import type { Outgoing } from "./outgoing-message.ts";

export type TransportName = "stdio" | "http" | "sse" | "websocket" | "memory";

export interface WireEvents {
  /** A message came. `origin` is the request on whose own stream it came, where the transport has such streams. */
  message(message: RpcMessage, origin?: RequestId): void;
  /** One request failed on its way; the connection lives on. */
  failed(id: RequestId, error: PortolanError): void;
  /** The connection is gone, and with it everything in flight. Comes at most once, and not after `close()`. */
  closed(error: PortolanError): void;
}

export interface WireOptions {
  readonly server: string;
  readonly maxMessageBytes: number;
  readonly maxQueuedBytes: number;
  readonly report: Report;
  /** Hears what the server writes to stderr, as it comes. */
  readonly onStderr?: ((text: string) => void) | undefined;
  /** How a local program is brought here and boxed. */
  readonly launch?: LaunchSettings | undefined;
  readonly roots?: readonly string[] | undefined;
  /** Hears how the program is started, and what it is refused. */
  readonly onLaunch?: ((news: LaunchNews) => void) | undefined;
}

export interface WireCounters {
  /** Lines on stdout, or frames, that were not JSON-RPC. */
  noise: number;
}

export interface Wire {
  readonly transport: TransportName;
  /** Each request has its own response stream, so that a dropped stream is a cancellation and says whose message it is. */
  readonly perRequestStreams: boolean;
  readonly counters: WireCounters;
  /** Opens the connection; messages may be sent when it resolves. */
  open(events: WireEvents, signal: AbortSignal): Promise<void>;
  /** Hands over one message. Throws BUSY when the server does not keep up. */
  send(message: Outgoing, headers?: Readonly<Record<string, string>>): void;
  /** Resolves when the server has taken what was sent; on a stream that keeps its order it does so at once. */
  flushed(): Promise<void>;
  /** After the end of the connection: whether this request cannot have reached the server. */
  neverSent?(id: RequestId): boolean;
  /** The answer to this request is not wanted any more. */
  abandon(id: RequestId): void;
  /** What negotiation found; later messages carry it where the transport needs it. */
  negotiated(era: Era, revision: string): void;
  /** Opens the stream for messages that belong to no request, where the transport has one. */
  listen(): void;
  /** The last lines of stderr, where there is one. */
  stderrTail(): string | undefined;
  close(): Promise<void>;
}
