// HTTP reply to a legacy client: one JSON response, or a stream that the client can resume after a disconnect.

import type { Reply } from "../common/types.ts";
import { EventWriter } from "../http/event-writer.ts";
import type { Exchange, Accepts } from "../http/reply.ts";
import { ResumableStream } from "./resumable-stream.ts";
import { sendJson } from "../http/responses.ts";

/** How long a client may be disconnected before its request is cancelled. */
const RECONNECT_MS = 30_000;
/** How often the connection is checked in that time. */
const CHECKS = 2;

export interface LegacyHttpReplyOptions {
  readonly accepts: Accepts;
  readonly headers: Readonly<Record<string, string>>;
  /** Streams begin with an event id, so that they can be resumed from the start. */
  readonly primed: boolean;
  readonly streams: Map<string, ResumableStream>;
  readonly newStreamId: () => string;
}

export class LegacyHttpReply implements Reply {
  readonly canStream: boolean;
  onCancel: (() => void) | undefined;
  readonly #exchange: Exchange;
  readonly #options: LegacyHttpReplyOptions;
  #stream: ResumableStream | undefined;
  #disconnectTimer: NodeJS.Timeout | undefined;
  #over = false;

  constructor(exchange: Exchange, options: LegacyHttpReplyOptions) {
    this.#exchange = exchange;
    this.#options = options;
    this.canStream = options.accepts.stream;
    exchange.onDisconnect = () => this.#watchReconnect();
  }

  send(text: string): void {
    if (this.#over || !this.canStream) return;
    this.#openStream().push(text);
  }

  end(text: string, status = 200): void {
    if (this.#over) return;
    this.#over = true;
    clearTimeout(this.#disconnectTimer);
    if (this.#stream === undefined && this.#options.accepts.json) {
      if (!this.#exchange.response.destroyed)
        sendJson(this.#exchange.response, status, text, this.#options.headers);
    } else {
      const stream = this.#openStream();
      stream.push(text);
      stream.end();
      this.#forgetWhenSent(stream);
    }
    this.#exchange.done();
  }

  #openStream(): ResumableStream {
    if (this.#stream !== undefined) return this.#stream;
    const { streams, newStreamId, headers, primed } = this.#options;
    const stream = new ResumableStream(newStreamId());
    this.#stream = stream;
    streams.set(stream.id, stream);
    if (!this.#exchange.response.destroyed) {
      stream.attach(new EventWriter(this.#exchange.response, headers));
      if (primed) stream.prime();
    }
    return stream;
  }

  /** Forgets a stream that was sent completely; keeps a broken one for the client to resume. */
  #forgetWhenSent(stream: ResumableStream): void {
    const { streams } = this.#options;
    const forget = (): void => void streams.delete(stream.id);
    this.#exchange.response.once("finish", forget);
    setTimeout(forget, RECONNECT_MS).unref();
  }

  /** In the legacy protocol a disconnect does not cancel a request, but a client that does not reconnect in time does. */
  #watchReconnect(missed = 0): void {
    if (this.#over) return;
    this.#disconnectTimer = setTimeout(() => {
      // A client that reconnected may disconnect again.
      const misses = this.#stream?.connected === true ? 0 : missed + 1;
      if (misses < CHECKS) return this.#watchReconnect(misses);
      this.#over = true;
      this.onCancel?.();
      if (this.#stream !== undefined) this.#options.streams.delete(this.#stream.id);
      this.#exchange.done();
    }, RECONNECT_MS / CHECKS).unref();
  }
}

/**
 * The reply to a batch: each response goes out on one stream when it is ready; without streams, all go out as one
 * list.
 */
export class BatchReply {
  readonly #whole: Reply;
  readonly #parts: Reply[] = [];
  readonly #collected: string[] = [];
  #left: number;

  constructor(whole: Reply, count: number) {
    this.#whole = whole;
    this.#left = count;
    whole.onCancel = () => {
      for (const part of this.#parts) part.onCancel?.();
    };
  }

  part(): Reply {
    const whole = this.#whole;
    const part: Reply = {
      canStream: whole.canStream,
      onCancel: undefined,
      send: (text) => whole.send(text),
      end: (text) => {
        this.#left -= 1;
        if (!whole.canStream) {
          this.#collected.push(text);
          if (this.#left === 0) whole.end(`[${this.#collected.join(",")}]`);
        } else if (this.#left === 0) whole.end(text);
        else whole.send(text);
      },
    };
    this.#parts.push(part);
    return part;
  }
}
