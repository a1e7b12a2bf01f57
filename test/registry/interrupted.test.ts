// Ctrl-C in the middle of a publication, of an installation and of an upload: nothing half-written stays, and the next command works.

import { once } from "node:events";
import { existsSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { createServer, request } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { startRegistry as startNpm } from "../fixtures/npm-registry.mjs";
import { portolan, type Ran, start } from "../helpers/cli.ts";
import { SERVER_SCRIPT, sri } from "../helpers/packages.ts";
import { packageDocument, startRegistry, type TestRegistry } from "../helpers/registry.ts";

const NAME = "@alice/tiny";
const tools = [{ name: "echo", description: "Returns its facts." }];

/** A package of npm in the registry, and a document of it. */
async function stage() {
  const [registry, npm] = [await startRegistry(), await startNpm()];
  onTestFinished(() => npm.close());
  npm.publish({
    ...{ name: "tiny", version: "1.0.0", bin: "index.js" },
    files: { "index.js": `#!/usr/bin/env node\n${SERVER_SCRIPT}` },
  });
  const bytes = npm.tarballOf("tiny", "1.0.0");
  const document = packageDocument((value) => {
    Object.assign(value, { name: NAME, version: "1.0.0" });
    value["mcp"] = {
      version: "2025-11-25",
      transport: ["stdio"],
      executable: "tiny",
      capabilities: { tools },
    };
    value["source"] = { type: "npm", url: "npm:tiny@1.0.0", hash: sri(bytes, "sha512"), size: bytes.length };
    value["security"] = { permissions: [] };
  });
  return { registry, npm, document };
}

async function interrupted(
  words: readonly string[],
  options: { readonly cwd: string; readonly env: Record<string, string> },
  reached: Promise<unknown>,
): Promise<Ran> {
  const { child, done } = start([...words, "--text"], options);
  await Promise.race([reached, done.then(({ err }) => Promise.reject(new Error(err)))]);
  child.kill("SIGINT");
  return done;
}

/** A registry in front of another one that leaves requests of a method without an answer. */
async function startHolding({ url }: TestRegistry, method: string) {
  let reach = (): void => {};
  const reached = new Promise<void>((resolve) => (reach = resolve));
  const server = createServer((incoming, answer) => {
    if (incoming.method === method) return reach();
    const { headers, url: path } = incoming;
    const passed = request(new URL(path ?? "/", url), { method: incoming.method, headers }, (found) => {
      answer.writeHead(found.statusCode ?? 500, found.headers);
      found.pipe(answer);
    });
    incoming.pipe(passed);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, reached };
}

it("after Ctrl-C, publish, install and registry serve leave no files, and the next command works", async () => {
  const { registry, npm, document } = await stage();
  const { folder, token } = registry;
  writeFileSync(join(folder, "package.json"), JSON.stringify(document));
  const env = { XDG_DATA_HOME: join(folder, "data"), PORTOLAN_REGISTRY_TOKEN: token };
  const holding = await startHolding(registry, "POST");
  const own = { cwd: folder, env: { ...env, PORTOLAN_REGISTRY: holding.url } };
  const publishing = await interrupted(["publish", "package.json"], own, holding.reached);
  expect(publishing.code).toBe(130);
  expect(publishing.err).toContain(`Interrupted. The registry may have published ${NAME}.`);
  expect((await registry.run("publish", "package.json")).code).toBe(0);

  const cwd = join(folder, "workspace");
  mkdirSync(cwd);
  const user = {
    ...{ ...env, PORTOLAN_REGISTRY: registry.url, PORTOLAN_SANDBOX: "off", npm_config_registry: npm.url },
    ...{ npm_config_cache: join(folder, "npm"), npm_config_fetch_retries: "0" },
  };
  const added = await portolan(["add", NAME, "--yes", "--allow", "none"], { cwd, env: user });
  expect({ code: added.code, err: added.code === 0 ? "" : added.err }).toEqual({ code: 0, err: "" });
  const other = {
    ...user,
    XDG_DATA_HOME: join(folder, "other"),
    npm_config_cache: join(folder, "other-npm"),
  };
  const held = npm.hold(/tiny/);
  const installing = await interrupted(["install", "--frozen"], { cwd, env: other }, held.seen);
  expect(installing.code).toBe(130);
  expect(installing.err).toContain("Interrupted. Packages that were already installed completely stay");
  const store = join(folder, "other", "portolan", "store", "npm");
  for (const part of ["entries", "specs"]) expect(readdirSync(join(store, part))).toEqual([]);
  expect(readdirSync(join(store, "work")).filter((name) => !name.endsWith(".lock"))).toEqual([]);
  held.release();
  expect((await portolan(["install", "--frozen"], { cwd, env: other })).code).toBe(0);

  const upload = request(new URL(`/api/files/sha256-${"0".repeat(64)}`, registry.url), {
    method: "PUT",
    headers: { authorization: `Bearer ${token}`, "content-length": "1000000" },
  });
  upload.on("error", () => {});
  upload.write(Buffer.alloc(1_000));
  const uploads = join(registry.registry, "private", "uploads");
  await expect.poll(() => existsSync(uploads) && readdirSync(uploads).length).toBe(1);
  registry.running.child.kill("SIGINT");
  expect((await registry.running.done).code).toBe(130);
  expect(readdirSync(uploads)).toEqual([]);
});
