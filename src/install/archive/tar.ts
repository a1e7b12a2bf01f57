// Reads tar archives: files, folders and long names. A link or a device is an error.

import type { ArchiveEntry } from "./unpack.ts";

const BLOCK = 512;
const MOST_NAME = 4_096;

export async function* readTar(source: AsyncIterable<Uint8Array>): AsyncGenerator<ArchiveEntry> {
  const bytes = new Bytes(source);
  try {
    yield* readEntries(bytes);
  } finally {
    await bytes.close();
  }
}

async function* readEntries(bytes: Bytes): AsyncGenerator<ArchiveEntry> {
  let long: { path?: string; size?: number } = {};
  for (;;) {
    const header = await bytes.take(BLOCK);
    if (header === undefined) throw new Error("it ends in the middle");
    if (header.every((byte) => byte === 0)) return;
    checkSum(header);
    const type = String.fromCharCode(header[156] ?? 0);
    if (type === "x" || type === "g" || type === "L") {
      const size = number(header, 124, 12);
      if (size > MOST_NAME * 4) throw new Error("it contains an overlong name");
      const body = (await bytes.take(size)) ?? Buffer.alloc(0);
      await bytes.skip(padding(size));
      if (type === "L") long.path = text(body, 0, body.length);
      if (type === "x") long = { ...long, ...paxFields(body) };
      continue;
    }
    const path = long.path ?? ustarPath(header);
    const size = long.size ?? number(header, 124, 12);
    long = {};
    if (type !== "0" && type !== "\0" && type !== "5" && type !== "7")
      throw new Error(`${JSON.stringify(path)} is a link or a device`);
    const folder = type === "5" || (type === "\0" && path.endsWith("/"));
    const left = { bytes: size };
    yield { path, folder, mode: number(header, 100, 8), body: bytes.stream(left) };
    await bytes.skip(left.bytes + padding(size));
  }
}

const padding = (size: number): number => (BLOCK - (size % BLOCK)) % BLOCK;

function ustarPath(header: Buffer): string {
  const isUstar = text(header, 257, 5) === "ustar";
  // GNU tar uses these bytes for other fields.
  const prefix = isUstar && header[263] === 0x30 ? text(header, 345, 155) : "";
  const name = text(header, 0, 100);
  return prefix === "" ? name : `${prefix}/${name}`;
}

function text(bytes: Buffer, at: number, length: number): string {
  const end = bytes.indexOf(0, at);
  return bytes.toString("utf8", at, end === -1 || end > at + length ? at + length : end);
}

function number(header: Buffer, at: number, length: number): number {
  const digits = text(header, at, length).trim();
  if (!/^[0-7]{0,12}$/.test(digits)) throw new Error("it contains an invalid number");
  return parseInt(digits || "0", 8);
}

function checkSum(header: Buffer): void {
  let sum = 0;
  for (let at = 0; at < BLOCK; at += 1) sum += at >= 148 && at < 156 ? 0x20 : (header[at] ?? 0);
  if (sum !== number(header, 148, 8)) throw new Error("it is damaged");
}

/** Parses `LENGTH key=value\n`, where the length includes itself. */
function paxFields(body: Buffer): { path?: string; size?: number } {
  const fields = new Map<string, string>();
  for (let at = 0; at < body.length;) {
    const space = body.indexOf(0x20, at);
    const length = space === -1 ? 0 : Number(body.toString("latin1", at, space));
    if (!Number.isInteger(length) || length < 5 || at + length > body.length || at + length <= space)
      throw new Error("it is damaged");
    const line = body.toString("utf8", space + 1, at + length - 1);
    const equals = line.indexOf("=");
    if (equals > 0) fields.set(line.slice(0, equals), line.slice(equals + 1));
    at += length;
  }
  const [path, size] = [fields.get("path"), fields.get("size")];
  if (size !== undefined && !/^\d{1,15}$/.test(size)) throw new Error("it contains an invalid size");
  return { ...(path === undefined ? {} : { path }), ...(size === undefined ? {} : { size: Number(size) }) };
}

/** Reads exact numbers of bytes from a stream of chunks. */
class Bytes {
  readonly #source: AsyncIterator<Uint8Array>;
  #chunk: Buffer = Buffer.alloc(0);

  constructor(source: AsyncIterable<Uint8Array>) {
    this.#source = source[Symbol.asyncIterator]();
  }

  /** Undefined at the end of the stream. */
  async take(length: number): Promise<Buffer | undefined> {
    const parts: Buffer[] = [];
    for (let missing = length; missing > 0;) {
      const part = await this.#some(missing);
      if (part === undefined) {
        if (parts.length > 0) throw new Error("it ends in the middle");
        return undefined;
      }
      parts.push(part);
      missing -= part.length;
    }
    return Buffer.concat(parts);
  }

  async close(): Promise<void> {
    await this.#source.return?.();
  }

  async skip(length: number): Promise<void> {
    for await (const part of this.stream({ bytes: length })) void part;
  }

  /** Streams the body of an entry, and counts down the bytes that are left. */
  async *stream(left: { bytes: number }): AsyncGenerator<Buffer> {
    while (left.bytes > 0) {
      const part = await this.#some(left.bytes);
      if (part === undefined) throw new Error("it ends in the middle");
      left.bytes -= part.length;
      yield part;
    }
  }

  async #some(most: number): Promise<Buffer | undefined> {
    while (this.#chunk.length === 0) {
      const next = await this.#source.next();
      if (next.done === true) return undefined;
      this.#chunk = Buffer.from(next.value);
    }
    const part = this.#chunk.subarray(0, most);
    this.#chunk = this.#chunk.subarray(part.length);
    return part;
  }
}
