// stdio transport: it removes its listeners when a client leaves.

import { getEventListeners } from "node:events";
import { PassThrough } from "node:stream";
import { expect, it } from "vitest";
import { serveStdio, type StdioOptions } from "./stdio.ts";

it("serveStdio removes its abort listener when the client closes its input", async () => {
  const { signal } = new AbortController();
  for (let client = 0; client < 3; client += 1) {
    const [input, output] = [new PassThrough(), new PassThrough()];
    // No message arrives, so that no part of the gateway is used.
    const parts = {} as Pick<StdioOptions, "modern" | "legacy" | "context">;
    const served = serveStdio({ ...parts, input, output, signal, maxMessageBytes: 1_000 });
    expect(getEventListeners(signal, "abort")).toHaveLength(1);
    input.end();
    await served;
    expect(getEventListeners(signal, "abort")).toHaveLength(0);
  }
});
