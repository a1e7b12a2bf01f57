// Downloads a file whose hash is known: streamed, limited in size, resumed after an interruption, and verified as a whole. A wrong
// file is deleted.

import { createHash, randomUUID } from "node:crypto";
import { createReadStream } from "node:fs";
import {
  type FileHandle,
  mkdir,
  open,
  readdir,
  readFile,
  rename,
  rm,
  stat,
  writeFile,
} from "node:fs/promises";
import { join } from "node:path";
import { withFileLock } from "../base/files/file-lock.ts";
import { parseUrl, publicPart } from "../base/net/urls.ts";
import { type Integrity, sameIntegrity, toSri } from "../base/text/integrity.ts";
import { PortolanError } from "../errors/index.ts";
import { isObject } from "../model/index.ts";
import { fetchFile, type FileResponse } from "./fetch-file.ts";
import { isNetworkFailure } from "./npm/network.ts";

/** A step that takes a while. */
export interface Progress {
  readonly what: string;
  /** The bytes received so far; absent at the begin and the end. */
  readonly bytes?: { readonly received: number; readonly total?: number };
}

export interface DownloadOptions {
  /** Places of the same file, tried in order: http(s) URLs, or file URLs. */
  readonly urls: readonly [string, ...string[]];
  readonly integrity: Integrity;
  /** The verified file. It must not exist yet. */
  readonly file: string;
  /** The folder for unfinished downloads, on the same file system. */
  readonly partials: string;
  /** The size that the publisher declares. */
  readonly size?: number;
  readonly maxBytes?: number;
  /** The bearer token for a URL; undefined for foreign hosts. */
  readonly token?: (url: string) => Promise<string | undefined>;
  readonly signal?: AbortSignal;
  /** Called now and then with the number of bytes received. */
  readonly onBytes?: (bytes: NonNullable<Progress["bytes"]>) => void;
}

const MAX_BYTES = 512 * 1024 * 1024;
/** A connection that breaks is resumed this often, as long as each time some bytes arrived. */
const MAX_RESUMES = 3;
const REPORT_MS = 500;
const WAIT_MS = 15 * 60_000;
const PARTIAL_AGE_MS = 7 * 24 * 3_600_000;

export async function download(options: DownloadOptions): Promise<void> {
  const { integrity, partials, signal } = options;
  await mkdir(partials, { recursive: true, mode: 0o700 });
  const partial = partialOf(partials, integrity);
  // Two processes may want the same file at once.
  await withFileLock(partial, () => fromFirst(options, partial), { waitMs: WAIT_MS, signal });
}

/**
 * Downloads a file whose hash nobody knows yet, so that a person can approve it. Returns its hash; a later `download` with that hash
 * finds the bytes here.
 */
export async function downloadNew(
  options: Pick<DownloadOptions, "partials" | "maxBytes" | "signal" | "onBytes"> & { readonly url: string },
): Promise<{ readonly integrity: Integrity; readonly file: string }> {
  const { url, partials, maxBytes: most = MAX_BYTES, signal, onBytes } = options;
  await mkdir(partials, { recursive: true, mode: 0o700 });
  const path = join(partials, `${randomUUID()}.new`);
  try {
    const response = await fetchFile(url, { signal, fail: (why, more) => downloadError(url, why, more) });
    try {
      if ((response.total ?? 0) > most) throw tooLarge(url, most);
      const out = await open(path, "wx", 0o600);
      try {
        await writeBody(out, response, { url, most, onBytes });
      } finally {
        await out.close();
      }
    } finally {
      response.close();
    }
    const integrity = await hashOf(path, "sha256");
    const file = partialOf(partials, integrity);
    await withFileLock(file, () => rename(path, file), { waitMs: WAIT_MS, signal });
    return { integrity, file };
  } catch (error) {
    signal?.throwIfAborted();
    if (error instanceof PortolanError || isFull(error)) throw error;
    throw downloadError(url, (error as Error).message, { cause: error });
  } finally {
    await rm(path, { force: true });
  }
}

function partialOf(partials: string, { algorithm, digest }: Integrity): string {
  return join(partials, `${algorithm}-${digest.toString("hex")}`);
}

async function fromFirst(options: DownloadOptions, partial: string): Promise<void> {
  await removeOldPartials(options.partials);
  const there = await hashOf(partial, options.integrity.algorithm).catch(() => undefined);
  if (there !== undefined && sameIntegrity(there, options.integrity)) return keep(partial, options.file);
  const [first, ...others] = options.urls;
  try {
    await fromUrl(first, options, partial);
  } catch (error) {
    for (const url of others) {
      options.signal?.throwIfAborted();
      const isDone = await fromUrl(url, options, partial).then(
        () => true,
        () => false,
      );
      if (isDone) return;
    }
    options.signal?.throwIfAborted();
    throw error;
  }
}

async function fromUrl(url: string, options: DownloadOptions, partial: string): Promise<void> {
  const { integrity, file, size, signal } = options;
  for (let resumes = 0; ;) {
    const state = await readPartial(partial, url);
    try {
      await receive(url, options, partial, state);
    } catch (error) {
      const arrived = await readPartial(partial, url);
      if (arrived === undefined || isFull(error)) await removePartial(partial);
      signal?.throwIfAborted();
      if (isFull(error)) throw error;
      const isLost = !(error instanceof PortolanError);
      if (isLost && resumes < MAX_RESUMES && (arrived?.size ?? 0) > (state?.size ?? 0)) {
        resumes += 1;
        continue;
      }
      throw isLost ? downloadError(url, (error as Error).message, { cause: error }) : error;
    }
    const got = await hashOf(partial, integrity.algorithm);
    if (sameIntegrity(got, integrity)) break;
    const { size: bytes } = await stat(partial);
    await removePartial(partial);
    // The first part may be damaged, or may belong to another file of the same server.
    if (state !== undefined) continue;
    if (size !== undefined && bytes !== size) throw wrongSize(url, bytes, size);
    throw downloadError(url, `its hash is ${toSri(got)}, but ${toSri(integrity)} was expected`, {
      hint: "Do not trust this file: it is not the one whose hash the config or the registry names.",
      reason: "HASH_MISMATCH",
    });
  }
  await keep(partial, file);
}

async function keep(partial: string, file: string): Promise<void> {
  await rename(partial, file);
  await removePartial(partial);
}

/** An unfinished download that the server can continue. */
interface Partial {
  readonly size: number;
  /** The validator of the file: an ETag or a date. */
  readonly validator: string;
}

async function readPartial(partial: string, url: string): Promise<Partial | undefined> {
  try {
    const [found, text] = await Promise.all([stat(partial), readFile(`${partial}.json`, "utf8")]);
    const value: unknown = JSON.parse(text);
    if (!isObject(value) || value.url !== url || typeof value.validator !== "string") return undefined;
    return found.size > 0 ? { size: found.size, validator: value.validator } : undefined;
  } catch {
    return undefined;
  }
}

async function removePartial(partial: string): Promise<void> {
  for (const path of [partial, `${partial}.json`]) await rm(path, { force: true }).catch(() => {});
}

async function removeOldPartials(folder: string): Promise<void> {
  for (const name of await readdir(folder).catch(() => [])) {
    const path = join(folder, name);
    const found = await stat(path).catch(() => undefined);
    if (found !== undefined && Date.now() - found.mtimeMs > PARTIAL_AGE_MS) await rm(path, { force: true });
  }
}

/** Writes the rest of the file behind the bytes that are there. */
async function receive(
  url: string,
  options: DownloadOptions,
  partial: string,
  state: Partial | undefined,
): Promise<void> {
  const { size, signal, token } = options;
  const response = await fetchFile(url, {
    from: state,
    ...{ signal, token },
    fail: (why, more) => downloadError(url, why, more),
  });
  try {
    const { start, total, validator } = response;
    const most = size ?? options.maxBytes ?? MAX_BYTES;
    if (size !== undefined && total !== undefined && total !== size) throw wrongSize(url, total, size);
    if ((total ?? 0) > most) throw tooLarge(url, most);
    if (start === 0) {
      await removePartial(partial);
      if (validator !== undefined)
        await writeFile(`${partial}.json`, JSON.stringify({ url, validator }), { mode: 0o600 });
    }
    const out = await open(partial, start === 0 ? "wx" : "r+", 0o600);
    try {
      await writeBody(out, response, { url, most, onBytes: options.onBytes });
    } finally {
      await out.close();
    }
  } finally {
    response.close();
  }
}

async function writeBody(
  out: FileHandle,
  { body, start, total }: FileResponse,
  { url, most, onBytes }: { url: string; most: number; onBytes: DownloadOptions["onBytes"] },
): Promise<void> {
  let received = start;
  let reportedAt = performance.now();
  for await (const chunk of body) {
    if (received + chunk.length > most) throw tooLarge(url, most);
    for (let done = 0; done < chunk.length;) {
      const { bytesWritten } = await out.write(chunk, done, chunk.length - done, received + done);
      if (bytesWritten === 0)
        throw Object.assign(new Error("ENOSPC: no space left on device"), { code: "ENOSPC" });
      done += bytesWritten;
    }
    received += chunk.length;
    if (performance.now() - reportedAt < REPORT_MS) continue;
    reportedAt = performance.now();
    onBytes?.({ received, total });
  }
  await out.sync();
  if (total !== undefined && received < total)
    throw new Error("the download ended before the whole file arrived");
}

/** Reads the file back from the disk, so that a write that was cut short is detected too. */
async function hashOf(path: string, algorithm: Integrity["algorithm"]): Promise<Integrity> {
  const hash = createHash(algorithm);
  for await (const chunk of createReadStream(path)) hash.update(chunk as Buffer);
  return { algorithm, digest: hash.digest() };
}

function isFull(error: unknown): boolean {
  return ["ENOSPC", "EDQUOT", "EFBIG"].includes((error as NodeJS.ErrnoException).code ?? "");
}

function tooLarge(url: string, most: number): PortolanError {
  return downloadError(url, `it is larger than ${most} bytes`, {
    hint: "Check that the URL names the right file. Portolan does not download a file above this limit.",
    reason: "TOO_LARGE",
  });
}

function wrongSize(url: string, bytes: number, size: number): PortolanError {
  return downloadError(url, `it has ${bytes} bytes, but its publisher declares ${size}`, {
    hint: "Do not trust this file: it is not the one that was published.",
    reason: "SIZE_MISMATCH",
  });
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
      hint ??
      (isOffline
        ? "Check the network connection of this machine. Portolan needs the network only for the download, not for later starts of the server."
        : "Check the address of the file and the network, and try again."),
    data: { url: shown, reason: code },
  });
}
