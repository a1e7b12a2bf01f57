// Client on a two-way channel (stdio, WebSocket, HTTP+SSE). It may use either protocol era, or both.

import { randomUUID } from "node:crypto";
import { InFlightMap } from "../../base/collections/in-flight-map.ts";
import { hasMethod, META, RPC, type RequestId, type RpcMessage, type RpcRequest } from "../../model/index.ts";
import { declaresRevision } from "../common/envelope.ts";
import { LegacySession, type LegacyOptions } from "../legacy/session.ts";
import { toRpcError, writeError } from "../common/messages.ts";
import type { ModernFront } from "../modern/front.ts";
import { NO_REPLY, type Reply, type RequestContext } from "../common/types.ts";

export interface DuplexOptions {
  readonly modern: ModernFront;
  readonly legacy: LegacyOptions;
  readonly context: RequestContext;
  /** Sends one message. */
  readonly write: (text: string) => void;
  /** Counts a running request; a message is the reason for refusing it. */
  readonly startRequest: () => { message: string } | undefined;
  readonly endRequest: () => void;
}

export class Duplex {
  readonly #options: DuplexOptions;
  readonly #inFlight = new InFlightMap<RequestId, DuplexReply>();
  #session: LegacySession | undefined;
  #idle: (() => void) | undefined;

  constructor(options: DuplexOptions) {
    this.#options = { ...options, context: { ...options.context, channel: randomUUID() } };
  }

  /** Resolves when every request has its response. A stream of notifications has none until it ends. */
  idle(): Promise<void> {
    return new Promise((resolve) => {
      this.#idle = resolve;
      if (this.#isIdle()) resolve();
    });
  }

  #isIdle(): boolean {
    return this.#inFlight.values().every(({ isStream }) => isStream);
  }

  /** `done` is called once, when the message is handled completely. */
  receive(message: RpcMessage, done: () => void = () => {}): void {
    if (!hasMethod(message) || !("id" in message) || message.id == null) {
      if (hasMethod(message) && message.method === "notifications/cancelled")
        this.#cancelled(message.params?.requestId as RequestId);
      this.#session?.handle(message, NO_REPLY);
      return done();
    }
    const { write, startRequest } = this.#options;
    if (this.#inFlight.has(message.id)) {
      done();
      return write(
        writeError(message.id, {
          code: RPC.INVALID_REQUEST,
          message: `Another request with the id ${JSON.stringify(message.id)} is still running`,
        }),
      );
    }
    const refused = startRequest();
    if (refused !== undefined) {
      done();
      return write(writeError(message.id, { code: RPC.INTERNAL, message: refused.message }));
    }
    const reply = new DuplexReply((text) => {
      this.#inFlight.take(message.id);
      this.#options.endRequest();
      done();
      if (text !== undefined) write(text);
      if (this.#idle !== undefined && this.#isIdle()) this.#idle();
    }, write);
    reply.isStream = message.method === "subscriptions/listen";
    this.#inFlight.set(message.id, reply);
    try {
      this.#request(message, reply);
    } catch (error) {
      reply.end(writeError(message.id, toRpcError(error, true)));
    }
  }

  close(): void {
    this.#session?.close();
    for (const reply of this.#inFlight.values()) reply.cancel();
  }

  #request(message: RpcRequest, reply: Reply): void {
    const { modern, context, legacy, write } = this.#options;
    if (declaresRevision(message.params)) return modern.handle(message, context, reply);
    if (message.method === "initialize" && this.#session === undefined) {
      this.#session = new LegacySession(randomUUID(), context, message.params, legacy);
      this.#session.useChannel(write);
      return this.#session.initialize(message, reply);
    }
    if (this.#session !== undefined) return this.#session.handle(message, reply);
    if (message.method === "ping")
      return reply.end(`{"jsonrpc":"2.0","id":${JSON.stringify(message.id)},"result":{}}`);
    reply.end(
      writeError(message.id, {
        code: RPC.INVALID_PARAMS,
        message: `Send initialize before this request, or declare the protocol revision in _meta of the request, as ${META.PROTOCOL_VERSION}`,
      }),
    );
  }

  #cancelled(id: RequestId): void {
    this.#inFlight.get(id)?.cancel();
  }
}

class DuplexReply implements Reply {
  readonly canStream = true;
  onCancel: (() => void) | undefined;
  isStream = false;
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

  /** A cancelled request gets no response. */
  cancel(): void {
    if (this.#over) return;
    this.#over = true;
    this.onCancel?.();
    this.#done(undefined);
  }
}
