// HTTP invocations against real servers: requests, redirects, refusals and results.

import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer as createTlsServer } from "node:https";
import type { LookupFunction } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { atEnd, http, open, openTool, record, strings, textOf, tool } from "../../../test/helpers/invoke.ts";
import type { ClientTls, JsonSchema } from "../../model/index.ts";
import { needs } from "../../../test/helpers/needs.ts";

const ANY: JsonSchema = { type: "object", additionalProperties: true };

test("unused arguments become the query: lists repeat, objects use dots, null is left out", async () => {
  const { origin, requests } = await record();
  const { call } = await openTool(http("GET", `${origin}/a/{id}?x=1&opt={opt}&tags={tags}`), ANY);
  await call({
    id: 7,
    tags: ["p", "q r"],
    n: 3.5,
    big: 1_000_000,
    yes: true,
    list: [1, "b", { c: 1 }],
    deep: { a: { b: "c" }, e: "é" },
    none: null,
  });
  expect(decodeURIComponent(requests[0]?.url ?? "")).toBe(
    '/a/7?x=1&tags=p&tags=q r&n=3.5&big=1000000&yes=true&list=1&list=b&list={"c":1}&deep.a.b=c&deep.e=é',
  );
  expect(requests[0]?.headers["content-type"]).toBeUndefined();
  expect(requests[0]?.body).toBe("");
});

test("unused arguments become the JSON body of a PUT", async () => {
  const { origin, requests } = await record();
  const { call } = await openTool(
    http("PUT", `${origin}/a/{path.one}`, {
      headers: { "X-Trace": "{trace}", "X-Absent": "v {absent}", "Content-Type": "text/plain" },
      query: ["page"],
    }),
    ANY,
  );
  await call({ path: { one: "1" }, trace: "t", page: 2, keep: { a: [null, 1] }, other: null });
  expect(requests[0]).toMatchObject({ method: "PUT", url: "/a/1?page=2" });
  expect(requests[0]?.headers).toMatchObject({
    "x-trace": "t",
    "content-type": "application/json; charset=UTF-8",
  });
  expect(requests[0]?.headers["x-absent"]).toBeUndefined();
  expect(JSON.parse(requests[0]?.body ?? "")).toEqual({ keep: { a: [null, 1] }, other: null });
  await call({ path: { one: "1" } });
  expect(requests[1]?.body).toBe("{}");
});

test.each([
  ["application/merge-patch+json", "application/merge-patch+json"],
  ["Application/JSON; profile=x", "Application/JSON; profile=x"],
  ["application/json-seq", "application/json; charset=UTF-8"],
  ["text/json-like", "application/json; charset=UTF-8"],
])("a declared content type %s is sent as %s", async (declared, sent) => {
  const { origin, requests } = await record();
  const { call } = await openTool(http("PATCH", origin, { headers: { "Content-Type": declared } }), ANY);
  await call({ a: 1 });
  expect(requests[0]?.headers["content-type"]).toBe(sent);
});

test("the body can be a form, a single argument, a list, or missing", async () => {
  const { origin, requests } = await record();
  const bodyOf = async (more: Parameters<typeof http>[2], args: Record<string, unknown>) => {
    const { call } = await openTool(http("POST", origin, more), ANY);
    await call(args);
    const { body, headers } = requests.at(-1) ?? {};
    return [body, headers?.["content-type"]];
  };
  const json = "application/json; charset=UTF-8";
  expect(await bodyOf({ rest: "form" }, { a: "x&y", b: [1, 2], c: { d: true } })).toEqual([
    "a=x%26y&b=1&b=2&c.d=true",
    "application/x-www-form-urlencoded",
  ]);
  expect(await bodyOf({ bodyRoot: ["a", "b", 0] }, { a: { b: [{ c: 1 }] } })).toEqual(['{"c":1}', json]);
  expect(await bodyOf({ bodyRoot: ["a"] }, { a: "text" })).toEqual(['"text"', json]);
  expect(await bodyOf({ bodyRoot: ["constructor"] }, {})).toEqual(["{}", json]);
  expect(await bodyOf({ bodyAsArray: true }, { a: 1 })).toEqual(['[{"a":1}]', json]);
  expect(await bodyOf({ ignored: [["b"], ["c", "d"]] }, { a: 1, b: 2, c: { d: 3, e: 4 } })).toEqual([
    '{"a":1,"c":{"e":4}}',
    json,
  ]);
  expect(await bodyOf({ rest: "query" }, { a: 1 })).toEqual(["", undefined]);
});

test("credentials of the URL become a header, and values are not searched for references again", async () => {
  const { origin, requests, port } = await record();
  const { call } = await openTool(
    http("GET", `http://me:\${PASS}@127.0.0.1:${port}/{v}`, {
      headers: { "X-Key": "${KEY}", "X-From": "{headers.X-Id}" },
    }),
    ANY,
    { env: { PASS: "p%40ss", KEY: "k {v} ${PASS}" } },
  );
  const headers = { "x-ID": "client" };
  await call(
    { v: "${KEY}" },
    { caller: { clientInfo: { name: "c", version: "1" }, capabilities: {}, headers } },
  );
  expect(requests[0]?.url).toBe("/%24%7BKEY%7D");
  expect(requests[0]?.headers).toMatchObject({
    authorization: `Basic ${Buffer.from("me:p@ss").toString("base64")}`,
    "x-key": "k {v} ${PASS}",
    "x-from": "client",
    host: new URL(origin).host,
  });
  expect(textOf(await call({ v: "x" }))).toContain('header "X-Id"');
});

test("a response becomes text, structured content, an image, audio, a resource or an error", async () => {
  const { origin } = await record((request, response) => {
    const kind = request.url.slice(1);
    if (kind === "json") response.setHeader("content-type", "application/vnd.x+json");
    if (kind === "list") response.setHeader("content-type", "application/json");
    if (kind === "png") response.setHeader("content-type", "image/png");
    if (kind === "wav") response.setHeader("content-type", "audio/wav");
    if (kind === "pdf") response.setHeader("content-type", "application/pdf");
    if (kind === "latin") response.setHeader("content-type", "text/plain; charset=iso-8859-1");
    if (kind === "gzip") response.setHeader("content-encoding", "gzip");
    if (kind === "404") response.statusCode = 404;
    if (kind === "204") response.statusCode = 204;
    const bodies: Record<string, string | Buffer> = {
      json: '{"a":1}',
      list: "[1]",
      png: Buffer.from([1, 2]),
      wav: Buffer.from([3]),
      pdf: Buffer.from([0, 255]),
      raw: Buffer.from([0, 255]),
      latin: Buffer.from([0xe9]),
      gzip: gzipSync("packed"),
      "404": `no such thing ${"x".repeat(9_000)} end`,
    };
    response.end(bodies[kind]);
  });
  const { call } = await openTool(http("GET", `${origin}/{k}`), ANY);
  const content = async (k: string) => (await call({ k })).content;
  expect(await call({ k: "json" })).toMatchObject({
    content: [{ text: '{"a":1}' }],
    structuredContent: { a: 1 },
  });
  expect((await call({ k: "list" })).structuredContent).toBeUndefined();
  expect(await content("png")).toEqual([{ type: "image", data: "AQI=", mimeType: "image/png" }]);
  expect(await content("wav")).toEqual([{ type: "audio", data: "Aw==", mimeType: "audio/wav" }]);
  expect(await content("pdf")).toMatchObject([
    { type: "resource", resource: { mimeType: "application/pdf", blob: "AP8=" } },
  ]);
  expect(await content("raw")).toMatchObject([{ resource: { mimeType: "application/octet-stream" } }]);
  expect(await content("latin")).toEqual([{ type: "text", text: "é" }]);
  expect(await content("gzip")).toEqual([{ type: "text", text: "packed" }]);
  expect(await content("204")).toEqual([]);
  const missing = await call({ k: "404" });
  expect(missing).toMatchObject({ isError: true, _meta: { "portolan/http": { status: 404 } } });
  expect(textOf(missing)).toMatch(/^HTTP 404 Not Found\nno such thing/);
  expect(textOf(missing).length).toBeLessThan(4_200);
});

test("HEAD returns the status and the headers", async () => {
  const { origin } = await record((_request, response) => void response.setHeader("x-y", "z").end());
  const { call } = await openTool(http("HEAD", origin));
  expect(textOf(await call())).toMatch(/^HTTP 200 OK\n(.*\n)*x-y: z/);
});

test("output that breaks outputSchema is an error for GET, and a warning for POST", async () => {
  const { origin } = await record((request, response) => {
    if (request.url !== "/text") response.setHeader("content-type", "application/json");
    response.end({ "/good": '{"n":1}', "/bad": '{"n":"one"}', "/text": "hello" }[request.url]);
  });
  const outputSchema = { type: "object", properties: { n: { type: "number" } }, required: ["n"] };
  const { call } = await open({ tools: [tool(http("GET", `${origin}/{k}`), ANY, { outputSchema })] });
  expect((await call({ k: "good" })).structuredContent).toEqual({ n: 1 });
  const bad = await call({ k: "bad" });
  expect(bad).toMatchObject({ isError: true });
  expect(textOf(bad)).toContain("does not match the tool's outputSchema: /n: must be");
  expect(textOf(await call({ k: "text" }))).toContain("not JSON");
  // A POST has already taken effect: an error would invite the model to repeat it.
  const post = await open({ tools: [tool(http("POST", `${origin}/{k}`), ANY, { outputSchema })] });
  expect(await post.call({ k: "bad" })).toMatchObject({
    content: [
      { text: '{"n":"one"}' },
      { text: expect.stringMatching(/^Warning: The output does not match/) },
    ],
    structuredContent: { n: "one" },
  });
  expect((await post.call({ k: "bad" })).isError).toBeUndefined();
});

test("at most five redirects to the same host are followed, and POST may become GET", async () => {
  const other = await record();
  const { origin, requests } = await record((request, response) => {
    const to: Record<string, string> = {
      "/once": "/done",
      "/away": `${other.origin}/x`,
      "/name": `http://localhost:${new URL(other.origin).port}/x`,
      "/file": "file:///etc/passwd",
      "/bad": "http://[",
      "/loop": "/loop",
      "/see": "/done",
    };
    const location = to[request.url];
    if (location === undefined) return void response.end(`${request.method} ${request.body}`);
    response.writeHead(request.url === "/see" ? 303 : 307, { location }).end();
  });
  const { call } = await openTool(
    http("POST", `${origin}/{p}`, { headers: { Authorization: "Bearer t" } }),
    ANY,
  );
  expect(textOf(await call({ p: "once", a: 1 }))).toBe('POST {"a":1}');
  expect(requests.at(-1)?.headers.authorization).toBe("Bearer t");
  expect(textOf(await call({ p: "see" }))).toBe("GET ");
  expect(requests.at(-1)?.headers["content-type"]).toBeUndefined();
  for (const p of ["away", "name"]) expect(textOf(await call({ p })), p).toContain("another host");
  expect(textOf(await call({ p: "file" }))).toContain("not HTTP");
  expect(textOf(await call({ p: "bad" }))).toContain("not a URL");
  expect(textOf(await call({ p: "loop" }))).toContain("more than 5 times");
  expect(requests.filter(({ url }) => url === "/loop").length).toBe(6);
  expect(other.requests).toEqual([]);
});

const leadsTo = (...addresses: string[]): LookupFunction => {
  let at = 0;
  return (_host, _options, callback) => {
    const address = addresses[Math.min(at++, addresses.length - 1)] ?? "";
    callback(null, [{ address, family: address.includes(":") ? 6 : 4 }]);
  };
};

test("a host name that resolves to a private address is refused when the connection opens", async () => {
  const { port, requests } = await record();
  for (const address of ["127.0.0.1", "10.0.0.1", "169.254.169.254", "::1", "::ffff:127.0.0.1", "fd00::1"]) {
    const { call } = await openTool(http("GET", `http://api.test:${port}/`), ANY, {
      lookup: leadsTo(address),
    });
    expect(textOf(await call()), address).toContain(
      `api.test resolves to the private address ${address}. To allow it, set "allowPrivate: true" on the http invocation.`,
    );
  }
  expect(requests).toEqual([]);
  const allowed = http("GET", `http://api.test:${port}/`, { allowPrivate: true });
  const { call } = await openTool(allowed, ANY, { lookup: leadsTo("127.0.0.1") });
  expect(textOf(await call())).toBe("ok");
});

test("a host name that resolves to a private address later is refused (DNS rebinding)", async () => {
  const { port, requests } = await record();
  // First a public address, where nothing answers; then the local one.
  const { call } = await openTool(http("GET", `http://api.test:${port}/`, { timeoutMs: 300 }), ANY, {
    lookup: leadsTo("2001:4860:ffff::1", "127.0.0.1"),
  });
  await call();
  expect(textOf(await call())).toContain("private address 127.0.0.1");
  expect(requests).toEqual([]);
});

test("localhost and addresses that are written in the URL are allowed", async () => {
  const { port } = await record();
  for (const host of ["localhost", "127.0.0.1", "127.1", "[::ffff:127.0.0.1]"]) {
    const { call } = await openTool(http("GET", `http://${host}:${port}/`), ANY);
    expect(textOf(await call()), host).toBe("ok");
  }
});

test("a response that is too large, too late or incomplete is an error", async () => {
  const { origin } = await record((request, response) => {
    if (request.url === "/length") return void response.end("x".repeat(2_000));
    if (request.url === "/packed")
      return void response.setHeader("content-encoding", "gzip").end(gzipSync("x".repeat(99_999)));
    if (request.url === "/cut") return void response.destroy();
    if (request.url === "/half") {
      response.write("half");
      return void setTimeout(() => response.destroy(), 20);
    }
    if (request.url === "/endless") {
      const timer = setInterval(() => response.write("x".repeat(500)), 1);
      response.on("close", () => clearInterval(timer));
    }
  });
  const { call } = await openTool(
    http("GET", `${origin}/{k}`, { maxResponseBytes: 1_000, timeoutMs: 300 }),
    ANY,
  );
  for (const k of ["length", "packed", "endless"])
    expect(textOf(await call({ k })), k).toContain("larger than 1000 bytes");
  expect(textOf(await call({ k: "never" }))).toBe(`GET ${origin} did not answer within 0.3 s.`);
  expect(textOf(await call({ k: "cut" }))).toContain("closed before the answer was complete");
  expect(textOf(await call({ k: "half" }))).toContain("closed before the answer was complete");
});

test("the error of a failed request does not contain the query of the URL", async () => {
  const closed = await openTool(http("GET", "http://127.0.0.1:9/?key=${KEY}"), ANY, {
    env: { KEY: "s3cret" },
  });
  expect(textOf(await closed.call())).toBe("GET http://127.0.0.1:9 failed: the connection was refused.");
  const nowhere = await openTool(http("GET", "http://nowhere.invalid/"), ANY);
  expect(textOf(await nowhere.call())).toMatch(/no host of that name|could not be looked up/);
});

test("cancelling and closing end a request", async () => {
  let ended = 0;
  const { origin, requests } = await record(
    (_request, response) => void response.on("close", () => (ended += 1)),
  );
  const { call, upstream } = await openTool(http("GET", origin), ANY);
  const cancel = new AbortController();
  const first = expect(call({}, { signal: cancel.signal })).rejects.toMatchObject({ code: "CANCELLED" });
  const second = expect(call({}, { timeoutMs: 700 })).rejects.toMatchObject({ code: "TIMEOUT" });
  const third = expect(call({})).rejects.toMatchObject({ code: "CONNECTION_CLOSED" });
  await expect.poll(() => requests.length).toBe(3);
  expect(upstream.stats().inFlight).toBe(3);
  cancel.abort();
  await first;
  await second;
  await upstream.close();
  await third;
  await expect.poll(() => ended).toBe(3);
  await expect(call()).rejects.toMatchObject({ code: "CONNECTION_CLOSED", data: { neverRan: true } });
});

const OPENSSL = "openssl";

test(
  "a self-signed certificate is refused, unless a file, a folder or a setting trusts it",
  needs("openssl"),
  async () => {
    const folder = mkdtempSync(join(tmpdir(), "portolan-tls-"));
    atEnd(() => rmSync(folder, { recursive: true, force: true }));
    const [key, cert] = [join(folder, "key"), join(folder, "cert.pem")];
    const words = `req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost -addext subjectAltName=DNS:localhost`;
    execFileSync(OPENSSL, [...words.split(" "), "-keyout", key, "-out", cert], { stdio: "ignore" });
    const pair = { key: readFileSync(key), cert: readFileSync(cert) };
    const server = createTlsServer(pair, (_request, response) => void response.end("safe"));
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    atEnd(() => {
      server.closeAllConnections();
      return new Promise((resolve) => server.close(resolve));
    });
    const { port } = server.address() as { port: number };
    const tools = [tool(http("GET", `https://localhost:${port}/`))];
    const answer = async (clientTls?: ClientTls): Promise<string> =>
      textOf(await (await open({ tools, clientTls })).call());
    expect(await answer()).toContain("self-signed certificate");
    expect(await answer({ caCertFiles: [cert], insecureSkipVerify: false })).toBe("safe");
    expect(await answer({ caCertFiles: [], caCertDir: folder, insecureSkipVerify: false })).toBe("safe");
    expect(await answer({ caCertFiles: [], insecureSkipVerify: true })).toBe("safe");
    await expect(
      answer({ caCertFiles: ["/nowhere/ca.pem"], insecureSkipVerify: false }),
    ).rejects.toMatchObject({
      code: "FILE_FAILED",
    });
  },
);

test("a secret in the query is encoded as one value; at the start of the URL it is not encoded", async () => {
  const { origin, requests } = await record();
  const env = { KEY: "a&b=c+d #?", BASE: `${origin}/v1?x=1` };
  for (const url of [`${origin}/p?a=1&key=\${KEY}&n={n}`, "${BASE}&key=x${KEY}"]) {
    const { call } = await openTool(http("GET", url), strings("n"), { env });
    await call({ n: "1" });
  }
  const key = encodeURIComponent(env.KEY);
  expect(requests.map(({ url }) => url)).toEqual([`/p?a=1&key=${key}&n=1`, `/v1?x=1&key=x${key}&n=1`]);
});
