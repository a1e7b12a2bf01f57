// The legacy GET stream for what belongs to no request: kept open as long as the server has one.

import type { ExchangeEvents } from "./exchange.ts";
import { parseJson, retryDelay } from "./rules.ts";
import type { SseParser } from "./sse-parser.ts";

export interface StandingStreamOptions {
  /** Sends the GET with these headers beside the usual ones. */
  readonly open: (headers: Record<string, string>, events: ExchangeEvents) => { abort(): void };
  readonly deliver: (value: unknown) => void;
}

export class StandingStream {
  readonly #options: StandingStreamOptions;
  #stop: () => void = () => {};
  #closed = false;

  constructor(options: StandingStreamOptions) {
    this.#options = options;
    this.#listen(undefined, 0);
  }

  close(): void {
    this.#closed = true;
    this.#stop();
  }

  #listen(lastEventId: string | undefined, failures: number): void {
    let parser: SseParser | undefined;
    const again = (): void => {
      if (this.#closed) return;
      // A stream that brought nothing is asked for less and less often.
      const next = parser !== undefined && parser.delivered > 0 ? 0 : failures + 1;
      const resumeAt = parser?.lastEventId ?? lastEventId;
      const timer = setTimeout(() => this.#listen(resumeAt, next), retryDelay(parser?.retryMs, next)).unref();
      this.#stop = () => clearTimeout(timer);
    };
    const stream = this.#options.open(lastEventId === undefined ? {} : { "last-event-id": lastEventId }, {
      started: (_headers, started) => {
        parser = started;
      },
      event: ({ data }) => this.#options.deliver(parseJson(data)),
      ended: again,
      // Anything but a stream says that the server has none.
      json: () => {},
      empty: () => {},
      failed: ({ status }) => {
        if (status === undefined || status >= 500) again();
      },
    });
    this.#stop = () => stream.abort();
  }
}
