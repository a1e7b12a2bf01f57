// WebSocket transport: each text frame is one message.

import type { IncomingMessage } from "node:http";
import type { Duplex as NodeDuplex } from "node:stream";
import type { WebSocket, WebSocketServer } from "ws";
import type { AuthenticatedCaller, Refusal } from "../access/types.ts";
import { type Channel, type Channels, findRequestId, type Rejection, toRejection } from "./channels.ts";
import { writeError } from "../common/messages.ts";
import type { RequestContext } from "../common/types.ts";

const MAX_WAITING_BYTES = 8 * 1024 * 1024;
const PING_MS = 30_000;
/** A client that sends this many refused bytes is disconnected. */
const MAX_REFUSED_BYTES = 1024 * 1024;
/** How long a client has to read the reason for its disconnection. */
const CLOSE_MS = 1_000;
const POLICY_VIOLATION = 1008;
const TRY_AGAIN_LATER = 1013;

export interface WebSocketFrontOptions {
  readonly channels: Channels;
  readonly maxMessageBytes: number;
}

export class WebSocketFront {
  readonly #options: WebSocketFrontOptions;
  readonly #server: WebSocketServer;
  readonly #open = new Map<WebSocket, { channel: Channel; alive: boolean; awaitsPong: boolean }>();
  readonly #pings: NodeJS.Timeout;

  private constructor(options: WebSocketFrontOptions, server: WebSocketServer) {
    this.#options = options;
    this.#server = server;
    this.#pings = setInterval(() => this.#ping(), PING_MS).unref();
  }

  static async create(options: WebSocketFrontOptions): Promise<WebSocketFront> {
    const { WebSocketServer } = await import("ws");
    const server = new WebSocketServer({
      noServer: true,
      maxPayload: options.maxMessageBytes,
      handleProtocols: (offered) => (offered.has("mcp") ? "mcp" : false),
    });
    return new WebSocketFront(options, server);
  }

  accept(request: IncomingMessage, socket: NodeDuplex, head: Buffer, context: RequestContext): void {
    let opened: WebSocket | undefined;
    const channel = this.#options.channels.open(context, (text) => {
      if (opened === undefined) return;
      if (opened.bufferedAmount > MAX_WAITING_BYTES) opened.terminate();
      else if (opened.readyState === opened.OPEN) opened.send(text);
    });
    if (channel === undefined) return refuseUpgrade(socket, TOO_MANY);
    socket.once("close", () => this.#options.channels.close(channel));
    this.#server.options.maxPayload = this.#options.maxMessageBytes;
    this.#server.handleUpgrade(request, socket, head, (webSocket) => {
      opened = webSocket;
      this.#opened(webSocket, socket, channel);
    });
  }

  /** Disconnects some callers. */
  endConnections(isMeant: (caller: AuthenticatedCaller) => boolean): void {
    for (const [webSocket, { channel }] of this.#open)
      if (isMeant(channel.context.caller)) drop(webSocket, POLICY_VIOLATION, "the access rules have changed");
  }

  close(): void {
    clearInterval(this.#pings);
    for (const [webSocket, { channel }] of this.#open) {
      this.#options.channels.close(channel);
      webSocket.close(1001, "the gateway is stopping");
    }
    this.#server.close();
  }

  #opened(webSocket: WebSocket, socket: NodeDuplex, channel: Channel): void {
    const { limits } = channel.context.caller;
    const connection = { channel, alive: true, awaitsPong: false };
    this.#open.set(webSocket, connection);
    let arriving = 0;
    let refusedBytes = 0;
    const refuse = (bytes: Buffer, { code, message }: Rejection): void => {
      refusedBytes += bytes.length;
      if (refusedBytes > MAX_REFUSED_BYTES) drop(webSocket, POLICY_VIOLATION, message);
      else webSocket.send(writeError(findRequestId(bytes), { code, message }));
    };
    // This listener runs before the one that assembles frames, so that an endless frame counts too.
    socket.prependListener("data", (chunk: Buffer) => {
      const refusal = limits.reserveBytes(chunk.length);
      if (refusal === undefined) arriving += chunk.length;
      else drop(webSocket, TRY_AGAIN_LATER, refusal.error.message);
    });
    const count = (): void => {
      const refusal = limits.countMessages();
      if (refusal !== undefined) drop(webSocket, POLICY_VIOLATION, refusal.error.message);
    };
    webSocket.on("ping", count);
    webSocket.on("pong", () => {
      connection.alive = true;
      // A client may send pongs that answer no ping, as many as it likes.
      if (!connection.awaitsPong) count();
      connection.awaitsPong = false;
    });
    webSocket.on("message", (data) => {
      connection.alive = true;
      // Text frames arrive as one Buffer.
      const bytes = data as Buffer;
      const reserved = arriving;
      arriving = 0;
      const limited = toRejection(limits.countMessages());
      if (limited !== undefined) {
        limits.releaseBytes(reserved);
        return refuse(bytes, limited);
      }
      this.#options.channels.receive(channel, bytes, reserved, (rejection) => {
        if (rejection === undefined) refusedBytes = 0;
        else refuse(bytes, rejection);
      });
    });
    webSocket.on("error", () => webSocket.terminate());
    webSocket.on("close", () => {
      this.#open.delete(webSocket);
      this.#options.channels.close(channel);
      limits.releaseBytes(arriving);
      arriving = 0;
    });
  }

  #ping(): void {
    for (const [webSocket, connection] of this.#open) {
      if (!connection.alive) webSocket.terminate();
      connection.alive = false;
      connection.awaitsPong = true;
      webSocket.ping();
    }
  }
}

/** Closes the connection with a reason, and reads no more from it. */
function drop(webSocket: WebSocket, code: number, reason: string): void {
  if (webSocket.readyState !== webSocket.OPEN) return;
  webSocket.close(code, reason.slice(0, 120));
  webSocket.pause();
  setTimeout(() => webSocket.terminate(), CLOSE_MS).unref();
}

const TOO_MANY: Refusal = {
  status: 503,
  headers: { "retry-after": "5" },
  error: { code: "BUSY", message: "The gateway has too many connections; try again later" },
};

export function refuseUpgrade(socket: NodeDuplex, { status, headers, error }: Refusal): void {
  const body = JSON.stringify(error);
  const lines = Object.entries({
    ...headers,
    "content-type": "application/json",
    "content-length": Buffer.byteLength(body),
    connection: "close",
  });
  // The connection is closed at once, without waiting for the client to close it.
  socket.end(
    `HTTP/1.1 ${status} Refused\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join("")}\r\n${body}`,
    () => socket.destroy(),
  );
}
