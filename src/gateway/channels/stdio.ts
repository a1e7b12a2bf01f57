// stdio transport: serves one client on stdin and stdout until its input ends.

import type { Readable, Writable } from "node:stream";
import { setTimeout as delay } from "node:timers/promises";
import { RPC } from "../../model/index.ts";
import { LineReader } from "../../upstream/index.ts";
import { Duplex, type DuplexOptions } from "./duplex.ts";
import { writeError } from "../common/messages.ts";

/** A client that leaves this much unread is disconnected. */
const MAX_WAITING_BYTES = 64 * 1024 * 1024;
const DRAIN_MS = 2_000;

export interface StdioOptions extends Pick<DuplexOptions, "modern" | "legacy" | "context"> {
  readonly input: Readable;
  readonly output: Writable;
  readonly maxMessageBytes: number;
  readonly signal: AbortSignal;
}

/** Resolves when the client closes its input or cannot be written to, or when the signal aborts. */
export function serveStdio(options: StdioOptions): Promise<void> {
  const { input, output, signal, maxMessageBytes } = options;
  return new Promise((resolve) => {
    const write = (text: string): void => {
      if (output.writableLength > MAX_WAITING_BYTES) finish();
      else if (output.writable) output.write(`${text}\n`);
    };
    const duplex = new Duplex({ ...options, write, startRequest: () => undefined, endRequest: () => {} });
    const reader = new LineReader(maxMessageBytes, {
      message: (message) => duplex.receive(message),
      noise: () => write(writeError(null, { code: RPC.PARSE_ERROR, message: "The line is not JSON-RPC" })),
      oversized: (id) =>
        write(
          writeError(id ?? null, {
            code: RPC.INVALID_REQUEST,
            message: `The message is larger than ${maxMessageBytes} bytes`,
          }),
        ),
    });
    const finish = (): void => {
      input.off("data", onData);
      // The signal lasts as long as the gateway, and its listener would keep the session of each client in memory.
      signal.removeEventListener("abort", finish);
      duplex.close();
      resolve();
    };
    const onData = (chunk: Buffer): void => reader.push(chunk);
    input.on("data", onData);
    // Requests that arrived before the end of input still get their response, for a limited time.
    input.once(
      "end",
      () => void Promise.race([duplex.idle(), delay(DRAIN_MS, undefined, { ref: false })]).then(finish),
    );
    input.once("error", finish);
    output.once("error", finish);
    signal.addEventListener("abort", finish, { once: true });
  });
}
