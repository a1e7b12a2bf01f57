// The gateway over WebSocket: each frame is one message, both ways.

import type { IncomingMessage } from "node:http";
import type { Duplex as NodeDuplex } from "node:stream";
import type { WebSocket, WebSocketServer } from "ws";
import { isRpcMessage, parseMessages } from "../../model/index.ts";
import type { Refusal } from "../door/door.ts";
import { Duplex, type DuplexOptions } from "../duplex.ts";
import type { Visit } from "../types.ts";

const MAX_WAITING_BYTES = 8 * 1024 * 1024;
const PING_MS = 30_000;

export interface WebSocketFrontOptions extends Pick<DuplexOptions, "modern" | "legacy"> {
  readonly maxMessageBytes: number;
  readonly maxConnections: number;
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
    if (this.#open.size >= this.#options.maxConnections) return refuseUpgrade(socket, TOO_MANY);
    this.#server.handleUpgrade(request, socket, head, (channel) => this.#opened(channel, visit));
  }

  close(): void {
    clearInterval(this.#pings);
    for (const [channel, { duplex }] of this.#open) {
      duplex.close();
      channel.close(1001, "the gateway stops");
    }
    this.#server.close();
  }

  #opened(channel: WebSocket, visit: Visit): void {
    const { gate } = visit.principal;
    const duplex = new Duplex({
      modern: this.#options.modern,
      legacy: this.#options.legacy,
      visit,
      write: (text) => {
        if (channel.bufferedAmount > MAX_WAITING_BYTES) channel.terminate();
        else if (channel.readyState === channel.OPEN) channel.send(text);
      },
      enter: () => gate.enter()?.error,
      leave: () => gate.leave(),
    });
    const line = { duplex, alive: true };
    this.#open.set(channel, line);
    channel.on("pong", () => {
      line.alive = true;
    });
    channel.on("message", (data) => {
      line.alive = true;
      // Text frames arrive as one Buffer.
      for (const message of parseMessages((data as Buffer).toString("utf8")))
        if (isRpcMessage(message)) duplex.receive(message);
    });
    channel.on("error", () => channel.terminate());
    channel.on("close", () => {
      this.#open.delete(channel);
      duplex.close();
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
  socket.end(
    `HTTP/1.1 ${status} Refused\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join("")}\r\n${body}`,
  );
}
