// The gateway over WebSocket: each frame is one message, both ways.

import type { IncomingMessage } from "node:http";
import type { Duplex as NodeDuplex } from "node:stream";
import type { WebSocket, WebSocketServer } from "ws";
import { isRpcMessage, parseMessages, RPC } from "../../model/index.ts";
import type { Refusal } from "../door/door.ts";
import type { Channels } from "../channels.ts";
import type { Duplex } from "../duplex.ts";
import { writeError } from "../messages.ts";
import type { Visit } from "../types.ts";

const MAX_WAITING_BYTES = 8 * 1024 * 1024;
const PING_MS = 30_000;

export interface WebSocketFrontOptions {
  readonly channels: Channels;
  readonly maxMessageBytes: number;
}

export class WebSocketFront {
  readonly #options: WebSocketFrontOptions;
  readonly #server: WebSocketServer;
  readonly #open = new Map<WebSocket, { duplex: Duplex; alive: boolean }>();
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

  accept(request: IncomingMessage, socket: NodeDuplex, head: Buffer, visit: Visit): void {
    let channel: WebSocket | undefined;
    const duplex = this.#options.channels.open(visit, (text) => {
      if (channel === undefined) return;
      if (channel.bufferedAmount > MAX_WAITING_BYTES) channel.terminate();
      else if (channel.readyState === channel.OPEN) channel.send(text);
    });
    if (duplex === undefined) return refuseUpgrade(socket, TOO_MANY);
    socket.once("close", () => this.#options.channels.close(duplex));
    this.#server.handleUpgrade(request, socket, head, (opened) => {
      channel = opened;
      this.#opened(opened, duplex);
    });
  }

  close(): void {
    clearInterval(this.#pings);
    for (const [channel, { duplex }] of this.#open) {
      this.#options.channels.close(duplex);
      channel.close(1001, "the gateway stops");
    }
    this.#server.close();
  }

  #opened(channel: WebSocket, duplex: Duplex): void {
    const line = { duplex, alive: true };
    this.#open.set(channel, line);
    channel.on("pong", () => {
      line.alive = true;
    });
    channel.on("message", (data) => {
      line.alive = true;
      // Text frames arrive as one Buffer.
      for (const message of parseMessages((data as Buffer).toString("utf8"))) {
        if (isRpcMessage(message)) duplex.receive(message);
        else channel.send(writeError(null, { code: RPC.PARSE_ERROR, message: "That is not JSON-RPC" }));
      }
    });
    channel.on("error", () => channel.terminate());
    channel.on("close", () => {
      this.#open.delete(channel);
      this.#options.channels.close(duplex);
    });
  }

  #ping(): void {
    for (const [channel, line] of this.#open) {
      if (!line.alive) channel.terminate();
      line.alive = false;
      channel.ping();
    }
  }
}

const TOO_MANY: Refusal = {
  status: 503,
  headers: { "retry-after": "5" },
  error: { code: "BUSY", message: "There are too many connections; try again later" },
};

export function refuseUpgrade(socket: NodeDuplex, { status, headers, error }: Refusal): void {
  const body = JSON.stringify(error);
  const lines = Object.entries({
    ...headers,
    "content-type": "application/json",
    "content-length": Buffer.byteLength(body),
    connection: "close",
  });
  // Nobody reads what comes after the refusal, and nobody waits for the other side to close.
  socket.end(
    `HTTP/1.1 ${status} Refused\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join("")}\r\n${body}`,
    () => socket.destroy(),
  );
}
