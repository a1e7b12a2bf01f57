// Hosts that the login requests of a driver may reach. The tests send no request to another computer.

import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { driver } from "../../../test/helpers/contracts.ts";
import type { Driver } from "../../model/index.ts";
import { sendOnce } from "./driver-auth.ts";

const send = (url: string, one: Driver = driver(), method: "GET" | "POST" = "GET") =>
  sendOnce({ method, url }, AbortSignal.timeout(5_000), one);

async function serve(): Promise<{ port: number; seen: string[] }> {
  const seen: string[] = [];
  const server = createServer((request, response) => {
    seen.push(`${request.method} ${request.url} ${request.headers["content-length"] ?? "-"}`);
    if (request.url === "/endless") response.write("x");
    else response.writeHead(request.url === "/away" ? 302 : 200, { location: "https://example.com/" }).end();
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { port: (server.address() as AddressInfo).port, seen };
}

test.each([
  ["https://10.0.0.1/", "10.0.0.1", "network.egress"],
  ["https://169.254.169.254/latest/meta-data", "169.254.169.254", "network.egress"],
  ["https://[::1]/", "localhost", "network.egress"],
  ["http://127.0.0.1:9/", "localhost:9", "network.egress"],
  ["https://localhost/", "localhost", "network.egress"],
  ["http://8.8.8.8/", "this computer only", "Use an https address."],
  ["https://user:secret@8.8.8.8/", "a password", "Leave the user name"],
  ["ftp://8.8.8.8/", "not https", "Use an https address."],
])("refuses a request to %s", async (url, reason, hint) => {
  const error = await send(url).catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({
    code: "SANDBOX_DENIED",
    message: expect.stringContaining(reason) as string,
    hint: expect.stringContaining(hint) as string,
  });
  expect(String(error)).not.toContain("secret@");
});

test("sends requests to hosts of the network list and to the driver's own server", async () => {
  const { port, seen } = await serve();
  const base = `http://127.0.0.1:${port}`;
  const listed = driver({ launch: { sandbox: { network: [`127.0.0.1:${port}`] } } });
  expect(await send(`${base}/a`, listed)).toEqual({ status: 200 });
  expect(await send(`${base}/b`, listed, "POST")).toEqual({ status: 200 });
  const own = driver({ endpoint: { transport: "http", url: `${base}/mcp` } });
  expect(await send(`${base}/c`, own)).toEqual({ status: 200 });
  expect(seen).toEqual(["GET /a -", "POST /b 0", "GET /c -"]);
});

test("returns a redirect as the response, and does not wait for the body", async () => {
  const { port } = await serve();
  const listed = driver({ launch: { sandbox: { network: [`127.0.0.1:${port}`] } } });
  expect(await send(`http://127.0.0.1:${port}/away`, listed)).toEqual({ status: 302 });
  expect(await send(`http://127.0.0.1:${port}/endless`, listed)).toEqual({ status: 200 });
});
