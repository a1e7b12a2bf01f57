// The response for a file: from its start, or continued where an earlier download ended.

import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { boundedFetch, FetchError, type FetchResponse } from "../base/net/bounded-fetch.ts";
import { isSecureUrl, parseUrl } from "../base/net/urls.ts";
import type { PortolanError } from "../errors/index.ts";

export interface FileRequest {
  /** The bytes that are there, and the validator of the file that they belong to. */
  readonly from?: { readonly size: number; readonly validator: string };
  /** The bearer token for the URL. */
  readonly token?: (url: string) => Promise<string | undefined>;
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

const SILENCE_MS = 60_000;

export async function fetchFile(url: string, request: FileRequest): Promise<FileResponse> {
  if (url.startsWith("file:")) return openLocal(url);
  const address = parseUrl(url);
  if (address === undefined) throw request.fail("it is not a URL");
  let response = await send(address, request);
  // The server no longer has the part that is missing here.
  if (response.status === 416) {
    response.close();
    response = await send(address, { ...request, from: undefined });
  }
  const { status, headers, offset, size, body } = response;
  if (status !== 200 && status !== 206) {
    response.close();
    throw request.fail(`the server answered with status ${status}`, { reason: `HTTP_${status}` });
  }
  const { etag, "last-modified": date, "accept-ranges": ranges } = headers;
  return {
    start: offset,
    total: size,
    // A weak ETag does not promise the same bytes.
    validator: ranges === "none" ? undefined : etag === undefined || etag.startsWith("W/") ? date : etag,
    body,
    close: () => response.close(),
  };
}

async function send(url: URL, request: FileRequest): Promise<FetchResponse> {
  const { from, signal, token, fail } = request;
  const secret = isSecureUrl(url) ? await token?.(url.href) : undefined;
  try {
    return await boundedFetch(url, {
      headers: {
        "accept-encoding": "identity",
        ...(secret === undefined ? {} : { authorization: `Bearer ${secret}` }),
      },
      resume: from === undefined ? undefined : { offset: from.size, validator: from.validator },
      // The caller limits the size, because it knows which one the publisher declares.
      maxBytes: Number.POSITIVE_INFINITY,
      ...{ silenceMs: SILENCE_MS, signal },
      // A private registry may keep its files elsewhere. Another host gets no token, and the hash is compared in any case.
      redirects: "public",
    });
  } catch (error) {
    // The server cannot continue a file. With the same request, each later attempt would fail, too.
    if (error instanceof FetchError && error.kind === "range" && from !== undefined)
      return send(url, { ...request, from: undefined });
    throw error instanceof FetchError ? fail(error.message, { cause: error }) : error;
  }
}

/** A registry may be a folder of this machine. */
async function openLocal(url: string): Promise<FileResponse> {
  const path = fileURLToPath(url);
  const { size } = await stat(path);
  const stream = createReadStream(path);
  return { start: 0, total: size, validator: undefined, body: stream, close: () => void stream.destroy() };
}
