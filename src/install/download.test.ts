// Downloads report their progress.

import { once } from "node:events";
import { mkdtempSync, rmSync, statSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, onTestFinished, test } from "vitest";
import { integrityOf } from "../base/text/integrity.ts";
import { download } from "./download.ts";

const CHUNK = Buffer.alloc(1_000, 1);
const CHUNKS = 500;

test.each([true, false])(
  "download() reports the received bytes; content-length is known: %s",
  async (isKnown) => {
    const folder = mkdtempSync(join(tmpdir(), "portolan-download-"));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    const heard: { received: number; total?: number }[] = [];
    const server = createServer((_, response) => {
      if (isKnown) response.setHeader("content-length", CHUNK.length * CHUNKS);
      void (async () => {
        for (let sent = 0; sent < CHUNKS; sent += 1) {
          response.write(CHUNK);
          // Send slowly until the first progress report arrives.
          if (heard.length === 0) await sleep(20);
        }
        response.end();
      })();
    }).listen(0, "127.0.0.1");
    onTestFinished(() => void server.close());
    await once(server, "listening");
    const file = join(folder, "file");
    await download({
      urls: [`http://127.0.0.1:${(server.address() as AddressInfo).port}/file`],
      integrity: integrityOf(Buffer.alloc(CHUNK.length * CHUNKS, 1)),
      file,
      partials: join(folder, "partial"),
      onBytes: (bytes) => heard.push(bytes),
    });
    expect(statSync(file).size).toBe(CHUNK.length * CHUNKS);
    expect(heard[0]?.received).toBeGreaterThan(0);
    expect(heard[0]?.total).toBe(isKnown ? CHUNK.length * CHUNKS : undefined);
  },
);
