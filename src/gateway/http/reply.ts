// HTTP exchange with a client, and the reply to a modern one: one JSON response, or a stream of events if a
// message precedes the response.

import type { Reply } from "../common/types.ts";
import { EventWriter } from "./event-writer.ts";
import { sendJson, type HttpResponse } from "./responses.ts";

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

/** One authenticated request, until its response is sent or its client disconnects. */
export class Exchange {
  readonly response: HttpResponse;
  /** Called when the connection closes before `done()`. Without it, the exchange is done then. */
  onDisconnect: (() => void) | undefined;
  /** Number of running requests in this exchange. */
  requests = 0;
  readonly #onFree: () => void;
  readonly #onDone: () => void;
  #isFree = false;
  #isDone = false;

  /** `onFree` is called when the exchange stops counting towards limits, then `onDone` when it is complete; each once. */
  constructor(response: HttpResponse, onFree: () => void, onDone: () => void = () => {}) {
    this.response = response;
    this.#onFree = onFree;
    this.#onDone = onDone;
    response.on("close", () => {
      if (this.onDisconnect === undefined) this.done();
      else this.onDisconnect();
    });
  }

  /** Completes the exchange. */
  readonly done = (): void => {
    // The connection keeps the response in memory for a while; the reply behind this callback need not stay with it.
    this.onDisconnect = undefined;
    this.free();
    if (this.#isDone) return;
    this.#isDone = true;
    this.#onDone();
  };

  /** The exchange no longer counts towards limits, but continues. */
  free(): void {
    if (this.#isFree) return;
    this.#isFree = true;
    this.#onFree();
  }
}
