// WebSocket transport: one JSON-RPC message per text frame, subprotocol `mcp`.

import type { WebSocket } from "ws";
import { firstWords } from "../../base/text/truncate.ts";
import { certificateHint, isPortolanError, PortolanError } from "../../errors/index.ts";
import { type UrlEndpoint, isRpcMessage, parseMessages } from "../../model/index.ts";
import type { AuthHeaders } from "../../oauth/index.ts";
import type { OutgoingMessage } from "./outgoing-message.ts";
import {
  FAILURE_HINT,
  neverRan,
  REFUSALS,
  type Transport,
  type TransportCounters,
  type TransportEvents,
  type TransportOptions,
  refuseLarger,
} from "./transport.ts";

const CLOSE_GRACE_MS = 1_000;

/** The hint for an HTTP status in place of a WebSocket, which a server without them answers. */
const NOT_OFFERED_HINT =
  'Check the URL. A Portolan gateway offers WebSocket only if its config sets gateway.transports.websocket: true. If the server does not offer WebSocket, use transport: "http".';

export class WebSocketTransport implements Transport {
  readonly name = "websocket";
  readonly perRequestStreams = false;
  readonly counters: TransportCounters = { noise: 0 };
  readonly #endpoint: UrlEndpoint;
  readonly #options: TransportOptions;
  #socket: WebSocket | undefined;
  #ended = false;

  constructor(endpoint: UrlEndpoint, options: TransportOptions) {
    this.#endpoint = endpoint;
    this.#options = options;
  }

  async open(events: TransportEvents, signal: AbortSignal): Promise<void> {
    const { auth } = this.#options;
    for (let attempt = 0; ; attempt += 1) {
      const sent = await auth?.headers({ method: "GET", url: new URL(this.#endpoint.url) });
      try {
        return await this.#connect(events, sent, signal);
      } catch (error) {
        const { status, challenge } = isPortolanError(error) ? error.data : {};
        if (auth === undefined || (status !== 401 && status !== 403)) throw error;
        const refusal = { status, challenge: challenge as string | undefined, sent, attempt } as const;
        if (!(await auth.refused(refusal))) throw error;
      }
    }
  }

  async #connect(
    events: TransportEvents,
    credentials: AuthHeaders | undefined,
    signal: AbortSignal,
  ): Promise<void> {
    const { WebSocket } = await import("ws");
    const { server, maxMessageBytes } = this.#options;
    signal.throwIfAborted();
    await new Promise<void>((resolve, reject) => {
      const socket = new WebSocket(this.#endpoint.url, ["mcp"], {
        headers: { ...this.#endpoint.headers, ...credentials },
        maxPayload: maxMessageBytes,
        handshakeTimeout: 10_000,
        perMessageDeflate: false,
        followRedirects: false,
      });
      this.#socket = socket;
      let failure: Error | undefined;
      let isOpen = false;
      const giveUp = (): void => socket.terminate();
      signal.addEventListener("abort", giveUp, { once: true });
      socket.once("open", () => {
        signal.removeEventListener("abort", giveUp);
        isOpen = true;
        resolve();
      });
      socket.on("message", (data, isBinary) =>
        this.#receive(events, isBinary ? undefined : (data as Buffer).toString()),
      );
      socket.on("error", (cause: Error) => {
        // Terminating a refused connection is an error, too.
        failure ??= cause;
      });
      socket.once("unexpected-response", (_request, response) => {
        const status = response.statusCode ?? 0;
        failure = new PortolanError(REFUSALS[status] ?? "HTTP_ERROR", `${server} answered HTTP ${status}`, {
          server,
          hint: REFUSALS[status] !== undefined ? undefined : status >= 500 ? FAILURE_HINT : NOT_OFFERED_HINT,
          data: { status, challenge: response.headers["www-authenticate"] },
        });
        socket.terminate();
      });
      socket.once("close", (code, reason) => {
        const error = this.#lost(code, String(reason), failure, isOpen);
        reject(error);
        if (this.#ended || !isOpen) return;
        this.#ended = true;
        events.closed(error);
      });
    });
  }

  send({ text }: OutgoingMessage): void {
    const { server, maxQueuedBytes } = this.#options;
    const socket = this.#socket;
    if (socket === undefined || this.#ended)
      throw neverRan(
        new PortolanError("CONNECTION_LOST", `the WebSocket to ${server} is closed`, {
          server,
          hint: "The call was not sent; call again.",
        }),
      );
    refuseLarger(text, this.#options);
    if (socket.bufferedAmount + text.length > maxQueuedBytes) {
      throw new PortolanError(
        "BUSY",
        `the request was not sent: ${server} reads its input too slowly, and too much data waits already`,
        {
          server,
        },
      );
    }
    socket.send(text, () => {});
  }

  async close(): Promise<void> {
    this.#ended = true;
    const socket = this.#socket;
    if (socket === undefined || socket.readyState === socket.CLOSED) return;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(() => socket.terminate(), CLOSE_GRACE_MS);
      socket.once("close", () => {
        clearTimeout(timer);
        resolve();
      });
      socket.close(1000);
    });
  }

  #receive(events: TransportEvents, text: string | undefined): void {
    for (const value of text === undefined ? [undefined] : parseMessages(text)) {
      if (isRpcMessage(value)) events.message(value);
      else this.counters.noise += 1;
    }
  }

  #lost(
    code: number,
    reason: string,
    cause: (Error & { code?: string }) | undefined,
    wasOpen: boolean,
  ): PortolanError {
    const { server, maxMessageBytes } = this.#options;
    if (cause instanceof PortolanError) return cause;
    if (cause?.code === "WS_ERR_UNSUPPORTED_MESSAGE_LENGTH") {
      return new PortolanError(
        "MESSAGE_TOO_LARGE",
        `${server} sent a message that is larger than ${maxMessageBytes} bytes`,
        {
          server,
          data: { maxMessageBytes },
        },
      );
    }
    const why =
      cause === undefined
        ? `code ${code}${reason === "" ? "" : `, ${firstWords(reason, 120)}`}`
        : cause.message || cause.code;
    const what = wasOpen ? "closed" : "could not be opened";
    return new PortolanError("CONNECTION_LOST", `the WebSocket to ${server} ${what} (${why})`, {
      server,
      cause,
      data: { closeCode: code },
      hint: certificateHint(cause?.code),
    });
  }
}
