// The gateway as a server on stdin and stdout: one client, for as long as its input is open.

import type { Readable, Writable } from "node:stream";
import { RPC } from "../../model/index.ts";
import { LineReader } from "../../upstream/index.ts";
import { Duplex, type DuplexOptions } from "./duplex.ts";
import { writeError } from "../common/messages.ts";
import { pause } from "../common/pause.ts";

/** A client that takes nothing any more is not waited for. */
const MAX_WAITING_BYTES = 64 * 1024 * 1024;
const DRAIN_MS = 2_000;

export interface StdioOptions extends Pick<DuplexOptions, "modern" | "legacy" | "visit"> {
  readonly input: Readable;
  readonly output: Writable;
  readonly maxMessageBytes: number;
  readonly signal: AbortSignal;
}

/** Resolves when the client has closed its side, cannot be written to, or the signal says so. */
export function serveStdio(options: StdioOptions): Promise<void> {
  const { input, output, signal, maxMessageBytes } = options;
  return new Promise((resolve) => {
    const write = (text: string): void => {
      if (output.writableLength > MAX_WAITING_BYTES) over();
      else if (output.writable) output.write(`${text}\n`);
    };
    const duplex = new Duplex({ ...options, write, enter: () => undefined, leave: () => {} });
    const reader = new LineReader(maxMessageBytes, {
      message: (message) => duplex.receive(message),
      noise: () => write(writeError(null, { code: RPC.PARSE_ERROR, message: "That line is not JSON-RPC" })),
      oversized: (id) =>
        write(
          writeError(id ?? null, {
            code: RPC.INVALID_REQUEST,
            message: `The message is larger than ${maxMessageBytes} bytes`,
          }),
        ),
    });
    const over = (): void => {
      input.off("data", heard);
      duplex.close();
      resolve();
    };
    const heard = (chunk: Buffer): void => reader.push(chunk);
    input.on("data", heard);
    // What was asked before the end is still answered, for a while.
    input.once("end", () => void Promise.race([duplex.idle(), pause(DRAIN_MS)]).then(over));
    input.once("error", over);
    output.once("error", over);
    signal.addEventListener("abort", over, { once: true });
  });
}
