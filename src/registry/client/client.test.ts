// The client: one index request when nothing changed, frozen and forked indexes, order and scopes of registries.

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { integrityOf, toSri } from "../../base/text/integrity.ts";
import { publicKeyOf, signIndex } from "../catalog/signed-index.ts";
import { startRegistryServer } from "../server/server.ts";
import { openStore, type RegistryStore } from "../store/store.ts";
import { openRegistry, type RegistryClient, type RegistrySettings } from "./client.ts";
import { openRegistries } from "./registries.ts";

let folder: string;
const closing: (() => Promise<void> | void)[] = [];
let now = new Date("2026-06-01T00:00:00Z");

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "portolan-client-"));
  now = new Date("2026-06-01T00:00:00Z");
});
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
  rmSync(folder, { recursive: true, force: true });
});

function document(name: string, version: string): string {
  return JSON.stringify({
    ...{ name, type: "mcp-server", version, description: "A server", author: { name: "Alice" } },
    mcp: { version: "2025-11-25", transport: ["stdio"], executable: "x-mcp" },
    source: { type: "npm", url: "npm:x-mcp@1.0.0", size: 3, hash: toSri(integrityOf(Buffer.from("abc"))) },
    security: { permissions: [] },
    metadata: { license: "MIT" },
  });
}

async function registry(
  name: string,
  ...packages: string[]
): Promise<{ store: RegistryStore; url: string; path: string }> {
  const store = await openStore(join(folder, name), { now: () => now });
  for (const one of packages) await store.publish(document(one, "1.0.0"), {});
  const server = await startRegistryServer({ store, port: 0 });
  closing.push(() => server.close());
  return { store, url: server.url, path: store.layout.public };
}

function client(settings: RegistrySettings): RegistryClient {
  return openRegistry(settings, { stateFolder: join(folder, "state"), now: () => now });
}

/** Counts the requests on their way to a registry. */
async function counted(url: string): Promise<{ url: string; seen: string[] }> {
  const seen: string[] = [];
  const server: Server = createServer((request, response) => {
    void fetch(`${url}${request.url}`, {
      headers: { "if-none-match": request.headers["if-none-match"] ?? "" },
    }).then(async (answer) => {
      seen.push(`${request.url} ${answer.status}`);
      response.writeHead(answer.status, { etag: answer.headers.get("etag") ?? "" });
      response.end(Buffer.from(await answer.arrayBuffer()));
    });
  });
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  closing.push(
    () => new Promise<void>((resolve) => void (server.closeAllConnections(), server.close(() => resolve()))),
  );
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, seen };
}

test("an unchanged index costs one request without a body, and works offline", async () => {
  const { url: inner, store } = await registry("one", "@alice/x-mcp");
  const { url, seen } = await counted(inner);
  await client({ url }).index();
  const second = client({ url });
  await second.index();
  await second.has("@alice/x-mcp");
  expect(seen).toEqual(["/index.jsonl 200", "/index.jsonl 304"]);
  await store.publish(document("@alice/x-mcp", "1.1.0"), {});
  expect((await client({ url }).find("@alice/x-mcp")).version).toBe("1.1.0");
  const offline = await client({ url }).index({ offline: true });
  expect(Object.keys(offline.packages["@alice/x-mcp"]?.versions ?? {})).toEqual(["1.0.0", "1.1.0"]);
  expect(seen).toHaveLength(4);
});

test("any web server with a copy of the folder works as a registry", async () => {
  const { path, store } = await registry("one");
  const bytes = Buffer.from("abc");
  await store.upload(
    (async function* content() {
      yield bytes;
    })(),
    { expected: integrityOf(bytes), size: 3, maxBytes: 10 },
  );
  await store.publish(document("@alice/x-mcp", "1.0.0"), {});
  // A plain web server: no ETag, no content type.
  const server: Server = createServer((request, response) => {
    try {
      response.end(readFileSync(join(path, decodeURIComponent(request.url ?? ""))));
    } catch {
      response.writeHead(404).end("not here");
    }
  });
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  closing.push(
    () => new Promise<void>((resolve) => void (server.closeAllConnections(), server.close(() => resolve()))),
  );
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const found = await client({ url }).find("@alice/x-mcp", "^1");
  expect(found).toMatchObject({ version: "1.0.0", registry: url });
  const [hosted = ""] = Object.values(found.files);
  expect(Buffer.from(await (await fetch(hosted)).arrayBuffer())).toEqual(bytes);
  expect((await client({ url }).search("alice")).total).toBe(1);
  await expect(client({ url }).publish(document("@alice/x-mcp", "1.1.0"))).rejects.toMatchObject({
    code: "HTTP_ERROR",
  });
});

test("an expired index is refused, also if it did not change", async () => {
  const { path } = await registry("one", "@alice/x-mcp");
  await client({ url: path }).index();
  now = new Date("2026-06-09T00:00:00Z");
  await expect(client({ url: path }).index()).rejects.toMatchObject({
    code: "FORBIDDEN",
    message: expect.stringContaining("expired") as string,
  });
});

test("an index with the same number but other content, or with another key, is refused", async () => {
  const { path, store } = await registry("one", "@alice/x-mcp");
  await client({ url: path }).index();
  const privateKey = readFileSync(store.layout.key, "utf8");
  const { index } = await store.read();
  const forked = signIndex({ ...index, packages: {} }, { privateKey, publicKey: publicKeyOf(privateKey) });
  const before = readFileSync(store.layout.index);
  writeFileSync(store.layout.index, forked);
  await expect(client({ url: path }).index()).rejects.toThrow("two different indexes");
  writeFileSync(store.layout.index, before);
  const { publicKey: foreign } = (await registry("two")).store;
  await expect(client({ url: path, key: foreign }).index()).rejects.toMatchObject({
    message: expect.stringContaining("is signed with the key that has the fingerprint") as string,
    hint: expect.stringContaining("publicKey in the output of portolan registry serve --json") as string,
  });
  await client({ url: path, key: store.publicKey }).index();
  expect(await client({ url: path }).forget()).toBe(true);
  expect(await client({ url: path }).forget()).toBe(false);
});

test("a package comes from the first registry that has it, and a scope only from its registries", async () => {
  const [one, two] = [
    await registry("one", "@alice/x-mcp"),
    await registry("two", "@alice/x-mcp", "@bob/y-mcp", "@corp/z-mcp"),
  ];
  const three = await registry("three", "@corp/z-mcp");
  const all = openRegistries([{ url: one.url }, { url: two.url }, { url: three.url, scopes: ["@corp"] }], {
    stateFolder: join(folder, "state"),
    now: () => now,
  });
  expect((await all.find("@alice/x-mcp")).registry).toBe(one.url);
  expect((await all.find("@bob/y-mcp")).registry).toBe(two.url);
  expect((await all.find("@corp/z-mcp")).registry).toBe(three.url);
  await expect(all.find("@corp/other")).rejects.toThrow(`${three.url} has no package`);
  const found = (await all.search("")).map(({ name, registry: from }) => `${name} ${from}`).sort();
  expect(found).toEqual([`@alice/x-mcp ${one.url}`, `@bob/y-mcp ${two.url}`, `@corp/z-mcp ${three.url}`]);
  const scoped = openRegistries([{ url: three.url, scopes: ["@corp"] }], {
    stateFolder: join(folder, "state"),
  });
  await expect(scoped.find("@alice/x-mcp")).rejects.toMatchObject({
    code: "USAGE",
    hint: 'If a registry in portolan.yaml has this package, add "@alice" to its scopes (not to one with api: official). Or give the URL or folder of the registry that has it: --registry <url or folder>.',
  });
  const broken = openRegistries([{ url: "http://127.0.0.1:1" }, { url: two.url }], {
    stateFolder: join(folder, "state"),
  });
  await expect(broken.find("@bob/y-mcp")).rejects.toMatchObject({ code: "HTTP_ERROR" });
});

test("a token is never sent without encryption", async () => {
  const remote = client({ url: "http://registry.example.com", token: "secret" });
  await expect(remote.publish(document("@alice/x-mcp", "1.0.0"))).rejects.toThrow("not encrypted");
  expect(() => client({ url: "https://user:password@registry.example.com" })).toThrow(
    "contains a user name, a password",
  );
});
