// Legacy GET stream for messages that belong to no request. It is opened again when it ends, unless the server has none.

import { HEADER } from "../../../model/index.ts";
import type { ExchangeEvents } from "./exchange.ts";
import { parseJson, retryDelay } from "./protocol.ts";
import type { SseParser } from "./sse-parser.ts";

export interface NotificationStreamOptions {
  /** Sends the GET with these additional headers. */
  readonly open: (headers: Record<string, string>, events: ExchangeEvents) => { abort(): void };
  readonly deliver: (value: unknown) => void;
}

export class NotificationStream {
  readonly #options: NotificationStreamOptions;
  #stop: () => void = () => {};
  #closed = false;

  constructor(options: NotificationStreamOptions) {
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
      // A stream without events is opened less and less often.
      const next = parser !== undefined && parser.delivered > 0 ? 0 : failures + 1;
      const resumeAt = parser?.lastEventId ?? lastEventId;
      const timer = setTimeout(() => this.#listen(resumeAt, next), retryDelay(parser?.retryMs, next)).unref();
      this.#stop = () => clearTimeout(timer);
    };
    const stream = this.#options.open(
      lastEventId === undefined ? {} : { [HEADER.LAST_EVENT_ID]: lastEventId },
      {
        started: (_headers, started) => {
          parser = started;
        },
        event: ({ data }) => this.#options.deliver(parseJson(data)),
        ended: again,
        // A response that is not a stream means that the server has none.
        json: () => {},
        empty: () => {},
        failed: ({ status }) => {
          if (status === undefined || status >= 500) again();
        },
      },
    );
    this.#stop = () => stream.abort();
  }
}
