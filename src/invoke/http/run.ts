// Runner of HTTP invocations: sends the request, follows allowed redirects, and reads the response within its limits.

import { STATUS_CODES } from "node:http";
import type { Dispatcher } from "undici";
import { firstWords } from "../../base/text/truncate.ts";
import type { HttpInvocation, JsonObject } from "../../model/index.ts";
import { decodeText, isTextual } from "../media-type.ts";
import type { Outcome, Run, Runner } from "../types.ts";
import { withDeadline } from "../running-requests.ts";
import { mayBePrivate, PrivateAddress, type Agents } from "./agents.ts";
import { followRedirect, createRequestBuilder, type HttpRequest } from "./request.ts";
import { promisify } from "node:util";
import { brotliDecompress, gunzip, inflate, type InputType, type ZlibOptions } from "node:zlib";

const TIMEOUT_MS = 30_000;
const MAX_BYTES = 10 * 1024 * 1024;
const MAX_REDIRECTS = 5;
const SHOWN_CHARS = 4_000;
const BINARY = "application/octet-stream";
const NOTHING = Buffer.alloc(0);

/** `agents` is called with the first request. */
export function createHttpRunner(invocation: HttpInvocation, agents: () => Promise<Agents>): Runner {
  const builder = createRequestBuilder(invocation);
  const allowsPrivate = mayBePrivate(invocation, builder.url.hostname);
  const max = invocation.maxResponseBytes ?? MAX_BYTES;
  const timeoutMs = invocation.timeoutMs ?? TIMEOUT_MS;
  return {
    async run(run: Run): Promise<Outcome> {
      const request = builder.build(run);
      const opened = await agents();
      const { dispatch } = opened;
      const dispatcher = opened.get(allowsPrivate);
      const sent = (signal: AbortSignal): Promise<Outcome> =>
        send(request, { dispatch, dispatcher, signal, max });
      return withDeadline(run.signal, timeoutMs, sent, () =>
        failed(`${request.method} ${request.url.origin} did not answer within ${timeoutMs / 1_000} s.`),
      );
    },
  };
}

interface Sending extends Pick<Agents, "dispatch"> {
  readonly dispatcher: Dispatcher;
  readonly signal: AbortSignal;
  readonly max: number;
}

async function send(first: HttpRequest, { dispatch, dispatcher, signal, max }: Sending): Promise<Outcome> {
  let request = first;
  try {
    for (let hops = 0; ; hops += 1) {
      const { url, method, headers, body } = request;
      const options = { dispatcher, signal, method, headers: { ...headers }, body: body ?? null };
      const response = await dispatch(url, options);
      const next = followRedirect(request, response.statusCode, one(response.headers.location));
      if (next === undefined) return await toOutcome(request, response, max);
      await response.body.dump({ limit: 65_536, signal });
      if (typeof next === "string") return failed(`${describe(first)} failed: ${next}.`);
      if (hops === MAX_REDIRECTS)
        return failed(`${describe(first)} was redirected more than ${MAX_REDIRECTS} times.`);
      request = next;
    }
  } catch (error) {
    signal.throwIfAborted();
    return failed(`${describe(first)} failed: ${describeFailure(error).replace(/\.$/, "")}.`);
  }
}

async function toOutcome(
  request: HttpRequest,
  response: Dispatcher.ResponseData,
  max: number,
): Promise<Outcome> {
  const { statusCode: status, headers } = response;
  const bytes = request.method === "HEAD" ? headText(response) : await readBody(response, max);
  if (bytes === undefined)
    return failed(
      `The response to ${describe(request)} is larger than ${max} bytes, so Portolan did not read it.`,
    );
  const meta: JsonObject = { "portolan/http": { status } };
  const contentType = one(headers["content-type"]) ?? (isTextual(undefined, bytes) ? undefined : BINARY);
  if (request.method === "HEAD") return { bytes, contentType: "text/plain", meta, ...failure(status, "") };
  const shown = isTextual(contentType, bytes) ? firstWords(decodeText(bytes, contentType), SHOWN_CHARS) : "";
  const problem = failure(status, shown);
  return problem === undefined
    ? { bytes, contentType, meta }
    : { bytes: NOTHING, contentType, meta, ...problem };
}

function failure(status: number, body: string): Pick<Outcome, "failure" | "notFound"> | undefined {
  if (status >= 200 && status < 300) return undefined;
  const line = `HTTP ${status} ${STATUS_CODES[status] ?? ""}`.trimEnd();
  return {
    failure: body.trim() === "" ? line : `${line}\n${body}`,
    notFound: status === 404 || status === 410,
  };
}

/** The text of a HEAD response, which has no body: status and headers. */
function headText({ statusCode, headers, body }: Dispatcher.ResponseData): Buffer {
  drop(body);
  const lines = Object.entries(headers).flatMap(([name, value]) =>
    name === "set-cookie" || value === undefined ? [] : [`${name}: ${String(value)}`],
  );
  return Buffer.from([`HTTP ${statusCode} ${STATUS_CODES[statusCode] ?? ""}`, ...lines].join("\n"));
}

function failed(failure: string): Outcome {
  return { failure, bytes: NOTHING };
}

function describe({ method, url }: HttpRequest): string {
  return `${method} ${url.origin}`;
}

function one(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value[0] : value;
}

const REASONS: Readonly<Record<string, string>> = {
  ECONNREFUSED: "the connection was refused",
  ECONNRESET: "the connection was cut",
  EHOSTUNREACH: "the host cannot be reached",
  ENETUNREACH: "the network cannot be reached",
  ENOTFOUND: "there is no host of that name",
  EAI_AGAIN: "the name of the host could not be looked up",
  EPIPE: "the connection was cut",
  ETIMEDOUT: "the connection took too long",
  UND_ERR_CONNECT_TIMEOUT: "the connection took too long",
  UND_ERR_SOCKET: "the connection was closed before the answer was complete",
};

/** Why a request got no response. Stacks and URLs are left out, because a URL may hold secrets. */
function describeFailure(error: unknown): string {
  const all = error instanceof AggregateError ? (error.errors as unknown[]) : [error];
  const first = all[0] instanceof Error ? all[0] : undefined;
  const cause = first?.cause instanceof Error ? first.cause : first;
  if (cause instanceof PrivateAddress) return cause.message;
  const code = cause !== undefined && "code" in cause ? String(cause.code) : "";
  if (REASONS[code] !== undefined) return REASONS[code];
  // Node.js describes certificate errors well, without parts of the request.
  if (/CERT|SIGN|TLS|SSL/.test(code)) return `${cause?.message.slice(0, 300) ?? ""} (${code})`;
  if (code.startsWith("HPE_")) return "the answer is not HTTP";
  return code === "" ? "the request could not be sent" : `the request could not be sent (${code})`;
}

type Decompress = (input: InputType, options: ZlibOptions) => Promise<Buffer>;

/** Decompression for servers that ignore `Accept-Encoding: identity`. */
const DECOMPRESS: Readonly<Record<string, Decompress>> = {
  gzip: promisify(gunzip),
  "x-gzip": promisify(gunzip),
  deflate: promisify(inflate),
  br: promisify(brotliDecompress),
};

/** Reads the body of a response. Undefined when it is longer than `max`. */
async function readBody(
  { headers, body }: Pick<Dispatcher.ResponseData, "headers" | "body">,
  max: number,
): Promise<Buffer | undefined> {
  const chunks: Buffer[] = [];
  let length = 0;
  if (Number(headers["content-length"] ?? 0) > max) return drop(body);
  for await (const chunk of body as AsyncIterable<Buffer>) {
    length += chunk.length;
    if (length > max) return drop(body);
    chunks.push(chunk);
  }
  const bytes = Buffer.concat(chunks);
  const decompress = DECOMPRESS[String(headers["content-encoding"] ?? "").toLowerCase()];
  if (decompress === undefined || bytes.length === 0) return bytes;
  try {
    return await decompress(bytes, { maxOutputLength: max });
  } catch (error) {
    if ((error as { code?: string }).code === "ERR_BUFFER_TOO_LARGE") return undefined;
    throw error;
  }
}

/** Closes the connection without reading the rest of the body. */
function drop(body: Dispatcher.ResponseData["body"]): undefined {
  body.on("error", () => {});
  body.destroy();
}
