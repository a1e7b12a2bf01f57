// Reads the body of a response up to a limit; a longer body is dropped unread.

import { promisify } from "node:util";
import { brotliDecompress, gunzip, inflate, type InputType, type ZlibOptions } from "node:zlib";
import type { Dispatcher } from "undici";

type Decompress = (input: InputType, options: ZlibOptions) => Promise<Buffer>;

/** Decompression for servers that ignore `Accept-Encoding: identity`. */
const DECOMPRESS: Readonly<Record<string, Decompress>> = {
  gzip: promisify(gunzip),
  "x-gzip": promisify(gunzip),
  deflate: promisify(inflate),
  br: promisify(brotliDecompress),
};

/** Undefined when the body is longer than `max`. */
export async function readBody(
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
export function drop(body: Dispatcher.ResponseData["body"]): undefined {
  body.on("error", () => {});
  body.destroy();
}
