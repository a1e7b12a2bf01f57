import { once } from "node:events";
import { expect, test } from "vitest";
import { serveFetch } from "./fetch.ts";
import type { HttpRequest, HttpResponse } from "./responses.ts";

const URL_OF_MCP = "http://localhost:1234/tools/mcp?a=1";

test("the handler gets method, path, host and headers like from a Node request", async () => {
  let seen: HttpRequest | undefined;
  const request = new Request(URL_OF_MCP, { method: "POST", body: "{}", headers: { "X-Own": "1" } });
  const response = await serveFetch(request, (incoming, outgoing) => {
    seen = incoming;
    outgoing.setHeader("x-early", "2");
    outgoing.writeHead(202, { "x-late": "3", connection: "close" }).end();
  });
  expect(seen).toMatchObject({ method: "POST", url: "/tools/mcp?a=1", complete: false });
  expect(seen?.headers).toMatchObject({ host: "localhost:1234", "x-own": "1" });
  expect(response.status).toBe(202);
  expect(response.body).toBeNull();
  expect(Object.fromEntries(response.headers)).toEqual({ "x-early": "2", "x-late": "3" });
});

test("the response starts with the headers, and its body is streamed", async () => {
  let outgoing: HttpResponse | undefined;
  const response = await serveFetch(new Request(URL_OF_MCP), (_incoming, given) => {
    outgoing = given;
    given.writeHead(200, { "content-type": "text/event-stream" });
    given.flushHeaders();
  });
  const reader = bodyOf(response);
  outgoing?.write("one");
  expect(text(await reader.read())).toBe("one");
  outgoing?.end("two");
  expect(text(await reader.read())).toBe("two");
  expect((await reader.read()).done).toBe(true);
});

test("a client that stops reading pauses the writer, and reading resumes it", async () => {
  const chunk = Buffer.alloc(8 * 1024, "x");
  let outgoing: HttpResponse | undefined;
  const response = await serveFetch(new Request(URL_OF_MCP), (_incoming, given) => {
    outgoing = given;
    given.writeHead(200);
    given.flushHeaders();
  });
  const writer = outgoing as HttpResponse;
  let written = 0;
  do written += 1;
  while (writer.write(chunk) && written < 1_000);
  expect(written).toBeLessThan(10);
  expect(writer.writableLength).toBeGreaterThan(0);
  const drained = once(writer, "drain");
  const reader = bodyOf(response);
  let received = 0;
  while (received < written * chunk.length) received += (await reader.read()).value?.length ?? 0;
  await drained;
  expect(writer.writableLength).toBe(0);
  expect(writer.socket?.bytesWritten).toBe(received);
});

test("the body of a request is read only as far as the handler reads", async () => {
  let pulled = 0;
  let cancelled = false;
  const endless = new ReadableStream<Uint8Array>({
    pull: (controller) => {
      pulled += 1;
      controller.enqueue(new Uint8Array(64 * 1024));
    },
    cancel: () => {
      cancelled = true;
    },
  });
  const init = { method: "POST", body: endless, duplex: "half" } as RequestInit;
  const response = await serveFetch(new Request(URL_OF_MCP, init), (incoming, outgoing) => {
    incoming.once("data", () => {
      incoming.pause();
      outgoing.writeHead(413).end("too large");
    });
  });
  expect(await response.text()).toBe("too large");
  await expect.poll(() => cancelled).toBe(true);
  expect(pulled).toBeLessThan(10);
});

test("a client that disconnects closes the response, before its start and during the body", async () => {
  const abort = new AbortController();
  let outgoing: HttpResponse | undefined;
  const pending = serveFetch(new Request(URL_OF_MCP, { signal: abort.signal }), (_incoming, given) => {
    outgoing = given;
  });
  const closed = once(outgoing as HttpResponse, "close");
  abort.abort();
  await expect(pending).rejects.toMatchObject({ name: "AbortError" });
  await closed;

  const response = await serveFetch(new Request(URL_OF_MCP), (_incoming, given) => {
    outgoing = given;
    given.writeHead(200);
    given.write("part");
  });
  const over = once(outgoing as HttpResponse, "close");
  await response.body?.cancel();
  await over;
});

test("a response that the gateway destroys is an error for the client", async () => {
  const never = serveFetch(new Request(URL_OF_MCP), (_incoming, outgoing) => void outgoing.destroy());
  await expect(never).rejects.toThrow("the connection was closed");
  const response = await serveFetch(new Request(URL_OF_MCP), (_incoming, outgoing) => {
    outgoing.writeHead(200);
    outgoing.write("part", () => outgoing.destroy());
  });
  await expect(response.text()).rejects.toThrow("the connection was closed");
});

function bodyOf(response: Response): ReadableStreamDefaultReader<Uint8Array> {
  if (response.body === null) throw new Error("the response has no body");
  return response.body.getReader();
}

function text({ value }: { value?: Uint8Array }): string {
  return Buffer.from(value ?? []).toString();
}
