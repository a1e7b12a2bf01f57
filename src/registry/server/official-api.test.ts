// The official registry API against a real server: shapes field by field, cursors, filters, errors, CORS, ETags and limits.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import { integrityOf, toSri } from "../../base/text/integrity.ts";
import { openStore, type RegistryStore } from "../store/store.ts";
import { parseCursor, toCursor } from "./cursor.ts";
import { createRateLimiter } from "./rate-limit.ts";
import { type RegistryServer, startRegistryServer } from "./server.ts";

// oxlint-disable-next-line typescript/no-explicit-any -- answers of any shape
type Loose = Record<string, any>;

let folder: string;
let store: RegistryStore;
let server: RegistryServer;
let now = new Date("2026-06-01T00:00:00.000Z");

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "portolan-official-"));
  store = await openStore(folder, { now: () => now });
  for (const name of ["alpha", "beta", "gamma", "delta"])
    for (const version of ["1.0.0", "1.1.0"])
      await store.publish(document(`@alice/${name}-mcp`, version), {});
  now = new Date("2026-06-01T12:00:00.000Z");
  await store.changeStatus("@alice/beta-mcp", {
    status: "deprecated",
    versions: "1.0.0",
    message: "Use 1.1.",
  });
  await store.changeStatus("@alice/gamma-mcp", { status: "deleted", versions: "1.1.0" });
  server = await startRegistryServer({ store, port: 0 });
});
afterAll(async () => {
  await server.close();
  await store.close();
  rmSync(folder, { recursive: true, force: true });
});

function document(name: string, version: string): string {
  return JSON.stringify({
    ...{ name, type: "mcp-server", version, description: "d".repeat(150), author: { name: "Alice" } },
    mcp: {
      ...{ version: "2025-11-25", transport: ["stdio"], executable: "x-mcp", args: ["--fast"] },
      configuration: {
        schema: {
          type: "object",
          required: ["api_token"],
          properties: {
            api_token: { type: "string", description: "A token.", secret: true },
            mode: { type: "string", enum: ["a", "b"], default: "a" },
          },
        },
      },
    },
    source: {
      type: "npm",
      url: `npm:x-mcp@${version}`,
      size: 3,
      hash: toSri(integrityOf(Buffer.from("abc"))),
    },
    security: { permissions: [] },
    metadata: { license: "MIT", repository: "https://github.com/alice/x", homepage: "https://example.com/" },
  });
}

async function get(path: string): Promise<{ status: number; headers: Headers; body: Loose }> {
  const answer = await fetch(`${server.url}${path}`);
  return { status: answer.status, headers: answer.headers, body: (await answer.json()) as Loose };
}

const names = (body: Loose): string[] =>
  (body["servers"] as Loose[]).map(({ server: one }) => `${one.name}@${one.version}`);

test.each(["/v0.1", "/v0"])("%s: an entry has exactly the expected fields", async (base) => {
  const { status, body } = await get(`${base}/servers/alice%2Falpha-mcp/versions/latest`);
  expect(status).toBe(200);
  const { integrity } = (await store.read()).index.packages["@alice/alpha-mcp"]?.versions["1.1.0"] ?? {};
  expect(body).toEqual({
    server: {
      $schema: "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json",
      name: "alice/alpha-mcp",
      description: `${"d".repeat(99)}…`,
      version: "1.1.0",
      repository: { url: "https://github.com/alice/x", source: "github" },
      websiteUrl: "https://example.com/",
      packages: [
        {
          ...{ registryType: "npm", identifier: "x-mcp", version: "1.1.0", runtimeHint: "npx" },
          transport: { type: "stdio" },
          packageArguments: [{ type: "positional", value: "--fast" }],
          environmentVariables: [
            {
              name: "API_TOKEN",
              description: "A token.",
              isRequired: true,
              isSecret: true,
              format: "string",
            },
            {
              name: "MODE",
              isRequired: false,
              isSecret: false,
              format: "string",
              default: "a",
              choices: ["a", "b"],
            },
          ],
        },
      ],
      _meta: {
        "io.modelcontextprotocol.registry/publisher-provided": { package: "@alice/alpha-mcp", integrity },
      },
    },
    _meta: {
      "io.modelcontextprotocol.registry/official": {
        status: "active",
        statusChangedAt: "2026-06-01T00:00:00.000Z",
        publishedAt: "2026-06-01T00:00:00.000Z",
        updatedAt: "2026-06-01T00:00:00.000Z",
        isLatest: true,
      },
    },
  });
});

test("the API lists the versions of a server, and marks deprecated and deleted ones", async () => {
  const { body } = await get("/v0.1/servers/alice%2Fbeta-mcp/versions");
  expect(names(body)).toEqual(["alice/beta-mcp@1.1.0", "alice/beta-mcp@1.0.0"]);
  expect(body["servers"][1]._meta["io.modelcontextprotocol.registry/official"]).toEqual({
    status: "deprecated",
    statusMessage: "Use 1.1.",
    statusChangedAt: "2026-06-01T12:00:00.000Z",
    publishedAt: "2026-06-01T00:00:00.000Z",
    updatedAt: "2026-06-01T12:00:00.000Z",
    isLatest: false,
  });
  const gone = await get("/v0.1/servers/alice/gamma-mcp/versions/1.1.0");
  expect(gone.body["_meta"]["io.modelcontextprotocol.registry/official"].status).toBe("deleted");
  expect((await get("/v0.1/servers/alice%2Fgamma-mcp/versions/latest")).body["server"].version).toBe("1.0.0");
});

test("the list is paged by URL-safe cursors that carry the filters", async () => {
  const seen: string[] = [];
  let path = "/v0.1/servers?limit=2&version=latest&search=alice";
  for (;;) {
    const { body } = await get(path);
    seen.push(...names(body));
    expect(body["metadata"].count).toBe(body["servers"].length);
    const { nextCursor } = body["metadata"] as { nextCursor?: string };
    if (nextCursor === undefined) break;
    expect(nextCursor).toMatch(/^[\w-]+$/);
    // As VS Code does: only the cursor, without search and version.
    path = `/v0.1/servers?limit=2&cursor=${nextCursor}`;
  }
  expect(seen).toEqual([
    "alice/alpha-mcp@1.1.0",
    "alice/beta-mcp@1.1.0",
    "alice/delta-mcp@1.1.0",
    "alice/gamma-mcp@1.0.0",
  ]);
});

test("the list has the filters search, version, updated_since and include_deleted", async () => {
  const list = async (query: string): Promise<string[]> => names((await get(`/v0.1/servers?${query}`)).body);
  expect(await list("search=ALPHA")).toEqual(["alice/alpha-mcp@1.1.0", "alice/alpha-mcp@1.0.0"]);
  expect(await list("version=1.0.0&search=gamma")).toEqual(["alice/gamma-mcp@1.0.0"]);
  expect(await list("search=gamma")).toEqual(["alice/gamma-mcp@1.0.0"]);
  expect(await list("search=gamma&include_deleted=true")).toHaveLength(2);
  expect(await list("updated_since=2026-06-01T06:00:00Z")).toEqual([
    "alice/beta-mcp@1.0.0",
    "alice/gamma-mcp@1.1.0",
  ]);
  expect(await list("")).toHaveLength(7);
});

test.each([
  ["/v0.1/servers?limit=0", 400],
  ["/v0.1/servers?limit=101", 400],
  ["/v0.1/servers?cursor=%21", 400],
  ["/v0.1/servers?updated_since=yesterday", 400],
  ["/v0.1/servers/alice%2Fnothing/versions", 404],
  ["/v0.1/servers/alice%2Falpha-mcp/versions/9.9.9", 404],
  ["/v0.1/servers/constructor/versions", 404],
  ["/v0.1/servers/%E0%A4%A/versions", 400],
])("%s is answered with %i and an error", async (path, status) => {
  const { status: actual, body } = await get(path);
  expect(actual).toBe(status);
  expect(body).toEqual({
    title: expect.any(String),
    status,
    detail: body["error"],
    error: expect.any(String),
  });
});

test("the API answers CORS preflight requests, refuses writes, and supports ETags", async () => {
  const preflight = await fetch(`${server.url}/v0.1/servers`, { method: "OPTIONS" });
  expect(preflight.status).toBe(204);
  expect(preflight.headers.get("access-control-allow-origin")).toBe("*");
  expect(preflight.headers.get("access-control-allow-methods")).toBe("GET, OPTIONS");
  expect(preflight.headers.get("access-control-allow-headers")).toBe("Authorization, Content-Type");
  expect((await fetch(`${server.url}/v0.1/publish`, { method: "POST", body: "{}" })).status).toBe(501);
  for (const path of [
    "/index.jsonl",
    "/v0.1/servers",
    "/api/search?q=alpha",
    "/api/registry/@alice/alpha-mcp",
  ]) {
    const first = await fetch(`${server.url}${path}`);
    await first.arrayBuffer();
    const etag = first.headers.get("etag") ?? "";
    const second = await fetch(`${server.url}${path}`, { headers: { "if-none-match": etag } });
    expect([path, first.status, second.status]).toEqual([path, 200, 304]);
  }
});

test("the package API counts downloads, limits the size of requests, and serves no private files", async () => {
  const count = await fetch(`${server.url}/api/registry/%40alice%2Falpha-mcp/download?version=^1`, {
    method: "POST",
  });
  expect(await count.json()).toMatchObject({ version: "1.1.0", downloads: 1 });
  expect((await get("/api/stats/@alice/alpha-mcp")).body).toMatchObject({
    downloads: 1,
    versions: { "1.1.0": 1 },
  });
  expect((await get("/api/registry/@alice/alpha-mcp?version=1.0.0")).body).toMatchObject({
    version: "1.0.0",
    availableVersions: ["1.1.0", "1.0.0"],
    package: { version: "1.0.0", metadata: { downloads: 1 } },
  });
  for (const path of [
    "/files/..%2F..%2Fprivate%2Fkey.pem",
    "/private/key.pem",
    "/versions/key.pem",
    "/files/",
  ])
    expect((await get(path)).status).toBe(404);
  const { token } = await store.tokens.add("alice");
  const headers = { authorization: `Bearer ${token}` };
  const large = await fetch(`${server.url}/api/registry/@alice/alpha-mcp`, {
    ...{ method: "POST", headers, body: "x".repeat(2 * 1024 * 1024) },
  }).then(({ status }) => status);
  expect(large).toBe(413);
});

test("a cursor reads back any filters, and other texts cause no exception", () => {
  const text = fc.string({ maxLength: 100 });
  fc.assert(
    fc.property(
      fc.record(
        { name: text, after: text, search: text, version: text, includeDeleted: fc.boolean() },
        { requiredKeys: ["name", "after"] },
      ),
      (cursor) => {
        const written = toCursor(cursor);
        expect(written).toMatch(/^[\w-]+$/);
        expect(parseCursor(written)).toEqual(cursor);
      },
    ),
  );
  fc.assert(fc.property(fc.string(), (any) => void parseCursor(any)));
});

test("the rate limit allows each caller a burst, and then the configured rate", () => {
  let time = 0;
  const limiter = createRateLimiter({ perSecond: 2, burst: 3 }, () => time);
  expect([1, 2, 3].map(() => limiter.take("192.0.2.1"))).toEqual([0, 0, 0]);
  expect(limiter.take("::ffff:192.0.2.1")).toBe(1);
  expect(limiter.take("192.0.2.2")).toBe(0);
  time = 500;
  expect(limiter.take("192.0.2.1")).toBe(0);
  expect(limiter.take("192.0.2.1")).toBe(1);
  for (const host of [1, 2, 3]) limiter.take(`2001:db8::${host}`);
  expect(limiter.take("2001:db8::99")).toBe(1);
});
