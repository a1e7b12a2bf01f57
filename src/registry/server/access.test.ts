// Access to a registry: stars of accounts, private reading, quotas of tokens, and callers behind a proxy.

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { integrityOf, toSri } from "../../base/text/integrity.ts";
import { openRegistry } from "../client/client.ts";
import { fileName } from "../store/layout.ts";
import { openStore, type RegistryStore, type StoreOptions } from "../store/store.ts";
import { type RegistryServerOptions, startRegistryServer } from "./server.ts";

let folder: string;
let now = new Date("2026-06-01T10:00:00Z");
const closing: (() => Promise<void>)[] = [];

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "portolan-access-"));
  now = new Date("2026-06-01T10:00:00Z");
});
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
  rmSync(folder, { recursive: true, force: true });
});

function document(version: string): string {
  return JSON.stringify({
    ...{ name: "@alice/x-mcp", type: "mcp-server", version, description: "A", author: { name: "Alice" } },
    mcp: { version: "2025-11-25", transport: ["stdio"], executable: "x-mcp" },
    source: { type: "npm", url: "npm:x-mcp@1.0.0", size: 3, hash: toSri(integrityOf(Buffer.from("abc"))) },
    security: { permissions: [] },
    metadata: { license: "MIT" },
  });
}

async function serve(options: Partial<RegistryServerOptions> & Pick<StoreOptions, "quota"> = {}): Promise<{
  store: RegistryStore;
  url: string;
  token: (scope: string, access?: "read") => Promise<string>;
}> {
  const { quota, ...server } = options;
  const store = await openStore(join(folder, "registry"), { now: () => now, quota });
  const running = await startRegistryServer({ store, port: 0, ...server });
  closing.push(() => running.close());
  const token = async (scope: string, access?: "read"): Promise<string> =>
    (await store.tokens.add(scope, { access })).token;
  return { store, url: running.url, token };
}

const send = async (
  url: string,
  token: string | undefined,
  { headers, ...init }: Omit<RequestInit, "headers"> & { headers?: Record<string, string> } = {},
): Promise<{ status: number; body: Record<string, unknown> & { error?: { message: string } } }> => {
  const authorization: Record<string, string> =
    token === undefined ? {} : { authorization: `Bearer ${token}` };
  const answer = await fetch(url, { ...init, headers: { ...headers, ...authorization } });
  const text = await answer.text();
  return {
    status: answer.status,
    body: (text.startsWith("{") && !url.endsWith(".jsonl") ? JSON.parse(text) : {}) as never,
  };
};

test("an account has one star, whatever number of tokens it has", async () => {
  const { store, url, token } = await serve();
  await store.publish(document("1.0.0"), {});
  const [one, again, other] = [await token("bob"), await token("bob", "read"), await token("carol")];
  const star = `${url}/api/registry/@alice/x-mcp/star`;
  const post = (by: string | undefined, body = ""): ReturnType<typeof send> =>
    send(star, by, { method: "POST", body });
  expect((await post(undefined)).status).toBe(401);
  expect((await post(one)).body).toEqual({ name: "@alice/x-mcp", stars: 1 });
  expect((await post(again)).body["stars"]).toBe(1);
  expect((await post(other)).body["stars"]).toBe(2);
  expect((await send(`${url}/api/stats/@alice/x-mcp`, undefined)).body["stars"]).toBe(2);
  const shown = await send(`${url}/api/registry/@alice/x-mcp`, undefined);
  expect(shown.body["package"]).toMatchObject({ metadata: { stars: 2 } });
  expect((await post(again, '{"undo":true}')).body["stars"]).toBe(1);
  expect((await post(one, '{"undo":1}')).status).toBe(400);
  expect((await send(`${url}/api/registry/@alice/none/star`, one, { method: "POST" })).status).toBe(404);
  // Stars outlive the process, and a broken file is not overwritten.
  expect((await openStore(join(folder, "registry"))).stars.count("@alice/x-mcp")).toBe(1);
  writeFileSync(store.layout.stars, "{");
  expect((await post(one)).status).toBe(500);
  expect(readFileSync(store.layout.stars, "utf8")).toBe("{");
});

test("a private registry shows nothing without a token, and a reader cannot publish", async () => {
  const { store, url, token } = await serve({ isPrivate: true });
  await store.publish(document("1.0.0"), {});
  const reader = await token("bob", "read");
  const owner = await token("alice", "read");
  const { integrity = "" } = (await store.read()).index.packages["@alice/x-mcp"]?.versions["1.0.0"] ?? {};
  const hex = Buffer.from(integrity.slice("sha256-".length), "base64").toString("hex");
  const paths = ["index.jsonl", `versions/sha256-${hex}.json`, "api/search?q=x", "api/registry/@alice/x-mcp"];
  for (const path of [...paths, "v0.1/servers", "api/advisories", "nothing"]) {
    expect([path, (await send(`${url}/${path}`, undefined)).status]).toEqual([path, 401]);
    expect([path, (await send(`${url}/${path}`, reader)).status]).toEqual([
      path,
      path === "nothing" ? 404 : 200,
    ]);
  }
  expect((await send(`${url}/healthz`, undefined)).status).toBe(200);
  const cached = await fetch(`${url}/${paths[1]}`, { headers: { authorization: `Bearer ${reader}` } });
  expect(cached.headers.get("cache-control")).toContain("private");

  const options = { stateFolder: join(folder, "state"), now: () => now };
  expect((await openRegistry({ url, token: reader }, options).find("@alice/x-mcp")).version).toBe("1.0.0");
  await expect(openRegistry({ url }, options).index()).rejects.toMatchObject({ code: "AUTH_REQUIRED" });
  for (const by of [reader, owner]) {
    const refused = await send(`${url}/api/registry/@alice/x-mcp`, by, {
      method: "POST",
      body: document("1.1.0"),
    });
    expect(refused).toMatchObject({
      status: 403,
      body: { error: { message: expect.stringContaining("only read") as string } },
    });
  }
});

test("a token publishes at most its daily quota; refused requests do not count", async () => {
  const { url, token } = await serve({ quota: { versionsPerDay: 2, bytesPerDay: 10 } });
  const [alice, all] = [await token("alice"), await token("*")];
  const publish = (version: string, by = alice): ReturnType<typeof send> =>
    send(`${url}/api/registry/@alice/x-mcp`, by, { method: "POST", body: document(version) });
  const upload = (text: string, announced = text): ReturnType<typeof send> =>
    send(`${url}/api/files/${fileName(integrityOf(Buffer.from(announced)))}`, alice, {
      method: "PUT",
      body: text,
    });
  expect((await publish("1.0.0")).status).toBe(201);
  expect((await publish("1.0.0")).status).toBe(409);
  expect((await publish("one")).status).toBe(422);
  expect((await publish("1.0.1")).status).toBe(201);
  const refused = await fetch(`${url}/api/registry/@alice/x-mcp`, {
    method: "POST",
    headers: { authorization: `Bearer ${alice}` },
    body: document("1.0.2"),
  });
  expect([refused.status, refused.headers.get("retry-after")]).toEqual([429, String(14 * 3_600)]);
  expect((await publish("1.0.2", all)).status).toBe(201);
  expect((await upload("sixsix")).status).toBe(201);
  expect((await upload("four", "other")).status).toBe(422);
  expect((await upload("four")).status).toBe(201);
  expect((await upload("x")).status).toBe(429);
  now = new Date("2026-06-02T00:00:01Z");
  expect((await upload("x")).status).toBe(201);
  expect((await publish("1.0.3")).status).toBe(201);
});

test("behind a proxy, callers are identified by the address that the proxy adds", async () => {
  const get = (url: string, from: string): Promise<{ status: number }> =>
    send(`${url}/healthz`, undefined, { headers: { "x-forwarded-for": from } });
  const rate = { perSecond: 0.001, burst: 1 };
  const { url } = await serve({ isBehindProxy: true, rate });
  expect((await get(url, "192.0.2.1")).status).toBe(200);
  expect((await get(url, "192.0.2.1")).status).toBe(429);
  expect((await get(url, "192.0.2.1, 192.0.2.2")).status).toBe(200);
  // An address that the client wrote itself does not help it.
  expect((await get(url, "192.0.2.9, 192.0.2.2")).status).toBe(429);
  const direct = await serve({ rate });
  expect((await get(direct.url, "192.0.2.3")).status).toBe(200);
  expect((await get(direct.url, "192.0.2.4")).status).toBe(429);
});
