// Answer of `portolan serve --stdio` to its client if the start fails: most clients show an error of the protocol, and not stderr.

import type { PortolanError } from "../../errors/index.ts";
import { hasMethod, RPC } from "../../model/index.ts";
import { LineReader } from "../../upstream/index.ts";
import { plainText } from "../terminal/safe-text.ts";
import type { ClientStreams } from "./own-servers.ts";

/** A client sends its first request at once. */
const WAIT_MS = 5_000;
const MAX_MESSAGE_BYTES = 1024 * 1024;

/**
 * Answers each request with the reason of the failed start. Resolves after the answer to `initialize`, when the client closes its
 * input or sends nothing for some seconds, or when the signal aborts.
 */
export function refuseClient(
  { input, output }: ClientStreams,
  { code, message, hint }: PortolanError,
  signal: AbortSignal,
): Promise<void> {
  const text = plainText(`Portolan cannot start. ${message.replace(/[.]?$/, ".")} ${hint}`).trimEnd();
  const error = { code: RPC.INTERNAL, message: text, data: { code, hint } };
  return new Promise((resolve) => {
    const timer = setTimeout(() => finish(), WAIT_MS);
    const finish = (): void => {
      clearTimeout(timer);
      input.off("data", onData);
      resolve();
    };
    const reader = new LineReader(MAX_MESSAGE_BYTES, {
      message(request) {
        if (!hasMethod(request) || !("id" in request)) return;
        timer.refresh();
        output.write(`${JSON.stringify({ jsonrpc: "2.0", id: request.id, error })}\n`);
        // A client that gets an error for a request of the modern era may try the handshake of the legacy era.
        if (request.method === "initialize") finish();
      },
      noise: () => {},
      oversized: () => {},
    });
    const onData = (chunk: Buffer): void => reader.push(chunk);
    input.on("data", onData);
    for (const event of ["end", "close", "error"]) input.once(event, finish);
    output.once("error", finish);
    signal.addEventListener("abort", finish, { once: true });
    if (signal.aborted) finish();
  });
}
