// Reads zip archives with `yauzl`, which checks names, sizes and checksums. Encrypted entries and links are errors.

import type { Entry, ZipFile } from "yauzl";
import type { ArchiveEntry } from "./unpack.ts";

const FILE = 0o100000;
const FOLDER = 0o040000;

/** `source` is a path, or the archive itself. */
export async function* readZip(source: string | Buffer): AsyncGenerator<ArchiveEntry> {
  const { fromBufferPromise, openPromise } = (await import("yauzl")).default;
  const options = { lazyEntries: true, autoClose: false, strictFileNames: true, validateEntrySizes: true };
  const zip = await (typeof source === "string"
    ? openPromise(source, options)
    : fromBufferPromise(source, options));
  try {
    for await (const entry of zip.eachEntry()) {
      await checkEntry(zip, entry);
      const { fileName: path, externalFileAttributes } = entry;
      const folder = path.endsWith("/");
      yield { path, folder, mode: externalFileAttributes >>> 16, body: contentOf(zip, entry) };
    }
  } finally {
    zip.close();
  }
}

/** Reads one file of a zip. Undefined if it is not there; an error if it is there twice, or too large. */
export async function readZipFile(
  archive: Buffer,
  path: string,
  maxBytes: number,
): Promise<Buffer | undefined> {
  let found: Buffer | undefined;
  for await (const entry of readZip(archive)) {
    if (entry.path !== path) continue;
    if (found !== undefined) throw new Error(`it contains ${JSON.stringify(path)} twice`);
    const chunks: Uint8Array[] = [];
    let bytes = 0;
    for await (const chunk of entry.body) {
      bytes += chunk.length;
      if (bytes > maxBytes) throw new Error(`${JSON.stringify(path)} is larger than ${maxBytes} bytes`);
      chunks.push(chunk);
    }
    found = Buffer.concat(chunks);
  }
  return found;
}

async function checkEntry(zip: ZipFile, entry: Entry): Promise<void> {
  const name = JSON.stringify(entry.fileName.slice(0, 200));
  const kind = (entry.externalFileAttributes >>> 16) & 0o170000;
  if (kind !== 0 && kind !== FILE && kind !== FOLDER) throw new Error(`${name} is a link or a device`);
  if (entry.isEncrypted()) throw new Error(`${name} is encrypted`);
  if (!entry.canDecodeFileData()) throw new Error(`${name} uses a compression method that is not supported`);
  const { fileName } = await zip.readLocalFileHeaderPromise(entry);
  // Another program could read the other name.
  if (!fileName.equals(entry.fileNameRaw)) throw new Error(`${name} has two different names`);
}

async function* contentOf(zip: ZipFile, entry: Entry): AsyncGenerator<Uint8Array> {
  const stream = await zip.openReadStreamPromise(entry);
  try {
    yield* stream as AsyncIterable<Buffer>;
  } finally {
    stream.destroy();
  }
}
