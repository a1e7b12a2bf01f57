// The body of a response, whole or not at all: no more of it is read than is wanted.

import { promisify } from "node:util";
import { brotliDecompress, gunzip, inflate, type InputType, type ZlibOptions } from "node:zlib";
import type { Dispatcher } from "undici";

type Unpack = (input: InputType, options: ZlibOptions) => Promise<Buffer>;

/** For servers that pack although they were asked not to. */
const UNPACK: Readonly<Record<string, Unpack>> = {
  gzip: promisify(gunzip),
  "x-gzip": promisify(gunzip),
  deflate: promisify(inflate),
  br: promisify(brotliDecompress),
};

/** Undefined when there is more than `max`. */
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
  const unpack = UNPACK[String(headers["content-encoding"] ?? "").toLowerCase()];
  if (unpack === undefined || bytes.length === 0) return bytes;
  try {
    return await unpack(bytes, { maxOutputLength: max });
  } catch (error) {
    if ((error as { code?: string }).code === "ERR_BUFFER_TOO_LARGE") return undefined;
    throw error;
  }
}

/** Ends the connection rather than reading what nobody wants. */
export function drop(body: Dispatcher.ResponseData["body"]): undefined {
  body.on("error", () => {});
  body.destroy();
}
