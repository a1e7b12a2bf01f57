// Vault agent: a key is kept for its time, for its vault only, for this user only; a stale socket is replaced.

import { randomBytes } from "node:crypto";
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
import { connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import fc from "fast-check";
import { expect, onTestFinished, test, vi } from "vitest";
import { createVault } from "../vault/vault.ts";
import type { KeyParameters } from "../vault/vault-key.ts";
import { createVaultAgent } from "./client.ts";
import { parseRequest, writeRequest } from "./messages.ts";
import { serveVaultAgent } from "./server.ts";
import { agentSocket } from "./socket.ts";

const parameters = (salt = 1): KeyParameters => ({ N: 2, r: 8, p: 1, salt: Buffer.alloc(16, salt) });
const COST = { N: 2 ** 4, r: 8, p: 1 };

/** Windows has no agent. */
const agentTest = test.skipIf(process.platform === "win32");

function setUp() {
  const folder = mkdtempSync(join(tmpdir(), "ptl-agent-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const env = { XDG_RUNTIME_DIR: folder };
  return { folder, env, client: createVaultAgent(env) };
}

async function serve(env: Record<string, string>, emptyMs?: number) {
  const agent = await serveVaultAgent(env, { emptyMs });
  if (agent !== undefined) onTestFinished(() => agent.close());
  return agent;
}

agentTest("the agent returns a key only for the same vault and parameters, until it is locked", async () => {
  const { env, client } = setUp();
  expect(await client.status()).toBeUndefined();
  const agent = await serve(env);
  const key = randomBytes(32);
  expect(await client.put("/v", { parameters: parameters(), key }, 60_000)).toBe(true);
  expect(await client.get("/v", parameters())).toEqual(key);
  expect(await client.get("/other", parameters())).toBeUndefined();
  expect(await client.get("/v", parameters(2))).toBeUndefined();
  expect(await client.status()).toMatchObject([{ vault: "/v" }]);
  expect(await client.lock()).toBe(true);
  await agent?.ended;
  expect(existsSync(await agentSocket(env))).toBe(false);
  expect(await client.lock()).toBe(false);
  expect(await client.get("/v", parameters())).toBeUndefined();
});

agentTest("the agent ends when its last key expires, or if it gets no key", async () => {
  const { env, client } = setUp();
  const agent = await serve(env);
  await client.put("/v", { parameters: parameters(), key: randomBytes(32) }, 1);
  await agent?.ended;
  const empty = await serve(env, 1);
  await empty?.ended;
  expect(await client.status()).toBeUndefined();
});

agentTest("a key also expires while the machine sleeps and timers stop", async () => {
  const { env, client } = setUp();
  const agent = await serve(env);
  await client.put("/v", { parameters: parameters(), key: randomBytes(32) }, 3_600_000);
  await client.put("/later", { parameters: parameters(), key: randomBytes(32) }, 3 * 3_600_000);
  vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 2 * 3_600_000 });
  onTestFinished(() => void vi.useRealTimers());
  expect(await client.status()).toMatchObject([{ vault: "/later" }]);
  expect(await client.get("/v", parameters())).toBeUndefined();
  vi.setSystemTime(Date.now() + 2 * 3_600_000);
  expect(await client.get("/later", parameters())).toBeUndefined();
  await agent?.ended;
});

test("Windows has no agent, because other users could create its pipe first", async () => {
  const { env } = setUp();
  if (process.platform !== "win32") await serve(env);
  const client = createVaultAgent(env, "win32");
  expect(client.isSupported).toBe(false);
  expect(await client.put("/v", { parameters: parameters(), key: randomBytes(32) }, 1_000)).toBe(false);
  expect(await client.status()).toBeUndefined();
  expect(await serveVaultAgent({ XDG_RUNTIME_DIR: "/nowhere" }, { platform: "win32" })).toBeUndefined();
});

agentTest("the error names a runtime folder that cannot be used", async () => {
  await expect(serve({ XDG_RUNTIME_DIR: "/dev/null" })).rejects.toMatchObject({
    code: "SECRET_STORE_FAILED",
    message: expect.stringContaining("/dev/null/portolan") as string,
    hint: expect.stringContaining("XDG_RUNTIME_DIR") as string,
  });
});

agentTest("a second agent of the same user does not start, and a stale socket is replaced", async () => {
  const { env, client } = setUp();
  const path = await agentSocket(env);
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  // A process that was killed leaves its socket.
  const dead = createServer().listen(path);
  await new Promise((resolve) => dead.once("listening", resolve));
  const copy = `${path}.old`;
  await import("node:fs/promises").then(({ rename }) => rename(path, copy));
  await new Promise((resolve) => dead.close(resolve));
  await import("node:fs/promises").then(({ rename }) => rename(copy, path).catch(() => {}));
  expect(await serve(env)).toBeDefined();
  expect(await serve(env)).toBeUndefined();
  expect(await client.status()).toEqual([]);
});

agentTest("other users cannot reach the agent, and a folder that others can enter is not used", async () => {
  const { env, folder, client } = setUp();
  await serve(env);
  const path = await agentSocket(env);
  expect(statSync(dirname(path)).mode & 0o777).toBe(0o700);
  expect(statSync(path).mode & 0o777).toBe(0o600);
  chmodSync(dirname(path), 0o755);
  expect(await client.status()).toBeUndefined();
  expect(await client.put("/v", { parameters: parameters(), key: randomBytes(32) }, 1_000)).toBe(false);
  await expect(serveVaultAgent(env)).rejects.toMatchObject({ code: "SECRET_STORE_FAILED" });
  chmodSync(dirname(path), 0o700);
  // Only the socket is on disk.
  expect(readdirSync(folder, { recursive: true }).map(String)).toEqual([
    "portolan",
    join("portolan", path.split("/").at(-1) ?? ""),
  ]);
});

agentTest("an invalid request or an endless line closes the connection, but not the agent", async () => {
  const { env, client } = setUp();
  await serve(env);
  const path = await agentSocket(env);
  for (const text of ["\n", "{}\n", '{"op":"put"}\n', "x".repeat(100_000)])
    await new Promise<void>((resolve) => {
      const socket = connect(path, () => void socket.write(text));
      socket.on("error", () => {});
      socket.on("close", () => resolve());
    });
  expect(await client.status()).toEqual([]);
});

test("reads back the requests that it wrote, and ignores any other JSON", () => {
  const key = { parameters: parameters(), key: randomBytes(32) };
  for (const request of [
    { op: "get", vault: "/v", parameters: parameters() },
    { op: "put", vault: "/v", key, ms: 5 },
    { op: "lock" },
    { op: "status" },
  ] as const)
    expect(parseRequest(writeRequest(request))).toEqual(request);
  fc.assert(
    fc.property(fc.json(), (text) => {
      const parsed = parseRequest(text);
      expect(parsed === undefined || ["lock", "status"].includes(parsed.op)).toBe(true);
    }),
  );
});

agentTest(
  "a passphrase is typed once: the next process opens the vault with the key of the agent",
  async () => {
    const { env, folder, client } = setUp();
    const file = join(folder, "secrets.vault");
    await serve(env);
    let prompts = 0;
    const open = () =>
      createVault({
        ...{ file, env, cost: COST, agent: client, report: () => {} },
        promptPassphrase: async () => {
          prompts += 1;
          return {
            passphrase: "correct horse",
            opened: async (vault, key) => void (await client.put(vault, key, 60_000)),
          };
        },
      });
    const { Secret } = await import("../secret.ts");
    await open().set("A", new Secret("one"));
    expect(prompts).toBe(1);
    expect((await open().get("A"))?.reveal()).toBe("one");
    await open().set("B", new Secret("two"));
    expect((await open().get("B"))?.reveal()).toBe("two");
    expect(prompts).toBe(1);
    await client.lock();
    expect((await open().get("A"))?.reveal()).toBe("one");
    expect(prompts).toBe(2);
    // A new vault has another key.
    await serve(env);
    await client.put(file, { parameters: parameters(), key: randomBytes(32) }, 60_000);
    expect((await open().get("A"))?.reveal()).toBe("one");
    expect(prompts).toBe(3);
  },
);
