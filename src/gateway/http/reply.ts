// HTTP reply to a modern client: one JSON response, or a stream of events if a message precedes the response.

import type { Reply } from "../common/types.ts";
import { EventWriter } from "./event-writer.ts";
import type { Exchange } from "./exchange.ts";
import { sendJson } from "./responses.ts";

export class HttpReply implements Reply {
  readonly canStream: boolean;
  onCancel: (() => void) | undefined;
  readonly #exchange: Exchange;
  readonly #onlyStream: boolean;
  #writer: EventWriter | undefined;
  #over = false;

  constructor(exchange: Exchange, accepts: Accepts) {
    this.#exchange = exchange;
    this.canStream = accepts.stream;
    this.#onlyStream = !accepts.json;
    exchange.onDisconnect = () => {
      if (this.#over) return;
      this.#over = true;
      this.onCancel?.();
      exchange.done();
    };
  }

  send(text: string): void {
    if (this.#over || !this.canStream) return;
    this.#writer ??= new EventWriter(this.#exchange.response);
    this.#writer.event(text);
  }

  end(text: string, status = 200): void {
    if (this.#over) return;
    this.#over = true;
    if (this.#writer === undefined && this.#onlyStream && status === 200)
      this.#writer = new EventWriter(this.#exchange.response);
    if (this.#writer === undefined) sendJson(this.#exchange.response, status, text);
    else {
      this.#writer.event(text);
      this.#writer.end();
    }
    this.#exchange.done();
  }
}

export interface Accepts {
  readonly json: boolean;
  readonly stream: boolean;
}

const BOTH: Accepts = { json: true, stream: true };

/** The formats that a client accepts; undefined for neither JSON nor streams. Without the header, it accepts both. */
export function readAccept(accept: string | undefined): Accepts | undefined {
  if (accept === undefined || accept === "application/json, text/event-stream" || accept.includes("*/*"))
    return BOTH;
  const json = accept.includes("application/json") || accept.includes("application/*");
  const stream = accept.includes("text/event-stream") || accept.includes("text/*");
  return json || stream ? { json, stream } : undefined;
}
