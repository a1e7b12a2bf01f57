// Reads zip archives by their central directory: stored and deflated files. Encrypted entries, links and archives
// above 4 GB are errors.

import { createReadStream } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { pipeline } from "node:stream";
import { createInflateRaw } from "node:zlib";
import type { ArchiveEntry } from "./unpack.ts";

const END = 0x06054b50;
const CENTRAL = 0x02014b50;
const LOCAL = 0x04034b50;
const END_BYTES = 22;
const MOST_COMMENT = 65_535;
const MOST_TABLE = 16 * 1024 * 1024;

export async function* readZip(path: string): AsyncGenerator<ArchiveEntry> {
  const file = await open(path, "r");
  let table: Buffer;
  const entries: {
    readonly entry: Omit<ArchiveEntry, "body">;
    readonly body: () => AsyncIterable<Uint8Array>;
  }[] = [];
  try {
    const { count, size, start } = await readEnd(file);
    table = await readAt(file, start, size);
    for (let at = 0, index = 0; index < count; index += 1) {
      if (at + 46 > table.length || table.readUInt32LE(at) !== CENTRAL) throw new Error("it is damaged");
      const [nameLength, extra, comment] = [28, 30, 32].map((offset) => table.readUInt16LE(at + offset));
      const name = table.toString("utf8", at + 46, at + 46 + (nameLength ?? 0));
      const mode = table.readUInt32LE(at + 38) >>> 16;
      const kind = mode & 0o170000;
      if (kind !== 0 && kind !== 0o100000 && kind !== 0o040000)
        throw new Error(`${JSON.stringify(name)} is a link or a device`);
      if ((table.readUInt16LE(at + 8) & 1) !== 0) throw new Error("it is encrypted");
      const method = table.readUInt16LE(at + 10);
      if (method !== 0 && method !== 8) throw new Error("it is packed in a way that is not known here");
      const [packed, offset] = [table.readUInt32LE(at + 20), table.readUInt32LE(at + 42)];
      const data = offset + 30 + (await localLength(file, offset));
      entries.push({
        entry: { path: name, folder: name.endsWith("/"), mode },
        body: () => content(path, data, packed, method),
      });
      at += 46 + (nameLength ?? 0) + (extra ?? 0) + (comment ?? 0);
    }
  } finally {
    await file.close();
  }
  for (const { entry, body } of entries) yield { ...entry, body: body() };
}

async function* content(
  path: string,
  start: number,
  length: number,
  method: number,
): AsyncGenerator<Uint8Array> {
  if (length === 0) return;
  const source = createReadStream(path, { start, end: start + length - 1 });
  if (method === 0) return yield* source as AsyncIterable<Uint8Array>;
  // A pipeline closes both when one of them ends early.
  yield* pipeline(source, createInflateRaw(), () => {}) as AsyncIterable<Uint8Array>;
}

async function readEnd(file: FileHandle): Promise<{ count: number; size: number; start: number }> {
  const { size: total } = await file.stat();
  const length = Math.min(total, END_BYTES + MOST_COMMENT);
  const tail = await readAt(file, total - length, length);
  for (let at = tail.length - END_BYTES; at >= 0; at -= 1) {
    if (tail.readUInt32LE(at) !== END) continue;
    const [count, size, start] = [
      tail.readUInt16LE(at + 10),
      tail.readUInt32LE(at + 12),
      tail.readUInt32LE(at + 16),
    ];
    if (count === 0xffff || size > MOST_TABLE || start + size > total)
      throw new Error("it is too large or damaged");
    return { count, size, start };
  }
  throw new Error("it is damaged");
}

/** The length of name and extra fields before the data, which may differ from the central directory. */
async function localLength(file: FileHandle, offset: number): Promise<number> {
  const header = await readAt(file, offset, 30);
  if (header.readUInt32LE(0) !== LOCAL) throw new Error("it is damaged");
  return header.readUInt16LE(26) + header.readUInt16LE(28);
}

async function readAt(file: FileHandle, start: number, length: number): Promise<Buffer> {
  const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, start);
  if (bytesRead !== length) throw new Error("it ends in the middle");
  return buffer;
}
