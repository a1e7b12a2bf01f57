// Downloads a file whose SHA-256 is known. Size and hash are checked while it arrives; a wrong file is deleted.

import { createHash } from "node:crypto";
import { lookup } from "node:dns";
import { open, rm, stat } from "node:fs/promises";
import { get as httpGet, type IncomingMessage } from "node:http";
import { get as httpsGet } from "node:https";
import type { LookupFunction } from "node:net";
import { isSecureUrl, parseUrl, publicPart } from "../base/net/urls.ts";
import { isLoopbackHost, isSpecialAddress } from "../base/net/addresses.ts";
import { PortolanError } from "../errors/index.ts";
import { isNetworkFailure } from "./npm/network.ts";

/** A step that takes a while. */
export interface Progress {
  readonly what: string;
  /** The bytes received so far; absent at the begin and the end. */
  readonly bytes?: { readonly received: number; readonly total?: number };
}

export interface DownloadOptions {
  readonly url: string;
  /** 64 hexadecimal digits. */
  readonly sha256: string;
  readonly file: string;
  readonly maxBytes?: number;
  readonly signal?: AbortSignal;
  /** Called now and then with the number of bytes received. */
  readonly onBytes?: (bytes: NonNullable<Progress["bytes"]>) => void;
}

const MOST_BYTES = 512 * 1024 * 1024;
const MOST_REDIRECTS = 5;
const SILENCE_MS = 60_000;
/** Interval of progress reports. */
const TELL_MS = 500;

export async function download({
  url,
  sha256,
  file,
  maxBytes = MOST_BYTES,
  signal,
  onBytes,
}: DownloadOptions): Promise<void> {
  const response = await follow(checkUrl(parseUrl(url), url), url, signal);
  const hash = createHash("sha256");
  const total = Number(response.headers["content-length"] ?? Number.NaN);
  let bytes = 0;
  let toldAt = performance.now();
  try {
    const out = await open(file, "wx", 0o600);
    try {
      for await (const chunk of response as AsyncIterable<Buffer>) {
        bytes += chunk.length;
        if (bytes > maxBytes) throw downloadError(url, `it is larger than ${maxBytes} bytes`);
        hash.update(chunk);
        await out.writeFile(chunk);
        if (performance.now() - toldAt < TELL_MS) continue;
        toldAt = performance.now();
        onBytes?.({ received: bytes, total: Number.isNaN(total) ? undefined : total });
      }
    } finally {
      await out.close();
    }
    if (!response.complete) throw downloadError(url, "it ended in the middle");
    const digest = hash.digest("hex");
    if (digest !== sha256.toLowerCase())
      throw downloadError(url, `its SHA-256 is ${digest}, and the config says ${sha256}`, {
        hint: "Do not trust this file: it is not the one that the config describes.",
        reason: "HASH_MISMATCH",
      });
    if ((await stat(file)).size !== bytes)
      throw downloadError(url, "it could not be written whole: is the disk full?");
  } catch (error) {
    response.destroy();
    await rm(file, { force: true }).catch(() => {});
    signal?.throwIfAborted();
    throw error instanceof PortolanError
      ? error
      : downloadError(url, (error as Error).message, { cause: error });
  }
}

async function follow(
  first: URL,
  declared: string,
  signal: AbortSignal | undefined,
): Promise<IncomingMessage> {
  let url = first;
  for (let hop = 0; hop <= MOST_REDIRECTS; hop += 1) {
    const response = await requestOnce(url, declared, signal);
    const { statusCode = 0, headers } = response;
    if (statusCode === 200) return response;
    response.destroy();
    if (statusCode < 300 || statusCode >= 400 || headers.location === undefined)
      throw downloadError(declared, `the server answered with status ${statusCode}`);
    const target = checkUrl(parseUrl(headers.location, url), declared);
    if (isSpecialHost(target) && target.host !== first.host)
      throw downloadError(declared, `it leads to the private address ${target.host}`);
    url = target;
  }
  throw downloadError(declared, "it leads from one address to the next without end");
}

function requestOnce(url: URL, declared: string, signal: AbortSignal | undefined): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const get = url.protocol === "http:" ? httpGet : httpsGet;
    const failed = (cause: Error): void => {
      if (signal?.aborted === true) reject(signal.reason as Error);
      else reject(downloadError(declared, cause.message, { cause }));
    };
    const options = {
      signal,
      lookup: publicLookup,
      timeout: SILENCE_MS,
      headers: { "user-agent": "portolan" },
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

function checkUrl(url: URL | undefined, declared: string): URL {
  if (url !== undefined && isSecureUrl(url)) return url;
  throw downloadError(
    declared,
    url === undefined ? "it is no address" : `it is not https: ${url.protocol}//${url.host}`,
  );
}

function isSpecialHost({ hostname }: URL): boolean {
  return isLoopbackHost(hostname) || isSpecialAddress(hostname);
}

function downloadError(
  url: string,
  why: string,
  { hint, reason, cause }: { hint?: string; reason?: string; cause?: unknown } = {},
): PortolanError {
  // A URL may contain credentials, also in its query.
  const parsed = parseUrl(url);
  const shown = parsed === undefined ? "the address" : publicPart(parsed);
  const code = reason ?? (cause as NodeJS.ErrnoException | undefined)?.code;
  const isOffline = isNetworkFailure(code);
  return new PortolanError("INSTALL_FAILED", `${shown} could not be downloaded: ${why}.`, {
    cause,
    hint:
      hint ?? (isOffline ? "Is this machine online? Once downloaded, it starts without network." : undefined),
    data: { url: shown, reason: code },
  });
}
