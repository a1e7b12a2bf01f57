// One HTTP request and its response on undici's dispatcher, with redirects within the origin, body limits and typed failures.

import { merge } from "../../../base/collections/merge.ts";
import { firstWords } from "../../../base/text/truncate.ts";
import { parseUrl } from "../../../base/net/urls.ts";
import { isObject, type RpcErrorObject } from "../../../model/index.ts";
import type { Agent, Dispatcher } from "undici";
import { certificateHint, PortolanError } from "../../../errors/index.ts";
import { ByteBuffer } from "../byte-buffer.ts";
import { FAILURE_HINT, REFUSALS } from "../transport.ts";
import { SseParser, type SseEvent } from "./sse-parser.ts";

type Controller = Parameters<NonNullable<Dispatcher.DispatchHandler["onRequestStart"]>>[0];
type HeaderMap = Record<string, string | string[] | undefined>;

const MAX_REDIRECTS = 5;
const MAX_ERROR_BODY_BYTES = 64 * 1024;
const SHOWN_BODY_CHARS = 512;
const SHOWN_LINE_CHARS = 200;

export interface ExchangeRequest {
  readonly server: string;
  readonly url: URL;
  readonly method: "GET" | "POST" | "DELETE";
  readonly headers: Record<string, string>;
  readonly body?: string;
  readonly maxMessageBytes: number;
}

/** Exactly one of `json`, `ended`, `empty` or `failed` ends an exchange that was not aborted. */
export interface ExchangeEvents {
  /** A response with a success status began. */
  started?(headers: HeaderMap, stream: SseParser | undefined): void;
  event(event: SseEvent): void;
  json(value: unknown): void;
  /** The event stream ended, normally or with an error. */
  ended(error: Error | undefined): void;
  /** The response was a success without a body. */
  empty(): void;
  failed(error: HttpFailure): void;
}

/** A failed response or connection, before the protocol rules are applied to it. */
export interface HttpFailure {
  readonly error: PortolanError;
  readonly status: number | undefined;
  readonly headers: HeaderMap;
  /** The parsed body, if it was JSON. */
  readonly json: unknown;
  /** True when the request cannot have reached the server. */
  readonly neverSent: boolean;
}

export function exchange(agent: Agent, request: ExchangeRequest, events: ExchangeEvents): { abort(): void } {
  let aborted = false;
  let controller: Controller | undefined;
  const fail = (error: PortolanError, more: Partial<HttpFailure> = {}): void => {
    if (aborted) return;
    aborted = true;
    events.failed({ error, status: undefined, headers: {}, json: undefined, neverSent: false, ...more });
  };

  const dispatch = (url: URL, redirects: number): void => {
    const own: OwnEvents = {
      aborted: () => aborted,
      controller: (current) => {
        controller = current;
      },
      failed: (failure) => fail(failure.error, failure),
      redirected: (location) => {
        const next = parseUrl(location, url);
        const to = next === undefined ? location : next.origin;
        if (next?.origin !== url.origin)
          fail(redirectError(request.server, `the server redirects to another origin, ${to}`));
        else if (redirects >= MAX_REDIRECTS)
          fail(
            redirectError(
              request.server,
              `the server redirects more than ${MAX_REDIRECTS} times`,
              "Check the URL of the server, or report the redirects to the operator of the server.",
            ),
          );
        else dispatch(next, redirects + 1);
      },
    };
    const handler = new ResponseHandler(request, merge(events, own));
    agent.dispatch(
      {
        origin: url.origin,
        path: url.pathname + url.search,
        method: request.method,
        headers: request.headers,
        body: request.body ?? null,
        // The peer enforces the deadlines, because progress notifications extend them.
        headersTimeout: 0,
        bodyTimeout: 0,
      },
      handler,
    );
  };

  dispatch(request.url, 0);
  return {
    abort(): void {
      if (aborted) return;
      aborted = true;
      controller?.abort(new Error("abandoned"));
    },
  };
}

/** Adds the response headers as a non-enumerable field, so that they are not printed: some of them are secret. */
function withHeaders(headers: HeaderMap, data: Record<string, unknown>): Record<string, unknown> {
  const small = Object.entries(headers).flatMap(([name, value]) =>
    value === undefined || name === "set-cookie" ? [] : [[name, firstWords(String(value), SHOWN_BODY_CHARS)]],
  );
  return Object.defineProperty(data, "headers", { value: Object.fromEntries(small), enumerable: false });
}

type HandlerEvents = Omit<ExchangeEvents, "failed"> & OwnEvents;

interface OwnEvents {
  aborted(): boolean;
  controller(controller: Controller): void;
  failed(failure: HttpFailure): void;
  redirected(location: string): void;
}

class ResponseHandler implements Dispatcher.DispatchHandler {
  readonly #request: ExchangeRequest;
  readonly #events: HandlerEvents;
  #status = 0;
  #headers: HeaderMap = {};
  #sse: SseParser | undefined;
  readonly #buffer = new ByteBuffer();
  #bytes = 0;
  #over = false;

  constructor(request: ExchangeRequest, events: HandlerEvents) {
    this.#request = request;
    this.#events = events;
  }

  onRequestStart(controller: Controller): void {
    this.#events.controller(controller);
    if (this.#events.aborted()) controller.abort(new Error("abandoned"));
  }

  onResponseStart(controller: Controller, status: number, headers: HeaderMap): void {
    if (status < 200) return;
    this.#status = status;
    this.#headers = headers;
    const ok = status < 300;
    const encoding = String(headers["content-encoding"] ?? "identity");
    if (encoding !== "identity" && encoding !== "") return this.#encoded(controller, encoding);
    if (ok && contentType(headers) === "text/event-stream") {
      this.#sse = new SseParser(this.#request.maxMessageBytes, {
        event: (event) => this.#events.aborted() || this.#events.event(event),
        oversized: () => this.#tooLarge(controller),
      });
    }
    if (ok) this.#events.started?.(headers, this.#sse);
  }

  onResponseData(controller: Controller, chunk: Buffer): void {
    if (this.#over || this.#events.aborted()) return;
    if (this.#sse !== undefined) return this.#sse.push(chunk);
    this.#bytes += chunk.length;
    const ok = this.#status < 300;
    if (ok && this.#bytes > this.#request.maxMessageBytes) return this.#tooLarge(controller);
    if (ok || this.#bytes <= MAX_ERROR_BODY_BYTES) this.#buffer.append(chunk);
  }

  onResponseEnd(): void {
    if (this.#over || this.#events.aborted()) return;
    this.#over = true;
    if (this.#sse !== undefined) return this.#events.ended(undefined);
    const location = this.#headers.location;
    if ((this.#status === 307 || this.#status === 308) && typeof location === "string") {
      return this.#events.redirected(location);
    }
    if (this.#status < 300) this.#succeeded();
    else this.#refused();
  }

  onResponseError(_controller: Controller, cause: Error & { code?: string }): void {
    if (this.#over || this.#events.aborted()) return;
    this.#over = true;
    if (this.#sse !== undefined) return this.#events.ended(cause);
    this.#events.failed(
      this.#failure(connectionError(this.#request, cause), NEVER_SENT.has(cause.code ?? "")),
    );
  }

  #succeeded(): void {
    if (this.#bytes === 0) return this.#events.empty();
    const { text, json } = this.#body();
    if (json !== undefined) return this.#events.json(json);
    const type = contentType(this.#headers);
    const what = /[/+]json$/.test(type) ? "invalid JSON" : `${type || "no content type"} instead of JSON`;
    const message = `${this.#request.server} answered with ${what}`;
    const error = new PortolanError("PROTOCOL_ERROR", message, {
      server: this.#request.server,
      data: { status: this.#status, body: firstWords(text, SHOWN_BODY_CHARS) },
    });
    this.#events.failed(this.#failure(error));
  }

  #refused(): void {
    const { text, json } = this.#body();
    const rpc = (json as { error?: RpcErrorObject } | undefined)?.error;
    const code = REFUSALS[this.#status] ?? "HTTP_ERROR";
    const said =
      typeof rpc?.message === "string"
        ? firstWords(rpc.message, SHOWN_BODY_CHARS)
        : json === undefined
          ? plainLine(text, contentType(this.#headers))
          : "";
    const message = `${this.#request.server} answered HTTP ${this.#status}${said === "" ? "" : `: ${said}`}`;
    const challenge = this.#headers["www-authenticate"];
    const retryAfter = this.#headers["retry-after"];
    const error = new PortolanError(code, message, {
      server: this.#request.server,
      hint: code === "HTTP_ERROR" && this.#status >= 500 ? FAILURE_HINT : undefined,
      data: withHeaders(this.#headers, {
        status: this.#status,
        ...(text === "" ? {} : { body: firstWords(text, SHOWN_BODY_CHARS) }),
        ...(challenge === undefined ? {} : { challenge: firstWords(String(challenge), SHOWN_BODY_CHARS) }),
        ...(retryAfter === undefined ? {} : { retryAfter: String(retryAfter) }),
        ...(isObject(rpc?.data) ? { rpcData: rpc.data } : {}),
      }),
    });
    this.#events.failed({ ...this.#failure(error), json });
  }

  #body(): { text: string; json: unknown } {
    const text = this.#buffer.take().toString("utf8");
    try {
      return { text, json: JSON.parse(text.startsWith("\uFEFF") ? text.slice(1) : text) };
    } catch {
      return { text, json: undefined };
    }
  }

  #encoded(controller: Controller, encoding: string): void {
    this.#over = true;
    const { server } = this.#request;
    const message = `${server} answered with the content encoding ${encoding.slice(0, 40)}, although the request accepts only identity`;
    this.#events.failed(this.#failure(new PortolanError("PROTOCOL_ERROR", message, { server })));
    controller.abort(new Error(message));
  }

  #tooLarge(controller: Controller): void {
    this.#over = true;
    const { server, maxMessageBytes } = this.#request;
    const message = `${server} sent a message that is larger than ${maxMessageBytes} bytes`;
    this.#events.failed(
      this.#failure(new PortolanError("MESSAGE_TOO_LARGE", message, { server, data: { maxMessageBytes } })),
    );
    controller.abort(new Error(message));
  }

  #failure(error: PortolanError, neverSent = false): HttpFailure {
    return { error, status: this.#status || undefined, headers: this.#headers, json: undefined, neverSent };
  }
}

const NEVER_SENT = new Set([
  "ECONNREFUSED",
  "ENOTFOUND",
  "EAI_AGAIN",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "UND_ERR_CONNECT_TIMEOUT",
]);

function connectionError(request: ExchangeRequest, cause: Error & { code?: string }): PortolanError {
  const why =
    cause.code === undefined
      ? cause.message
      : `${cause.code}${cause.message.includes(cause.code) ? "" : `, ${cause.message}`}`;
  return new PortolanError(
    "CONNECTION_LOST",
    `the connection to ${request.server} failed (${why || "unknown reason"})`,
    {
      server: request.server,
      cause,
      data: { reason: cause.code ?? "unknown" },
      hint: NEVER_SENT.has(cause.code ?? "")
        ? "Check the URL, and that the server runs and can be reached from here."
        : certificateHint(cause.code),
    },
  );
}

function redirectError(
  server: string,
  what: string,
  hint = "If you trust the address that the server redirects to, use it as the URL of the server.",
): PortolanError {
  return new PortolanError("HTTP_ERROR", `${what}; Portolan does not follow this redirect`, { server, hint });
}

/** The beginning of a plain text as one line; empty for an HTML page and other types. */
function plainLine(text: string, type: string): string {
  const line = text.trimStart().split(/[\r\n]/, 1)[0] ?? "";
  if ((type !== "" && type !== "text/plain") || line.startsWith("<")) return "";
  const shown = firstWords(line.replace(/\p{C}+/gu, " ").trim(), SHOWN_LINE_CHARS);
  return shown.length < line.trim().length ? `${shown}…` : shown;
}

function contentType(headers: HeaderMap): string {
  const value = headers["content-type"];
  return (Array.isArray(value) ? value[0] : value)?.split(";", 1)[0]?.trim().toLowerCase() ?? "";
}
