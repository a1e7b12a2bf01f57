// Carries out HTTP invocations: sends the request, follows what may be followed, reads what may be read.

import { STATUS_CODES } from "node:http";
import type { Dispatcher } from "undici";
import { firstOf, type HttpInvocation, type JsonObject } from "../../model/index.ts";
import { decodeText, isTextual } from "../media.ts";
import type { Outcome, Run, Runner } from "../types.ts";
import { withDeadline } from "../deadline.ts";
import type { Agents } from "./agents.ts";
import { drop, readBody } from "./body.ts";
import { whyItFailed } from "./failure.ts";
import { mayBePrivate } from "./guard.ts";
import { followRedirect } from "./redirect.ts";
import { createRequestBuilder, type HttpRequest } from "./request.ts";

const TIMEOUT_MS = 30_000;
const MAX_BYTES = 10 * 1024 * 1024;
const MAX_REDIRECTS = 5;
const SHOWN_CHARS = 4_000;
const BINARY = "application/octet-stream";
const NOTHING = Buffer.alloc(0);

/** Loaded with the first request; asking for it anew would cost every call. */
let undici: Promise<typeof import("undici")> | undefined;

/** `agents` comes when the first request is made. */
export function createHttpRunner(invocation: HttpInvocation, agents: () => Promise<Agents>): Runner {
  const builder = createRequestBuilder(invocation);
  const openToAll = mayBePrivate(invocation, builder.url.hostname);
  const max = invocation.maxResponseBytes ?? MAX_BYTES;
  const timeoutMs = invocation.timeoutMs ?? TIMEOUT_MS;
  return {
    async run(run: Run): Promise<Outcome> {
      const request = builder.build(run);
      const dispatcher = (await agents()).get(openToAll);
      const sent = (signal: AbortSignal): Promise<Outcome> => send(request, { dispatcher, signal, max });
      return withDeadline(run.signal, timeoutMs, sent, () =>
        failed(`${request.method} ${request.url.origin} did not answer within ${timeoutMs / 1_000} s.`),
      );
    },
  };
}

interface Sending {
  readonly dispatcher: Dispatcher;
  readonly signal: AbortSignal;
  readonly max: number;
}

async function send(first: HttpRequest, { dispatcher, signal, max }: Sending): Promise<Outcome> {
  const { request: dispatch } = await (undici ??= import("undici"));
  let request = first;
  try {
    for (let hops = 0; ; hops += 1) {
      const { url, method, headers, body } = request;
      const options = { dispatcher, signal, method, headers: { ...headers }, body: body ?? null };
      const response = await dispatch(url, options);
      const next = followRedirect(request, response.statusCode, one(response.headers.location));
      if (next === undefined) return await toOutcome(request, response, max);
      await response.body.dump({ limit: 65_536, signal });
      if (typeof next === "string") return failed(`${describe(first)} was not carried out: ${next}.`);
      if (hops === MAX_REDIRECTS)
        return failed(`${describe(first)} was redirected more than ${MAX_REDIRECTS} times.`);
      request = next;
    }
  } catch (error) {
    signal.throwIfAborted();
    return failed(`${describe(first)} failed: ${whyItFailed(error).replace(/\.$/, "")}.`);
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
    return failed(`The response to ${describe(request)} is larger than ${max} bytes, and was left unread.`);
  const meta: JsonObject = { "portolan/http": { status } };
  const contentType = one(headers["content-type"]) ?? (isTextual(undefined, bytes) ? undefined : BINARY);
  if (request.method === "HEAD") return { bytes, contentType: "text/plain", meta, ...failure(status, "") };
  const shown = isTextual(contentType, bytes) ? firstOf(decodeText(bytes, contentType), SHOWN_CHARS) : "";
  const told = failure(status, shown);
  return told === undefined ? { bytes, contentType, meta } : { bytes: NOTHING, contentType, meta, ...told };
}

function failure(status: number, body: string): Pick<Outcome, "failure" | "notFound"> | undefined {
  if (status >= 200 && status < 300) return undefined;
  const line = `HTTP ${status} ${STATUS_CODES[status] ?? ""}`.trimEnd();
  return {
    failure: body.trim() === "" ? line : `${line}\n${body}`,
    notFound: status === 404 || status === 410,
  };
}

/** A HEAD has no body: what it is about are the headers. */
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
