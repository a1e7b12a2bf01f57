// One stream of events to a legacy client that outlives its connection: what was sent is kept until it has arrived.

import type { EventWriter } from "../http/event-writer.ts";

/** What is kept for a client that may come back for it. */
const MAX_EVENTS = 256;
const MAX_BYTES = 256 * 1024;

export class LegacyStream {
  readonly id: string;
  readonly #events: { readonly seq: number; readonly text: string }[] = [];
  #bytes = 0;
  #nextSeq = 1;
  /** The last event that was handed to a connection. */
  #sentSeq = 0;
  #writer: EventWriter | undefined;
  /** The answer was the last event. */
  ended = false;

  /** News that nobody has heard yet need not be told twice; what belongs to a call is told as often as it was said. */
  readonly #news: boolean;

  constructor(id: string, { news = false }: { news?: boolean } = {}) {
    this.id = id;
    this.#news = news;
  }

  get connected(): boolean {
    return this.#writer !== undefined && !this.#writer.closed;
  }

  push(text: string): void {
    if (
      this.#news &&
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

  /** Goes on, on this connection, after what the client says it has; without that, after what was sent. */
  attach(writer: EventWriter, afterSeq: number = this.#sentSeq): void {
    this.#writer?.end();
    this.#writer = writer;
    for (const event of this.#events) if (event.seq > afterSeq) this.#send(event);
    if (this.ended) writer.end();
  }

  /** An event without content: from here on the client can say where it was. */
  prime(): void {
    this.#writer?.event("", `${this.id}_0`);
  }

  /** No more events come. */
  end(): void {
    this.ended = true;
    this.#writer?.end();
  }

  #send({ seq, text }: { seq: number; text: string }): void {
    this.#sentSeq = Math.max(this.#sentSeq, seq);
    this.#writer?.event(text, `${this.id}_${seq}`);
  }
}

/** Which stream, and which of its events, a client says it saw last. */
export function readEventId(id: string): { stream: string; seq: number } | undefined {
  const cut = id.lastIndexOf("_");
  const seq = Number(id.slice(cut + 1));
  return cut > 0 && Number.isSafeInteger(seq) ? { stream: id.slice(0, cut), seq } : undefined;
}
