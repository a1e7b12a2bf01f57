// Reads tar archives with `modern-tar`, which decodes headers and long names. The library skips nothing silently here: every entry
// that is not a file or a folder is an error.

import { Readable } from "node:stream";
import type { ReadableStream } from "node:stream/web";
import type { ArchiveEntry } from "./unpack.ts";

/** `maxBytes` limits the unpacked archive with its headers, before the library sees it. */
export async function* readTar(source: Readable, maxBytes: number): AsyncGenerator<ArchiveEntry> {
  const { createTarDecoder } = await import("modern-tar");
  const { readable, writable } = createTarDecoder({ strict: true });
  const stopped = new AbortController();
  const limited = Readable.from(withLimit(source, maxBytes));
  const fed = Readable.toWeb(limited)
    .pipeTo(writable as never, { signal: stopped.signal })
    // The same error arrives at the reader below.
    .catch(() => {});
  try {
    for await (const { header, body } of readable as unknown as ReadableStream<TarEntry>) {
      const { name, type = "file", mode = 0 } = header;
      if (type !== "file" && type !== "directory")
        throw new Error(`${JSON.stringify(name.slice(0, 200))} is a link or a device`);
      yield { path: name, folder: type === "directory", mode, body };
    }
  } finally {
    stopped.abort();
    source.destroy();
    await fed;
  }
}

interface TarEntry {
  readonly header: { readonly name: string; readonly type?: string; readonly mode?: number };
  readonly body: ReadableStream<Uint8Array>;
}

async function* withLimit(source: AsyncIterable<Uint8Array>, maxBytes: number): AsyncGenerator<Uint8Array> {
  let bytes = 0;
  for await (const chunk of source) {
    bytes += chunk.length;
    if (bytes > maxBytes)
      throw new Error(`its unpacked content is larger than the limit for this archive, ${maxBytes} bytes`);
    yield chunk;
  }
}
