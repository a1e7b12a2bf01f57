// One HTTP request for a file: redirects are followed and checked, and a file that is partly there is continued.

import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import { lookup } from "node:dns";
import { get as httpGet, type IncomingMessage } from "node:http";
import { get as httpsGet } from "node:https";
import type { LookupFunction } from "node:net";
import { fileURLToPath } from "node:url";
import { isLoopbackHost, isSpecialAddress } from "../base/net/addresses.ts";
import { isSecureUrl, parseUrl } from "../base/net/urls.ts";
import type { PortolanError } from "../errors/index.ts";

export interface FileRequest {
  /** The bytes that are there, and the validator of the file that they belong to. */
  readonly from?: { readonly size: number; readonly validator: string };
  readonly signal?: AbortSignal;
  /** Creates the error of a request that must not be repeated. */
  readonly fail: (why: string, more?: { reason?: string; cause?: unknown }) => PortolanError;
}

export interface FileResponse {
  /** The position of the first byte; 0 if the server sends the whole file. */
  readonly start: number;
  /** The size of the whole file, if the server names it. */
  readonly total: number | undefined;
  /** Identifies this version of the file at the server; undefined if it cannot be continued later. */
  readonly validator: string | undefined;
  readonly body: AsyncIterable<Buffer>;
  close(): void;
}

const MAX_REDIRECTS = 5;
const SILENCE_MS = 60_000;

export async function fetchFile(url: string, request: FileRequest): Promise<FileResponse> {
  if (url.startsWith("file:")) return openLocal(url);
  const first = checkUrl(parseUrl(url), request);
  let response = await follow(first, request);
  // The server no longer has the part that is missing here.
  if (response.statusCode === 416) response = await follow(first, { ...request, from: undefined });
  const { statusCode = 0, headers } = response;
  const range = statusCode === 206 ? /^bytes (\d+)-\d+\/(\d+)$/.exec(headers["content-range"] ?? "") : null;
  const isContinued = range !== null && Number(range[1]) === request.from?.size;
  if (statusCode !== 200 && !isContinued) {
    response.destroy();
    throw request.fail(`the server answered with status ${statusCode}`, { reason: `HTTP_${statusCode}` });
  }
  const length = Number(headers["content-length"] ?? Number.NaN);
  const total = isContinued ? Number(range[2]) : length;
  const { etag, "last-modified": date, "accept-ranges": ranges } = headers;
  return {
    start: isContinued ? Number(range[1]) : 0,
    total: Number.isNaN(total) ? undefined : total,
    // A weak ETag does not promise the same bytes.
    validator: ranges === "none" ? undefined : etag === undefined || etag.startsWith("W/") ? date : etag,
    body: whole(response),
    close: () => void response.destroy(),
  };
}

async function* whole(response: IncomingMessage): AsyncGenerator<Buffer> {
  yield* response as AsyncIterable<Buffer>;
  if (!response.complete) throw new Error("it ended in the middle");
}

/** A registry may be a folder of this machine. */
async function openLocal(url: string): Promise<FileResponse> {
  const path = fileURLToPath(url);
  const { size } = await stat(path);
  const stream = createReadStream(path);
  return { start: 0, total: size, validator: undefined, body: stream, close: () => void stream.destroy() };
}

async function follow(first: URL, request: FileRequest): Promise<IncomingMessage> {
  let url = first;
  for (let hop = 0; hop <= MAX_REDIRECTS; hop += 1) {
    const response = await requestOnce(url, request);
    const { statusCode = 0, headers } = response;
    if (statusCode < 300 || statusCode >= 400 || headers.location === undefined) return response;
    response.destroy();
    const target = checkUrl(parseUrl(headers.location, url), request);
    if (isSpecialHost(target) && target.host !== first.host)
      throw request.fail(`it leads to the private address ${target.host}`);
    url = target;
  }
  throw request.fail("it leads from one address to the next without end");
}

function requestOnce(url: URL, { from, signal, fail }: FileRequest): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const get = url.protocol === "http:" ? httpGet : httpsGet;
    const failed = (cause: Error): void => {
      if (signal?.aborted === true) reject(signal.reason as Error);
      else reject(fail(cause.message, { cause }));
    };
    const options = {
      signal,
      lookup: publicLookup,
      timeout: SILENCE_MS,
      headers: {
        "user-agent": "portolan",
        "accept-encoding": "identity",
        ...(from === undefined ? {} : { range: `bytes=${from.size}-`, "if-range": from.validator }),
      },
    };
    const request = get(url, options as Parameters<typeof get>[1], resolve);
    request.once("error", failed);
    request.once("timeout", () => request.destroy(new Error("nothing came for a minute")));
  });
}

/** Refuses a name that resolves to a private address; a user who means such an address can write the address. */
const publicLookup: LookupFunction = (hostname, options, callback) => {
  lookup(hostname, { ...options, all: true }, (error, found) => {
    if (error !== null) return callback(error, "", 0);
    const special = found.find(({ address }) => isSpecialAddress(address));
    if (special !== undefined && !isLoopbackHost(hostname))
      return callback(new Error(`${hostname} leads to the private address ${special.address}`), "", 0);
    if (options.all === true) callback(null, found);
    else callback(null, found[0]?.address ?? "", found[0]?.family);
  });
};

function checkUrl(url: URL | undefined, { fail }: FileRequest): URL {
  if (url !== undefined && isSecureUrl(url)) return url;
  throw fail(url === undefined ? "it is no address" : `it is not https: ${url.protocol}//${url.host}`);
}

function isSpecialHost({ hostname }: URL): boolean {
  return isLoopbackHost(hostname) || isSpecialAddress(hostname);
}
