// Line reader: newline-delimited JSON-RPC from a byte stream, with a size limit per message. It tolerates noise, BOM and CRLF.

import { isRpcMessage, type RequestId, type RpcMessage } from "../../model/index.ts";
import { ByteBuffer } from "./byte-buffer.ts";

const NEWLINE = 10;
const BOM = "\uFEFF";
/** Length of the two ends of an oversized line in which its id is searched. */
const EDGE_BYTES = 256;

export interface LineEvents {
  message(message: RpcMessage): void;
  noise(line: string): void;
  /** A message exceeded the limit, and the rest of its line is skipped. The id is undefined when it was not found. */
  oversized(id: RequestId | undefined): void;
}

export class LineReader {
  readonly #events: LineEvents;
  readonly #maxBytes: number;
  readonly #buffer = new ByteBuffer();
  /** Set while the rest of an oversized line is discarded. */
  #skipping: { reported: boolean; tail: Buffer } | undefined;

  constructor(maxBytes: number, events: LineEvents) {
    this.#maxBytes = maxBytes;
    this.#events = events;
  }

  push(chunk: Buffer): void {
    let rest = chunk;
    while (this.#skipping !== undefined) {
      const end = rest.indexOf(NEWLINE);
      this.#skipTo(end === -1 ? rest : rest.subarray(0, end), end !== -1);
      if (end === -1) return;
      rest = rest.subarray(end + 1);
    }
    const end = rest.lastIndexOf(NEWLINE);
    if (end === -1) return this.#hold(rest);
    let block = rest.subarray(0, end);
    if (this.#buffer.length > 0) {
      this.#buffer.append(block);
      block = this.#buffer.take();
    }
    this.#lines(block);
    if (end + 1 < rest.length) this.#hold(rest.subarray(end + 1));
  }

  /** The beginning of an unfinished line. */
  partial(): string {
    return this.#buffer.peek().toString("utf8", 0, Math.min(200, this.#buffer.length));
  }

  #hold(bytes: Buffer): void {
    if (bytes.length === 0) return;
    this.#buffer.append(bytes);
    if (this.#buffer.length > this.#maxBytes) this.#startSkipping(this.#buffer.take());
  }

  #lines(block: Buffer): void {
    // A newline byte is never part of a longer UTF-8 sequence, so a block of whole lines decodes correctly.
    const text = block.toString("utf8");
    const mayExceed = block.length > this.#maxBytes;
    let start = 0;
    while (start <= text.length) {
      let end = text.indexOf("\n", start);
      if (end === -1) end = text.length;
      if (end > start) {
        const line = start === 0 && end === text.length ? text : text.slice(start, end);
        if (mayExceed && Buffer.byteLength(line) > this.#maxBytes) {
          this.#events.oversized(idAtEdges(line.slice(0, EDGE_BYTES), line.slice(-EDGE_BYTES)));
        } else {
          this.#line(line);
        }
      }
      start = end + 1;
    }
  }

  #line(raw: string): void {
    const line = raw.startsWith(BOM) ? raw.slice(1) : raw;
    let parsed: unknown;
    try {
      parsed = JSON.parse(line);
    } catch {
      if (line.trim() !== "") this.#events.noise(line);
      return;
    }
    if (Array.isArray(parsed) && parsed.length > 0 && parsed.every(isRpcMessage)) {
      for (const message of parsed) this.#events.message(message);
    } else if (isRpcMessage(parsed)) {
      this.#events.message(parsed);
    } else {
      this.#events.noise(line);
    }
  }

  #startSkipping(line: Buffer): void {
    const id = idAtEdges(line.toString("utf8", 0, EDGE_BYTES), "");
    if (id !== undefined) this.#events.oversized(id);
    this.#skipping = { reported: id !== undefined, tail: Buffer.from(line.subarray(-EDGE_BYTES)) };
  }

  #skipTo(bytes: Buffer, ended: boolean): void {
    const skipping = this.#skipping;
    if (skipping === undefined) return;
    skipping.tail = Buffer.from(
      Buffer.concat([skipping.tail, bytes.subarray(-EDGE_BYTES)]).subarray(-EDGE_BYTES),
    );
    if (!ended) return;
    this.#skipping = undefined;
    if (!skipping.reported) this.#events.oversized(idAtEdges("", skipping.tail.toString("utf8")));
  }
}

/** The id of a response of which only the first and last bytes are available. */
function idAtEdges(head: string, tail: string): RequestId | undefined {
  const match =
    /^\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"id"\s*:\s*(\d+)\s*[,}]/.exec(head) ??
    /[,{]\s*"id"\s*:\s*(\d+)\s*(?:,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?\}\s*$/.exec(tail);
  return match?.[1] === undefined ? undefined : Number(match[1]);
}
