// Bounded fetch against real servers: limits, redirects, addresses, ranges, and bodies that end too early.

import { once } from "node:events";
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from "node:http";
import type { AddressInfo, LookupFunction } from "node:net";
import { Readable } from "node:stream";
import { brotliCompressSync, gzipSync } from "node:zlib";
import { expect, onTestFinished, test } from "vitest";
import { boundedFetch, type FetchOptions, type FetchResponse } from "./bounded-fetch.ts";

async function serve(listener: RequestListener): Promise<{ origin: string; seen: IncomingMessage[] }> {
  const seen: IncomingMessage[] = [];
  const server = createServer((request, response) => {
    seen.push(request);
    listener(request, response);
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, seen };
}

function get(url: string, options: Partial<FetchOptions> = {}): Promise<FetchResponse> {
  return boundedFetch(new URL(url), { maxBytes: 1_000, ...options });
}

async function read(url: string, options: Partial<FetchOptions> = {}): Promise<string> {
  return (await (await get(url, options)).bytes()).toString();
}

test("a response of any status has headers, a body and the URL that answered", async () => {
  const { origin, seen } = await serve((_request, response) => {
    response.writeHead(404, "Not Here", { etag: '"1"', "content-length": 7 }).end("nothing");
  });
  const response = await get(`${origin}/a`, { headers: { accept: "text/plain" } });
  expect(response).toMatchObject({ status: 404, statusText: "Not Here", offset: 0, size: 7 });
  expect(response.headers["etag"]).toBe('"1"');
  expect(response.url.href).toBe(`${origin}/a`);
  expect((await response.bytes()).toString()).toBe("nothing");
  expect(seen[0]?.headers).toMatchObject({ accept: "text/plain", "user-agent": "portolan" });
});

test("a body is sent as a text or as a stream", async () => {
  const { origin, seen } = await serve((request, response) => void request.pipe(response));
  expect(await read(origin, { method: "POST", body: "a text" })).toBe("a text");
  expect(await read(origin, { method: "PUT", body: Readable.from(["a ", "stream"]) })).toBe("a stream");
  expect(seen.map(({ method }) => method)).toEqual(["POST", "PUT"]);
  expect(seen[0]?.headers["content-length"]).toBe("6");
});

test("the size limit applies to content-length, to the received bytes, and to the decompressed bytes", async () => {
  const { origin } = await serve((request, response) => {
    if (request.url === "/length") response.writeHead(200, { "content-length": "1001" }).write("x");
    else if (request.url === "/packed")
      response.writeHead(200, { "content-encoding": "gzip" }).end(gzipSync("x".repeat(100_000)));
    else response.write("x".repeat(1_001));
  });
  for (const path of ["length", "packed", "chunks"])
    await expect(read(`${origin}/${path}`, { decompress: true }), path).rejects.toMatchObject({
      kind: "too-large",
      message: "it is larger than 1000 bytes",
    });
});

test("a compressed body is decompressed only on request", async () => {
  const { origin, seen } = await serve((request, response) => {
    const isBrotli = request.url === "/br";
    response.writeHead(200, { "content-encoding": isBrotli ? "br" : "gzip" });
    response.end(isBrotli ? brotliCompressSync("text") : gzipSync("text"));
  });
  expect(await read(`${origin}/gzip`, { decompress: true })).toBe("text");
  expect(await read(`${origin}/br`, { decompress: true })).toBe("text");
  expect(await (await get(origin)).bytes()).toEqual(gzipSync("text"));
  expect(seen.map(({ headers }) => headers["accept-encoding"])).toEqual(["gzip, br", "gzip, br", undefined]);
});

test("a body that ends too early is an error, compressed or not", async () => {
  const half = (response: ServerResponse, bytes: string | Buffer): void => {
    response.write(bytes, () => response.destroy());
  };
  const { origin } = await serve((request, response) => {
    if (request.url === "/packed") response.setHeader("content-encoding", "gzip");
    half(response, request.url === "/packed" ? gzipSync("text".repeat(100)).subarray(0, 12) : "half");
  });
  for (const path of ["plain", "packed"])
    await expect(read(`${origin}/${path}`, { decompress: true }), path).rejects.toMatchObject({
      kind: "incomplete",
      code: "ECONNRESET",
    });
});

test("a late reader still gets the bytes that arrived before the connection broke", async () => {
  const { origin } = await serve((_request, response) => {
    response.writeHead(200, { "content-length": 8 });
    response.write("half", () => response.destroy());
  });
  const { body } = await get(origin);
  // A later connection has ended, so this one has ended, too.
  await expect(read(origin)).rejects.toMatchObject({ kind: "incomplete" });
  let text = "";
  await expect(
    (async () => {
      for await (const chunk of body) text += chunk.toString();
    })(),
  ).rejects.toMatchObject({ kind: "incomplete" });
  expect(text).toBe("half");
});

test("a silent server and a slow body have separate time limits", async () => {
  const { origin } = await serve((request, response) => {
    if (request.url === "/body") response.write("begin");
    if (request.url !== "/drip") return;
    const timer = setInterval(() => response.write("x"), 5);
    response.on("close", () => clearInterval(timer));
  });
  for (const path of ["headers", "body"])
    await expect(read(`${origin}/${path}`, { silenceMs: 50 }), path).rejects.toMatchObject({
      kind: "silence",
      message: "nothing arrived for 0.05 seconds",
    });
  await expect(read(origin, { silenceMs: 60_000, headersMs: 50 })).rejects.toMatchObject({ kind: "silence" });
  await expect(
    read(`${origin}/drip`, { timeoutMs: 100, silenceMs: 60_000, maxBytes: 1e9 }),
  ).rejects.toMatchObject({ kind: "timeout" });
  await expect(read(`${origin}/headers`, { timeoutMs: 50 })).rejects.toMatchObject({ kind: "timeout" });
});

test("an abort ends the request with the reason of the signal, before and during the body", async () => {
  const { origin } = await serve((request, response) => {
    if (request.url === "/body") response.write("begin");
    request.socket.emit("seen");
  });
  const reason = new Error("the user pressed Ctrl-C");
  await expect(read(origin, { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
  const stop = new AbortController();
  const { body } = await get(`${origin}/body`, { signal: stop.signal });
  await expect(
    (async () => {
      for await (const _chunk of body) stop.abort(reason);
    })(),
  ).rejects.toBe(reason);
});

test("a failed connection is an error with the system's code", async () => {
  await expect(get("http://127.0.0.1:1/")).rejects.toMatchObject({ kind: "network", code: "ECONNREFUSED" });
  await expect(get("http://localhost:1/")).rejects.toMatchObject({ kind: "network", code: "ECONNREFUSED" });
});

test.each(["http://example.com/", "ftp://example.com/", "file:///etc/passwd"])(
  "refuses the insecure URL %s",
  async (url) => {
    await expect(get(url)).rejects.toMatchObject({ kind: "insecure" });
  },
);

test("a name that resolves to a private address is refused when the connection is made", async () => {
  const { origin, seen } = await serve((_request, response) => void response.end("private"));
  const { port } = new URL(origin);
  const url = `http://private.test:${port}/`;
  // Without a network, only localhost is sure to resolve to a private address: the test uses its own lookup.
  const lookup: LookupFunction = (_host, _options, callback) =>
    callback(null, [{ address: "127.0.0.1", family: 4 }]);
  await expect(get(url, { allowPlaintext: true, lookup })).rejects.toMatchObject({
    kind: "private-address",
    message: "private.test leads to the private address 127.0.0.1",
  });
  expect(seen).toEqual([]);
});

test('the option "addresses" replaces the name resolution', async () => {
  const { origin, seen } = await serve((_request, response) => void response.end("here"));
  const url = `http://name.invalid:${new URL(origin).port}/`;
  expect(await read(url, { addresses: ["127.0.0.1"], allowPlaintext: true })).toBe("here");
  expect(seen[0]?.headers.host).toBe(new URL(url).host);
});

test("a redirect to another host drops the credentials, also if that host redirects back", async () => {
  const { origin, seen } = await serve((request, response) => {
    const { port } = new URL(`http://${request.headers.host}`);
    const next: Record<string, string> = {
      "/first": "/second",
      "/second": `http://files.test:${port}/third`,
      "/third": `http://registry.test:${port}/last`,
    };
    const location = next[request.url ?? ""];
    if (location === undefined) response.end("the file");
    else response.writeHead(302, { location }).end();
  });
  const options: Partial<FetchOptions> = {
    ...{ redirects: "public", addresses: ["127.0.0.1"], allowPlaintext: true },
    headers: { Authorization: "Bearer secret", accept: "text/plain" },
  };
  const { port } = new URL(origin);
  expect(await read(`http://registry.test:${port}/first`, options)).toBe("the file");
  expect(seen.map(({ url, headers }) => [url, headers.authorization, headers.accept])).toEqual([
    ["/first", "Bearer secret", "text/plain"],
    ["/second", "Bearer secret", "text/plain"],
    ["/third", undefined, "text/plain"],
    ["/last", undefined, "text/plain"],
  ]);
});

test('redirects are returned, or followed as the option "redirects" allows', async () => {
  const other = await serve((_request, response) => void response.end("other"));
  const { origin } = await serve((request, response) => {
    const targets: Record<string, string> = {
      "/moved": "/here",
      "/away": `${other.origin}/`,
      "/private": "https://10.0.0.1/",
      "/plain": "http://example.com/",
      "/loop": "/loop",
      "/none": "http://[",
      "/user": origin.replace("//", "//user:secret@"),
    };
    const location = targets[request.url ?? ""];
    if (location === undefined) response.end("here");
    else response.writeHead(302, { location }).end();
  });
  expect((await get(`${origin}/moved`)).status).toBe(302);
  const followed = await get(`${origin}/moved`, { redirects: "same-host" });
  expect(followed.url.href).toBe(`${origin}/here`);
  expect((await followed.bytes()).toString()).toBe("here");
  const kinds: Record<string, [string, string]> = {
    "/away": ["redirect", "private-address"],
    "/private": ["redirect", "private-address"],
    "/plain": ["redirect", "insecure"],
    "/loop": ["too-many-redirects", "too-many-redirects"],
    "/none": ["redirect", "redirect"],
  };
  for (const [path, [same, any]] of Object.entries(kinds)) {
    await expect(get(origin + path, { redirects: "same-host" }), path).rejects.toMatchObject({ kind: same });
    await expect(get(origin + path, { redirects: "public" }), path).rejects.toMatchObject({ kind: any });
  }
  await expect(get(`${origin}/user`, { redirects: "same-host" })).rejects.toMatchObject({ kind: "redirect" });
});

test("resume requests the rest of a file, and refuses a response with another part", async () => {
  const file = "0123456789";
  const { origin, seen } = await serve((request, response) => {
    const [, from] = /^bytes=(\d+)-$/.exec(request.headers.range ?? "") ?? [];
    const isSame = [undefined, '"1"'].includes(request.headers["if-range"] as string | undefined);
    if (from === undefined || !isSame) return void response.end(file);
    const start = request.url === "/wrong" ? 0 : Number(from);
    response.writeHead(206, { "content-range": `bytes ${start}-9/10` }).end(file.slice(start));
  });
  const resume = { offset: 4, validator: '"1"' };
  const rest = await get(origin, { resume });
  expect(rest).toMatchObject({ status: 206, offset: 4 });
  expect((await rest.bytes()).toString()).toBe("456789");
  expect(seen[0]?.headers).toMatchObject({ range: "bytes=4-", "if-range": '"1"' });
  const changed = await get(origin, { resume: { offset: 4, validator: '"2"' } });
  expect(changed).toMatchObject({ status: 200, offset: 0, size: 10 });
  expect((await changed.bytes()).toString()).toBe(file);
  await expect(get(`${origin}/wrong`, { resume })).rejects.toMatchObject({ kind: "range" });
  await expect(read(origin, { resume, maxBytes: 9 })).rejects.toMatchObject({ kind: "too-large" });
});
