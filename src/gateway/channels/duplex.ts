// A client on one channel that carries messages both ways (stdio, WebSocket, HTTP+SSE). It may speak either era, also both.

import { randomUUID } from "node:crypto";
import { hasMethod, RPC, type RequestId, type RpcMessage, type RpcRequest } from "../../model/index.ts";
import { declaresRevision } from "../common/envelope.ts";
import { LegacySession, type LegacyOptions } from "../legacy/session.ts";
import { toRpcError, writeError } from "../common/messages.ts";
import type { Modern } from "../modern/front.ts";
import type { Reply, Visit } from "../common/types.ts";

export interface DuplexOptions {
  readonly modern: Modern;
  readonly legacy: LegacyOptions;
  readonly visit: Visit;
  /** Sends one message. */
  readonly write: (text: string) => void;
  /** Counts a request in; a message is why it is refused. */
  readonly enter: () => { message: string } | undefined;
  readonly leave: () => void;
}

export class Duplex {
  readonly #options: DuplexOptions;
  readonly #inFlight = new Map<RequestId, DuplexReply>();
  #session: LegacySession | undefined;
  #idle: (() => void) | undefined;

  constructor(options: DuplexOptions) {
    this.#options = { ...options, visit: { ...options.visit, channel: randomUUID() } };
  }

  /** Resolves when every request is answered. */
  idle(): Promise<void> {
    return new Promise((resolve) => {
      this.#idle = resolve;
      if (this.#inFlight.size === 0) resolve();
    });
  }

  /** `done` is called once, when nothing more is done for the message. */
  receive(message: RpcMessage, done: () => void = () => {}): void {
    if (!hasMethod(message) || !("id" in message) || message.id == null) {
      if (hasMethod(message) && message.method === "notifications/cancelled")
        this.#cancelled(message.params?.requestId as RequestId);
      this.#session?.handle(message, NOWHERE);
      return done();
    }
    const { write, enter } = this.#options;
    if (this.#inFlight.has(message.id)) {
      done();
      return write(
        writeError(message.id, {
          code: RPC.INVALID_REQUEST,
          message: `Request ${JSON.stringify(message.id)} is still under way`,
        }),
      );
    }
    const refused = enter();
    if (refused !== undefined) {
      done();
      return write(writeError(message.id, { code: RPC.INTERNAL, message: refused.message }));
    }
    const reply = new DuplexReply((text) => {
      this.#inFlight.delete(message.id);
      this.#options.leave();
      done();
      if (text !== undefined) write(text);
      if (this.#inFlight.size === 0) this.#idle?.();
    }, write);
    this.#inFlight.set(message.id, reply);
    try {
      this.#request(message, reply);
    } catch (error) {
      reply.end(writeError(message.id, toRpcError(error, true)));
    }
  }

  close(): void {
    this.#session?.close();
    for (const reply of [...this.#inFlight.values()]) reply.cancel();
  }

  #request(message: RpcRequest, reply: Reply): void {
    const { modern, visit, legacy, write } = this.#options;
    if (declaresRevision(message.params)) return modern.handle(message, visit, reply);
    if (message.method === "initialize" && this.#session === undefined) {
      this.#session = new LegacySession(randomUUID(), visit, message.params, legacy);
      this.#session.useChannel(write);
      return reply.end(this.#session.greet(message.id));
    }
    if (this.#session !== undefined) return this.#session.handle(message, reply);
    if (message.method === "ping")
      return reply.end(`{"jsonrpc":"2.0","id":${JSON.stringify(message.id)},"result":{}}`);
    reply.end(
      writeError(message.id, {
        code: RPC.INVALID_PARAMS,
        message:
          "Neither initialize came before this request, nor does its _meta say which revision it is of",
      }),
    );
  }

  #cancelled(id: RequestId): void {
    this.#inFlight.get(id)?.cancel();
  }
}

class DuplexReply implements Reply {
  readonly canStream = true;
  gone: (() => void) | undefined;
  readonly #done: (text: string | undefined) => void;
  readonly #write: (text: string) => void;
  #over = false;

  constructor(done: (text: string | undefined) => void, write: (text: string) => void) {
    this.#done = done;
    this.#write = write;
  }

  send(text: string): void {
    if (!this.#over) this.#write(text);
  }

  end(text: string): void {
    if (this.#over) return;
    this.#over = true;
    this.#done(text);
  }

  /** What is cancelled gets no answer. */
  cancel(): void {
    if (this.#over) return;
    this.#over = true;
    this.gone?.();
    this.#done(undefined);
  }
}

const NOWHERE: Reply = { canStream: false, send() {}, end() {}, gone: undefined };
