// A private registry: its token is used wherever a document or a file is fetched, and goes to no other host.

import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { portolan, type Ran, resultText } from "../helpers/cli.ts";
import { ACCEPT, NAME, release, startApi, TOKEN } from "../helpers/package-server.ts";
import { startRegistry } from "../helpers/registry.ts";

/** Answers every request with 404, and keeps the headers. */
async function startStranger(): Promise<{ readonly url: string; readonly seen: IncomingHttpHeaders[] }> {
  const seen: IncomingHttpHeaders[] = [];
  const server = createServer((request, response) => {
    seen.push(request.headers);
    response.writeHead(404).end();
  });
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, seen };
}

it("the token of portolan.yaml fetches document and file at add, install and start", async () => {
  const [registry, api, stranger] = await Promise.all([
    startRegistry(undefined, "alice", "--private"),
    startApi(),
    startStranger(),
  ]);
  const published = await release(registry, api.url, {
    change: (document) => {
      document["security"].sandbox = { required: false };
      // The file is at another host, which does not have it; the registry has a copy.
      document["source"].url = `${stranger.url}/github-mcp.mjs`;
    },
  });
  expect({ code: published.code, err: published.code === 0 ? "" : published.err }).toEqual({
    code: 0,
    err: "",
  });
  const cwd = join(registry.folder, "workspace");
  mkdirSync(cwd);
  writeFileSync(
    join(cwd, "portolan.yaml"),
    `registries:\n  - url: ${registry.url}\n    token: \${REGISTRY_TOKEN}\n`,
  );
  const data = join(registry.folder, "user");
  const env = { XDG_DATA_HOME: data, GITHUB_TOKEN: TOKEN, DBUS_SESSION_BUS_ADDRESS: "unix:path=/nowhere" };
  const user = (token: string | undefined, ...words: string[]): Promise<Ran> =>
    portolan([...words, "--json"], { cwd, env: { ...env, ...(token ? { REGISTRY_TOKEN: token } : {}) } });
  const added = await user(registry.token, "add", NAME, ...ACCEPT, "--sandbox", "off");
  expect({ code: added.code, err: added.code === 0 ? "" : added.err }).toEqual({ code: 0, err: "" });

  const forget = (): void => rmSync(join(data, "portolan", "store"), { recursive: true });
  forget();
  const frozen = await user(registry.token, "install", "--frozen");
  expect(frozen).toMatchObject({ code: 0, out: expect.stringContaining('"installed"') as string });
  forget();
  const called = await user(registry.token, "call", "github.show_token");
  expect(resultText(called)).toContain("The token is");
  // A registry of the environment needs no entry in portolan.yaml.
  const configured = readFileSync(join(cwd, "portolan.yaml"), "utf8");
  writeFileSync(join(cwd, "portolan.yaml"), configured.replace(/^registries:\n(?: .*\n)+/, ""));
  const audit = async (token: string): Promise<string> => {
    const variables = { PORTOLAN_REGISTRY: registry.url, PORTOLAN_REGISTRY_TOKEN: token };
    return (await portolan(["audit", "--json"], { cwd, env: { ...env, ...variables } })).out;
  };
  expect(await audit(registry.token)).not.toContain("not-checked");
  expect(await audit("wrong")).toContain("does not know this token");
  const empty = { env: { ...env, XDG_DATA_HOME: join(registry.folder, "empty") }, cwd };
  expect((await portolan(["audit", "--offline", "--json"], empty)).out).toContain(
    "Run the command once without --offline",
  );
  writeFileSync(join(cwd, "portolan.yaml"), configured);

  forget();
  const refused = await user("wrong", "install", "--frozen");
  expect(refused.code).not.toBe(0);
  expect(refused.out).toContain("AUTH_REQUIRED");
  expect(refused.out + refused.err).not.toContain(registry.token);

  expect(stranger.seen.length).toBeGreaterThan(0);
  for (const headers of stranger.seen) expect(headers.authorization).toBeUndefined();
});
