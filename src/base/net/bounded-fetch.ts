// HTTP requests with limits for size, time, redirects and addresses. The body is a stream; failures are a small union, which callers
// map to their own errors.

import * as http from "node:http";
import type { LookupFunction } from "node:net";
import { finished, pipeline, type Readable } from "node:stream";
import { createBrotliDecompress, createGunzip } from "node:zlib";
import { isLoopbackHost, isSpecialAddress } from "./addresses.ts";
import { fixedLookup, guardLookup } from "./guarded-lookup.ts";
import { isHttpUrl, isSecureUrl, parseUrl } from "./urls.ts";

export interface FetchOptions {
  readonly method?: "GET" | "HEAD" | "POST" | "PUT";
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Readable;
  /** Requests the rest of a file. `validator` is the ETag or date of the first part: if the file changed, all of it arrives. */
  readonly resume?: { readonly offset: number; readonly validator?: string };
  /** The largest body, unpacked, with the part before `resume.offset`. */
  readonly maxBytes: number;
  /** Limit for everything, the body included. */
  readonly timeoutMs?: number;
  /** Limit for the time without any byte while connecting, waiting for the headers, or reading the body. */
  readonly silenceMs?: number;
  /** Replaces `silenceMs` until the headers have arrived. */
  readonly headersMs?: number;
  readonly signal?: AbortSignal;
  /**
   * `none` returns a redirect as the response. `same-host` allows another path, and https instead of http. `public` allows every host
   * but special addresses; another host gets no credentials. Default: none.
   */
  readonly redirects?: "none" | "same-host" | "public";
  /**
   * `public` refuses names that resolve to special addresses; a user who means such an address can write it. A list replaces the name
   * resolution. Default: public.
   */
  readonly addresses?: "public" | "any" | readonly string[];
  /** Replaces the name resolution of the system, for `public`. */
  readonly lookup?: LookupFunction;
  /** Allows http to other machines. */
  readonly allowPlaintext?: boolean;
  /** Requests and unpacks a compressed body. */
  readonly decompress?: boolean;
}

export interface FetchResponse {
  /** After redirects. */
  readonly url: URL;
  readonly status: number;
  readonly statusText: string;
  readonly headers: Readonly<Record<string, string | undefined>>;
  /** The position of the first byte of the body: 0, or the offset of `resume`. */
  readonly offset: number;
  /** The size of the whole file, packed if it is packed, if the server says it. */
  readonly size: number | undefined;
  /** Can be read once. Throws a FetchError. A body that is not read must be closed. */
  readonly body: AsyncIterable<Buffer>;
  bytes(): Promise<Buffer>;
  close(): void;
}

export type FetchFailure =
  /** Neither https, nor http to this machine. */
  | "insecure"
  | "private-address"
  /** The target of a redirect is not allowed, or not a URL. */
  | "redirect"
  | "too-many-redirects"
  | "too-large"
  /** The limit for everything was exceeded. */
  | "timeout"
  | "silence"
  /** The connection ended in the middle of the body. */
  | "incomplete"
  /** The server sent another part than the requested one. */
  | "range"
  | "network";

/** The message is a phrase about "it", without a URL. */
export class FetchError extends Error {
  readonly kind: FetchFailure;
  /** The URL that was requested. */
  readonly url: URL;
  /** The target of the refused redirect. */
  readonly target: URL | undefined;
  /** The error code of the system, such as ECONNREFUSED. */
  readonly code: string | undefined;

  constructor(kind: FetchFailure, message: string, url: URL, more: { cause?: unknown; target?: URL } = {}) {
    super(message, { cause: more.cause });
    this.kind = kind;
    this.url = url;
    this.target = more.target;
    this.code = (more.cause as NodeJS.ErrnoException | undefined)?.code;
  }
}

const MAX_REDIRECTS = 5;
/** Bytes of a body that wait for the reader. */
const MAX_WAITING_BYTES = 256 * 1024;

/** One request: the options of the caller, the URL after redirects, and the limit for everything. */
interface Exchange {
  readonly url: URL;
  readonly options: FetchOptions;
  readonly late: AbortSignal | undefined;
}

/** Resolves with a response of any status. Throws a FetchError, or the reason of the signal. */
export async function boundedFetch(first: URL, options: FetchOptions): Promise<FetchResponse> {
  const { timeoutMs, allowPlaintext = false, redirects = "none" } = options;
  const late = timeoutMs === undefined ? undefined : AbortSignal.timeout(timeoutMs);
  let url = first;
  let own = options;
  for (let hop = 0; hop <= MAX_REDIRECTS; hop += 1) {
    if (!(allowPlaintext ? isHttpUrl(url) : isSecureUrl(url)))
      throw new FetchError("insecure", `it is not https: ${url.protocol}//${url.host}`, url);
    const response = await open({ url, options: own, late });
    const { location } = response.headers;
    const isRedirect = response.status >= 300 && response.status < 400 && location !== undefined;
    if (!isRedirect || redirects === "none") return response;
    response.close();
    url = redirected(url, location, first, redirects);
    // Credentials are for the first host. A later redirect back to it does not get them again.
    if (url.origin !== first.origin) own = withoutCredentials(own);
  }
  throw new FetchError("too-many-redirects", "it has too many redirects", url);
}

const CREDENTIALS = new Set(["authorization", "cookie", "proxy-authorization"]);

function withoutCredentials(options: FetchOptions): FetchOptions {
  const kept = Object.entries(options.headers ?? {}).filter(([name]) => !CREDENTIALS.has(name.toLowerCase()));
  return { ...options, headers: Object.fromEntries(kept) };
}

function redirected(from: URL, location: string, first: URL, rule: "same-host" | "public"): URL {
  const target = parseUrl(location, from);
  if (target === undefined)
    throw new FetchError("redirect", "it redirects to something that is not a URL", from);
  const { hostname, host, protocol } = target;
  if (rule === "same-host") {
    const isSame = host === from.host && protocol === from.protocol;
    const isUpgrade = hostname === from.hostname && protocol === "https:" && from.protocol === "http:";
    if ((isSame || isUpgrade) && target.username === "" && target.password === "") return target;
    throw new FetchError("redirect", "it redirects to another host, port or protocol", from, { target });
  }
  // Otherwise a public server could make Portolan request pages of the private network.
  if ((isLoopbackHost(hostname) || isSpecialAddress(hostname)) && host !== first.host)
    throw new FetchError("private-address", `it leads to the private address ${host}`, from, { target });
  return target;
}

async function open(exchange: Exchange): Promise<FetchResponse> {
  const { body, signal } = exchange.options;
  signal?.throwIfAborted();
  let message: http.IncomingMessage | undefined;
  try {
    message = await new Promise<http.IncomingMessage>((resolve, reject) => {
      const request = createRequest(exchange);
      // The listener stays: sending the rest of the request may fail after the response.
      request.on("error", reject);
      request.once("response", (found) => {
        // From here on, the time that the reader takes for its own work does not count.
        request.setTimeout(0);
        resolve(found);
      });
      if (body === undefined || typeof body === "string") request.end(body);
      else pipeline(body, request, () => {});
    });
    return toResponse(message, exchange);
  } catch (error) {
    message?.destroy();
    throw toError(error, exchange);
  }
}

function createRequest(exchange: Exchange): http.ClientRequest {
  const { url, options, late } = exchange;
  const { method = "GET", resume, silenceMs, headersMs = silenceMs, addresses = "public" } = options;
  const headers: Record<string, string> = { accept: "*/*", "user-agent": "portolan", ...options.headers };
  if (options.decompress === true) headers["accept-encoding"] = "gzip, br";
  if (resume !== undefined && resume.offset > 0) {
    headers["range"] = `bytes=${resume.offset}-`;
    if (resume.validator !== undefined) headers["if-range"] = resume.validator;
  }
  const signal = AbortSignal.any([options.signal, late].filter((one) => one !== undefined));
  // Loaded at the first use: `node:https` loads all of TLS.
  const {
    request: send,
    Agent,
    globalAgent,
  } = url.protocol === "http:" ? http : process.getBuiltinModule("node:https");
  const lookup =
    addresses === "public"
      ? publicLookup(url, options.lookup)
      : addresses === "any"
        ? undefined
        : fixedLookup(addresses);
  // A pooled connection may have been made without this lookup. The options of Node's agent contain its proxy settings.
  const own = { ...(globalAgent as { options?: http.AgentOptions }).options, keepAlive: false };
  const agent = lookup === undefined ? globalAgent : new Agent(own);
  const request = send(url, { method, headers, timeout: headersMs, signal, lookup, agent });
  if (headersMs !== undefined) request.once("timeout", () => request.destroy(silence(headersMs, url)));
  return request;
}

function publicLookup(url: URL, lookup: LookupFunction | undefined): LookupFunction {
  const refuse = (host: string, address: string): FetchError | undefined =>
    isLoopbackHost(host)
      ? undefined
      : new FetchError("private-address", `${host} leads to the private address ${address}`, url);
  return guardLookup(refuse, lookup);
}

function toResponse(message: http.IncomingMessage, exchange: Exchange): FetchResponse {
  const { statusCode: status = 0, statusMessage: statusText = "" } = message;
  const headers = Object.fromEntries(
    Object.entries(message.headers).map(([name, value]) => [
      name,
      Array.isArray(value) ? value.join(", ") : value,
    ]),
  );
  const { offset, size } =
    status === 206 ? partOf(message, exchange) : { offset: 0, size: lengthOf(message) };
  const body = read(message, arrived(unpacked(message, exchange.options)), { offset, size }, exchange);
  return {
    ...{ url: exchange.url, status, statusText, headers, offset, size, body },
    bytes: async () => {
      const chunks: Buffer[] = [];
      for await (const chunk of body) chunks.push(chunk);
      return Buffer.concat(chunks);
    },
    close: () => void message.on("error", () => {}).destroy(),
  };
}

function lengthOf({ headers }: http.IncomingMessage): number | undefined {
  const length = headers["content-length"];
  return length === undefined ? undefined : Number(length);
}

/** A server may send another part than the requested one, which would corrupt the file. */
function partOf(
  message: http.IncomingMessage,
  { url, options }: Exchange,
): { offset: number; size: number | undefined } {
  const [, start, size] = /^bytes (\d+)-\d+\/(\d+|\*)$/.exec(message.headers["content-range"] ?? "") ?? [];
  if (start === undefined || Number(start) !== options.resume?.offset)
    throw new FetchError("range", "the server sent another part of the file than the requested one", url);
  return { offset: Number(start), size: size === "*" ? undefined : Number(size) };
}

async function* read(
  message: http.IncomingMessage,
  chunks: AsyncIterable<Buffer>,
  { offset, size }: Pick<FetchResponse, "offset" | "size">,
  exchange: Exchange,
): AsyncGenerator<Buffer, void, undefined> {
  const { url, options } = exchange;
  const { silenceMs, maxBytes } = options;
  const tooLarge = new FetchError("too-large", `it is larger than ${maxBytes} bytes`, url);
  const wait = (): NodeJS.Timeout | undefined =>
    silenceMs === undefined
      ? undefined
      : setTimeout(() => message.destroy(silence(silenceMs, url)), silenceMs);
  let received = offset;
  let waiting = wait();
  try {
    if (size !== undefined && size > maxBytes) throw tooLarge;
    for await (const chunk of chunks) {
      clearTimeout(waiting);
      received += chunk.length;
      if (received > maxBytes) throw tooLarge;
      yield chunk;
      waiting = wait();
    }
  } catch (cause) {
    const error = toError(cause, exchange);
    const isCut = error instanceof FetchError && error.kind === "network" && !message.complete;
    throw isCut
      ? new FetchError("incomplete", "the connection ended before the whole response arrived", url, { cause })
      : error;
  } finally {
    clearTimeout(waiting);
    message.destroy();
  }
}

/**
 * Unlike the stream's own iterator, keeps what has arrived when the connection breaks, also before the first read: a download
 * continues from there.
 */
function arrived(stream: Readable): AsyncIterable<Buffer> {
  const chunks: Buffer[] = [];
  let waiting = 0;
  let ended: { readonly error: Error | null | undefined } | undefined;
  let wake = (): void => {};
  stream.on("data", (chunk: Buffer) => {
    chunks.push(chunk);
    waiting += chunk.length;
    if (waiting > MAX_WAITING_BYTES) stream.pause();
    wake();
  });
  finished(stream, (error) => {
    ended = { error };
    wake();
  });
  return (async function* () {
    for (;;) {
      const chunk = chunks.shift();
      if (chunk !== undefined) {
        waiting -= chunk.length;
        yield chunk;
      } else if (ended === undefined) {
        await new Promise<void>((resolve) => {
          wake = resolve;
          stream.resume();
        });
      } else {
        if (ended.error) throw ended.error;
        return;
      }
    }
  })();
}

function unpacked(message: http.IncomingMessage, { decompress = false }: FetchOptions): Readable {
  const encoding = decompress ? message.headers["content-encoding"] : undefined;
  if (encoding === "gzip" || encoding === "x-gzip") return pipeline(message, createGunzip(), () => {});
  if (encoding === "br") return pipeline(message, createBrotliDecompress(), () => {});
  return message;
}

function silence(ms: number, url: URL): FetchError {
  return new FetchError("silence", `nothing arrived for ${ms / 1_000} seconds`, url);
}

/** A FetchError, or the reason of the caller's signal. */
function toError(error: unknown, { url, options, late }: Exchange): Error {
  const { signal, timeoutMs = 0 } = options;
  if (signal?.aborted === true) return signal.reason as Error;
  if (error instanceof FetchError) return error;
  const cause = error as NodeJS.ErrnoException;
  if (late?.aborted === true)
    return new FetchError("timeout", `it took longer than ${timeoutMs / 1_000} seconds`, url, { cause });
  // A host with several addresses fails with an AggregateError, whose message is empty.
  return new FetchError("network", cause.message || cause.code || "the connection failed", url, { cause });
}
