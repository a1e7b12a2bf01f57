// A download that cannot be continued begins again.

import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { PortolanError } from "../errors/index.ts";
import { fetchFile } from "./fetch-file.ts";

test("if the server sends another part of the file, the whole file is requested", async () => {
  const asked: (string | undefined)[] = [];
  const server = createServer(({ headers: { range } }, response) => {
    asked.push(range);
    if (range === undefined) response.end("0123456789");
    else response.writeHead(206, { "content-range": "bytes 0-9/10" }).end("0123456789");
  }).listen(0, "127.0.0.1");
  onTestFinished(() => void server.close());
  await once(server, "listening");
  const { start, total, body } = await fetchFile(
    `http://127.0.0.1:${(server.address() as AddressInfo).port}/file`,
    { from: { size: 4, validator: '"1"' }, fail: (why) => new PortolanError("INSTALL_FAILED", why) },
  );
  const chunks: Buffer[] = [];
  for await (const chunk of body) chunks.push(chunk);
  expect({ start, total, text: Buffer.concat(chunks).toString() }).toEqual({
    ...{ start: 0, total: 10, text: "0123456789" },
  });
  expect(asked).toEqual(["bytes=4-", undefined]);
});
