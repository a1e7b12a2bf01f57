// The way back to a legacy client: like any over HTTP, but a stream that breaks can be taken up again.

import type { Reply } from "../common/types.ts";
import { EventWriter } from "../http/event-writer.ts";
import type { Exchange } from "../http/exchange.ts";
import type { Accepts } from "../http/reply.ts";
import { LegacyStream } from "./resumable-stream.ts";
import { sendJson } from "../http/responses.ts";

/** How long a client may be away before what it waited for is given up. */
const RETURN_MS = 30_000;
/** How often in that time it is looked whether they are back. */
const MISSES = 2;

export interface LegacyReplyOptions {
  readonly accepts: Accepts;
  readonly headers: Readonly<Record<string, string>>;
  /** Streams begin with an event id, so that they can be taken up from the start. */
  readonly primed: boolean;
  readonly streams: Map<string, LegacyStream>;
  readonly newStreamId: () => string;
}

export class LegacyReply implements Reply {
  readonly canStream: boolean;
  gone: (() => void) | undefined;
  readonly #exchange: Exchange;
  readonly #options: LegacyReplyOptions;
  #stream: LegacyStream | undefined;
  #away: NodeJS.Timeout | undefined;
  #over = false;

  constructor(exchange: Exchange, options: LegacyReplyOptions) {
    this.#exchange = exchange;
    this.#options = options;
    this.canStream = options.accepts.stream;
    exchange.left = () => this.#left();
  }

  send(text: string): void {
    if (this.#over || !this.canStream) return;
    this.#opened().push(text);
  }

  end(text: string, status = 200): void {
    if (this.#over) return;
    this.#over = true;
    clearTimeout(this.#away);
    if (this.#stream === undefined && this.#options.accepts.json) {
      if (!this.#exchange.response.destroyed)
        sendJson(this.#exchange.response, status, text, this.#options.headers);
    } else {
      const stream = this.#opened();
      stream.push(text);
      stream.end();
      this.#forgetWhenSent(stream);
    }
    this.#exchange.done();
  }

  #opened(): LegacyStream {
    if (this.#stream !== undefined) return this.#stream;
    const { streams, newStreamId, headers, primed } = this.#options;
    const stream = new LegacyStream(newStreamId());
    this.#stream = stream;
    streams.set(stream.id, stream);
    if (!this.#exchange.response.destroyed) {
      stream.attach(new EventWriter(this.#exchange.response, headers));
      if (primed) stream.prime();
    }
    return stream;
  }

  /** An answer that left whole is not kept; one that broke off waits for its client. */
  #forgetWhenSent(stream: LegacyStream): void {
    const { streams } = this.#options;
    const forget = (): void => void streams.delete(stream.id);
    this.#exchange.response.once("finish", forget);
    setTimeout(forget, RETURN_MS).unref();
  }

  /** A broken connection is no cancellation in this era. But who does not come back in time does not wait any more. */
  #left(missed = 0): void {
    if (this.#over) return;
    this.#away = setTimeout(() => {
      // Who came back may leave again.
      const misses = this.#stream?.connected === true ? 0 : missed + 1;
      if (misses < MISSES) return this.#left(misses);
      this.#over = true;
      this.gone?.();
      if (this.#stream !== undefined) this.#options.streams.delete(this.#stream.id);
      this.#exchange.done();
    }, RETURN_MS / MISSES).unref();
  }
}
