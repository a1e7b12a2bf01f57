// The upstream of an mcpfile: description, lists, checks of callers, prompts and resources.

import { expect, test } from "vitest";
import {
  argv,
  http,
  open,
  openTool,
  record,
  script,
  strings,
  textOf,
  tool,
} from "../../test/helpers/invoke.ts";
import { PortolanError } from "../errors/index.ts";
import type { JsonObject, JsonSchema } from "../model/index.ts";

const caller = (scopes?: string[]) => ({
  clientInfo: { name: "c", version: "1" },
  capabilities: {},
  ...(scopes === undefined ? {} : { scopes }),
});

test("the server announces only what the mcpfile declares, and refuses other methods", async () => {
  const { upstream } = await open({ tools: [tool(argv([]))], instructions: "Be kind." });
  expect(upstream.describe()).toEqual({
    info: { name: "made", version: "1.0.0" },
    era: "modern",
    revision: "2026-07-28",
    transport: "memory",
    capabilities: { tools: {} },
    instructions: "Be kind.",
  });
  expect(await upstream.request({ method: "server/discover" })).toMatchObject({
    supportedVersions: ["2026-07-28"],
    capabilities: { tools: {} },
    instructions: "Be kind.",
    cacheScope: "public",
  });
  expect(await upstream.request({ method: "ping" })).toEqual({ resultType: "complete" });
  for (const method of ["completion/complete", "resources/subscribe", "nonsense"])
    await expect(upstream.request({ method }), method).rejects.toMatchObject({
      code: "NOT_SUPPORTED",
      message: `made is an mcpfile, and mcpfiles do not support the MCP method ${method}`,
    });
  await expect(upstream.subscribe("x:y")).rejects.toMatchObject({
    code: "NOT_SUPPORTED",
    message: "made is an mcpfile, and mcpfiles do not support the MCP method resources/subscribe",
  });
  const nothing = await open({});
  expect(nothing.upstream.describe().capabilities).toEqual({});
});

test("lists contain the definitions, ttlMs and cacheScope", async () => {
  const { upstream } = await open({
    tools: [tool(argv([]), strings("a"), { title: "It" })],
    prompts: [{ definition: { name: "p" }, inputSchema: strings(), invocation: argv([]) }],
    resources: [{ definition: { uri: "x:1", name: "one" }, invocation: argv([]) }],
    resourceTemplates: [
      { definition: { uriTemplate: "x:{id}", name: "t" }, inputSchema: strings("id"), invocation: argv([]) },
    ],
  });
  const lists: [string, string, unknown][] = [
    ["tools/list", "tools", [{ name: "it", title: "It", description: "A tool.", inputSchema: strings("a") }]],
    ["prompts/list", "prompts", [{ name: "p" }]],
    ["resources/list", "resources", [{ uri: "x:1", name: "one" }]],
    ["resources/templates/list", "resourceTemplates", [{ uriTemplate: "x:{id}", name: "t" }]],
  ];
  for (const [method, field, items] of lists)
    expect(await upstream.request({ method })).toEqual({
      resultType: "complete",
      [field]: items,
      ttlMs: 86_400_000,
      cacheScope: "public",
    });
  expect(upstream.describe().capabilities).toEqual({ tools: {}, prompts: {}, resources: {} });
});

test("arguments are checked before anything runs, and every problem is reported", async () => {
  const { requests, origin } = await record();
  const schema: JsonSchema = {
    type: "object",
    properties: { n: { type: "integer" }, s: { type: "string" } },
    required: ["s"],
  };
  const { call } = await openTool(http("GET", origin), schema);
  const result = await call({ n: "x", extra: 1 });
  expect(result.isError).toBe(true);
  expect(textOf(result)).toMatch(/^The arguments of it are not valid:\s/);
  for (const name of ["n", "s", "extra"]) expect(textOf(result)).toContain(name);
  expect((await call({}, { params: { name: "it", arguments: [] } })).isError).toBe(true);
  expect(requests).toEqual([]);
  expect((await call({ s: "x" })).isError).toBeUndefined();
});

test("additional arguments are accepted only if the schema allows them or declares them in allOf", async () => {
  const call = async (schema: JsonSchema, args: Record<string, unknown>) =>
    (await (await openTool(argv([], { ignored: [["a"], ["xa"]] }), schema)).call(args)).isError;
  expect(await call({ type: "object" }, { a: 1 })).toBe(true);
  expect(await call({ type: "object", additionalProperties: true }, { a: 1 })).toBeUndefined();
  expect(await call({ type: "object", patternProperties: { "^x": {} } }, { xa: 1 })).toBeUndefined();
  const all = { type: "object", allOf: [{ properties: { a: { type: "number" } } }] };
  expect(await call(all, { a: 1 })).toBeUndefined();
  expect(await call(all, { b: 1 })).toBe(true);
});

test("a call is refused if the schema of the tool cannot be checked", async () => {
  const { call } = await openTool(argv([]), {
    type: "object",
    properties: { a: { $ref: "http://x.test/s" } },
  });
  expect(textOf(await call({ a: 1 }))).toContain("cannot be checked");
});

test("missing arguments get their defaults, also inside of given objects", async () => {
  const { requests, origin } = await record();
  const { call } = await openTool(http("POST", `${origin}/{kind}`), {
    type: "object",
    properties: {
      kind: { type: "string", default: "usual" },
      deep: { type: "object", properties: { a: { default: [1] }, b: { type: "number" } } },
      off: { type: "boolean", default: false },
    },
  });
  await call({ deep: { b: 2 } });
  expect(requests[0]).toMatchObject({ url: "/usual", body: '{"deep":{"b":2,"a":[1]},"off":false}' });
  await call({ kind: "x", off: true });
  expect(requests[1]).toMatchObject({ url: "/x", body: '{"off":true}' });
});

test("unknown tools, prompts and resources give an error", async () => {
  const { upstream } = await open({ tools: [tool(argv([]))], resources: [] });
  const ask = (method: string, params: Record<string, unknown>) => upstream.request({ method, params });
  await expect(ask("tools/call", { name: "ti" })).rejects.toMatchObject({ code: "TOOL_NOT_FOUND" });
  await expect(ask("tools/call", { name: "__proto__" })).rejects.toMatchObject({ code: "TOOL_NOT_FOUND" });
  await expect(ask("tools/call", {})).rejects.toMatchObject({ code: "INPUT_INVALID" });
  await expect(ask("prompts/get", { name: "x" })).rejects.toMatchObject({ code: "PROMPT_NOT_FOUND" });
  await expect(ask("resources/read", { uri: "x" })).rejects.toMatchObject({ code: "RESOURCE_NOT_FOUND" });
});

test("a call needs all required scopes, if the token of the caller has scopes", async () => {
  const { call } = await open({ tools: [tool(argv([]), undefined, { scopes: ["read", "write"] })] });
  expect((await call()).isError).toBeUndefined();
  expect((await call({}, { caller: caller() })).isError).toBeUndefined();
  expect((await call({}, { caller: caller(["write", "read", "x"]) })).isError).toBeUndefined();
  await expect(call({}, { caller: caller(["read"]) })).rejects.toMatchObject({
    code: "FORBIDDEN",
    message: "it needs the scope write, which the caller's token does not have",
    hint: expect.stringContaining("the operator of the gateway") as string,
  });
  await expect(call({}, { caller: caller([]) })).rejects.toMatchObject({ code: "FORBIDDEN" });
});

test("the error at the start names all missing secrets", async () => {
  const tools = [tool(argv(["${ONE}", "${TWO}"])), tool(http("GET", "http://x.test/${THREE}"))];
  await expect(open({ tools }, { env: { TWO: "2" } })).rejects.toMatchObject({
    code: "SECRET_MISSING",
    message: "Secrets are missing: ONE; THREE.",
  });
});

test("a missing secret blocks only the tools that use it, until it is set", async () => {
  const tools = [
    tool(argv(["${ONE}", "${TWO}"]), undefined, { name: "closed" }),
    tool(argv(["x"]), undefined, { name: "free" }),
  ];
  const later = new Map<string, string>();
  const { upstream } = await open(
    { tools },
    {
      env: { TWO: "2" },
      resolveLater: async (names) => {
        expect(names).toEqual(["ONE"]);
        if (later.size === 0) throw new PortolanError("SECRET_MISSING", "ONE is not there");
        return later;
      },
    },
  );
  const ask = (name: string): Promise<JsonObject> =>
    upstream.request({ method: "tools/call", params: { name } });
  expect(await upstream.request({ method: "tools/list" })).toMatchObject({
    tools: [{ name: "closed" }, { name: "free" }],
  });
  expect(textOf(await ask("free"))).toBe('["x"]');
  await expect(ask("closed")).rejects.toMatchObject({ code: "SECRET_MISSING" });
  later.set("ONE", "1");
  expect(textOf(await ask("closed"))).toBe('["1","2"]');
});

test("a prompt returns one message with the output of its command", async () => {
  const { upstream } = await open({
    prompts: [
      {
        definition: { name: "greet", description: "Greets." },
        inputSchema: { type: "object", properties: { n: { type: "integer" }, s: { type: "string" } } },
        invocation: script(
          "console.log(process.argv.slice(1).join('+')); process.exit(process.argv[2] === '9' ? 1 : 0)",
          ["{s}", "{n}"],
        ),
        requiredScopes: ["p"],
      },
    ],
  });
  const get = (args: Record<string, unknown>, scopes?: string[]) =>
    upstream.request({
      method: "prompts/get",
      params: { name: "greet", arguments: args },
      caller: caller(scopes),
    });
  expect(await get({ s: "5", n: "5" })).toEqual({
    resultType: "complete",
    description: "Greets.",
    messages: [{ role: "assistant", content: { type: "text", text: "5+5\n" } }],
  });
  await expect(get({ n: "x" })).rejects.toMatchObject({ code: "INPUT_INVALID" });
  await expect(get({ s: "-x" })).rejects.toMatchObject({ code: "INPUT_INVALID" });
  await expect(get({ s: "x", n: "9" })).rejects.toMatchObject({ code: "RPC_ERROR" });
  await expect(get({}, [])).rejects.toMatchObject({ code: "FORBIDDEN" });
});

test("resources and templates return their MIME type, and text or base64", async () => {
  const { origin, requests } = await record((request, response) => {
    if (request.url === "/png") response.setHeader("content-type", "image/png");
    if (request.url === "/html") response.setHeader("content-type", "text/html; charset=utf-8");
    if (request.url === "/gone") response.statusCode = 404;
    if (request.url === "/broken") response.statusCode = 500;
    response.end(request.url === "/png" ? Buffer.from([0, 1]) : "text");
  });
  const resource = (name: string, mimeType?: string) => ({
    definition: { uri: `x:${name}`, name, ...(mimeType === undefined ? {} : { mimeType }) },
    invocation: http("GET", `${origin}/${name}`),
  });
  const { upstream } = await open({
    resources: [
      resource("png"),
      resource("html"),
      resource("plain"),
      resource("typed", "text/markdown"),
      resource("gone"),
      resource("broken"),
      {
        definition: { uri: "x:bytes", name: "b", mimeType: "image/gif" },
        invocation: script("process.stdout.write(Buffer.from([255]))"),
      },
    ],
    resourceTemplates: [
      {
        definition: { uriTemplate: "user://{id}/{part}{?page}", name: "user", mimeType: "text/plain" },
        inputSchema: {
          type: "object",
          properties: { id: { type: "string" }, part: { enum: ["a b", "c"] }, page: { type: "integer" } },
        },
        invocation: http("GET", `${origin}/users/{id}/{part}`),
      },
    ],
  });
  const read = async (uri: string) =>
    ((await upstream.request({ method: "resources/read", params: { uri } })).contents as unknown[])[0];
  expect(await read("x:png")).toEqual({ uri: "x:png", mimeType: "image/png", blob: "AAE=" });
  expect(await read("x:html")).toEqual({ uri: "x:html", mimeType: "text/html", text: "text" });
  expect(await read("x:plain")).toEqual({ uri: "x:plain", mimeType: "text/plain", text: "text" });
  expect(await read("x:typed")).toEqual({ uri: "x:typed", mimeType: "text/markdown", text: "text" });
  expect(await read("x:bytes")).toEqual({ uri: "x:bytes", mimeType: "image/gif", blob: "/w==" });
  await expect(read("x:gone")).rejects.toMatchObject({ code: "RESOURCE_NOT_FOUND" });
  await expect(read("x:broken")).rejects.toMatchObject({ code: "RPC_ERROR" });
  expect(await read("user://a%2Fb/a%20b?page=3")).toMatchObject({ text: "text" });
  expect(requests.at(-1)?.url).toBe("/users/a%2Fb/a%20b?page=3");
  await expect(read("user://a/other?page=3")).rejects.toMatchObject({ code: "INPUT_INVALID" });
  await expect(read("user://../c?page=3")).rejects.toMatchObject({ code: "INPUT_INVALID" });
  await expect(read("user://a/c?page=x")).rejects.toMatchObject({ code: "INPUT_INVALID" });
  await expect(read("user://a/c")).rejects.toMatchObject({ code: "RESOURCE_NOT_FOUND" });
});

test("an invalid tool or template is left out with a diagnostic; the rest works", async () => {
  const { upstream, reports, call } = await open({
    tools: [tool(http("GET", "ftp://x/"), undefined, { name: "bad" }), tool(argv(["fine"]))],
    resourceTemplates: [
      { definition: { uriTemplate: "x:{a*}", name: "t" }, inputSchema: strings("a"), invocation: argv([]) },
    ],
  });
  expect(reports.map(({ message }) => message)).toEqual([
    expect.stringContaining('the tool "bad" is left out: the URL must begin with') as string,
    expect.stringContaining('the resource template "x:{a*}" is left out') as string,
  ]);
  expect(reports.map(({ hint }) => hint)).toEqual(Array(2).fill("Correct this definition in the mcpfile."));
  expect(textOf(await call())).toBe('["fine"]');
  expect(upstream.describe().capabilities).toEqual({ tools: {} });
});
