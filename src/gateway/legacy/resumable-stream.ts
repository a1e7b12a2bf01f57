// Resumable stream of a legacy client: it outlives its connection, and keeps the last events for a client that reconnects.

import type { EventWriter } from "../http/event-writer.ts";

/** Limits of the events that are kept. */
const MAX_EVENTS = 256;
const MAX_BYTES = 256 * 1024;

export class ResumableStream {
  readonly id: string;
  readonly #events: { readonly seq: number; readonly text: string }[] = [];
  #bytes = 0;
  #nextSeq = 1;
  /** The last event that was written to a connection. */
  #sentSeq = 0;
  #writer: EventWriter | undefined;
  /** The response was the last event. */
  ended = false;

  /** Drop a notification that equals an unsent one. Streams of calls keep duplicates, which belong to the call. */
  readonly #dropsDuplicates: boolean;

  constructor(id: string, { dropsDuplicates = false }: { dropsDuplicates?: boolean } = {}) {
    this.id = id;
    this.#dropsDuplicates = dropsDuplicates;
  }

  get connected(): boolean {
    return this.#writer !== undefined && !this.#writer.closed;
  }

  push(text: string): void {
    if (
      this.#dropsDuplicates &&
      !this.connected &&
      this.#events.some((event) => event.seq > this.#sentSeq && event.text === text)
    )
      return;
    const event = { seq: this.#nextSeq++, text };
    this.#events.push(event);
    this.#bytes += text.length;
    while (this.#events.length > MAX_EVENTS || (this.#bytes > MAX_BYTES && this.#events.length > 1))
      this.#bytes -= this.#events.shift()?.text.length ?? 0;
    if (this.connected) this.#send(event);
  }

  /** Continues on this connection after the event that the client saw last; by default, after the last event that was sent. */
  attach(writer: EventWriter, afterSeq: number = this.#sentSeq): void {
    this.#writer?.end();
    this.#writer = writer;
    for (const event of this.#events) if (event.seq > afterSeq) this.#send(event);
    if (this.ended) writer.end();
  }

  /** Sends an event without content, so that the client has an event id from the start. */
  prime(): void {
    this.#writer?.event("", `${this.id}_0`);
  }

  /** Ends the stream: no more events follow. */
  end(): void {
    this.ended = true;
    this.#writer?.end();
  }

  #send({ seq, text }: { seq: number; text: string }): void {
    this.#sentSeq = Math.max(this.#sentSeq, seq);
    this.#writer?.event(text, `${this.id}_${seq}`);
  }
}

/** Parses a Last-Event-ID: the stream, and its last event that the client saw. */
export function readEventId(id: string): { stream: string; seq: number } | undefined {
  const cut = id.lastIndexOf("_");
  const seq = Number(id.slice(cut + 1));
  return cut > 0 && Number.isSafeInteger(seq) ? { stream: id.slice(0, cut), seq } : undefined;
}
