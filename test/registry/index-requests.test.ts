// Requests for the index of a registry: one for each add, none for a start, and a renewal of an old index in the background.

import { mkdirSync, readdirSync, utimesSync, writeFileSync } from "node:fs";
import { createServer, request as httpRequest } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { expect, it, onTestFinished, vi } from "vitest";
import { openWorkspace } from "../../src/index.ts";
import type { Ran } from "../helpers/cli.ts";
import { ACCEPT, NAME, release, startApi, TOKEN, userOf } from "../helpers/package-server.ts";
import { type Loose, startRegistry } from "../helpers/registry.ts";

const json = (ran: Ran): Loose => {
  expect({ code: ran.code, err: ran.code === 0 ? "" : ran.err }).toEqual({ code: 0, err: "" });
  return JSON.parse(ran.out) as Loose;
};

/** Passes requests on to a registry, and notes those for the index with their status. */
async function startProxy(target: string) {
  const seen: string[] = [];
  const proxy = createServer((request, response) => {
    const { method, url = "", headers } = request;
    const passed = httpRequest(new URL(url, target), { method, headers }, (answer) => {
      if (url.endsWith("/index.jsonl")) seen.push(`${method} ${answer.statusCode}`);
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(response);
    });
    passed.on("error", () => response.writeHead(502).end());
    request.pipe(passed);
  });
  await new Promise<void>((resolve) => void proxy.listen(0, "127.0.0.1", resolve));
  const close = async (): Promise<void> => {
    proxy.closeAllConnections();
    await new Promise((resolve) => proxy.close(resolve));
  };
  onTestFinished(close);
  const url = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
  return { url, close, taken: () => seen.splice(0) };
}

const ADVISORY = {
  ...{ id: "MLLD-2026-0001", title: "Leaks its token", severity: "high", summary: "It does." },
  affected: { [NAME]: { versions: ["<2.0.0"] } },
};

it("add requests the index once; a start requests it only if it is old, and works offline", async () => {
  const [registry, api] = [await startRegistry(), await startApi()];
  const change = (document: Loose): void => void (document["security"].sandbox = { required: false });
  json(await release(registry, api.url, { change }));
  const proxy = await startProxy(registry.url);
  const cwd = join(registry.folder, "workspace");
  mkdirSync(cwd);
  const user = userOf({ ...registry, url: proxy.url }, cwd);
  const add = (): Promise<Ran> => user("add", NAME, ...ACCEPT, "--sandbox", "off");
  json(await add());
  expect(proxy.taken()).toEqual(["GET 200"]);
  json(await user("remove", "github"));
  json(await add());
  expect(proxy.taken()).toEqual(["GET 304"]);

  const states = join(registry.folder, "data", "portolan", "registries");
  const age = (): void => {
    const then = new Date(Date.now() - 25 * 60 * 60 * 1000);
    for (const name of readdirSync(states)) utimesSync(join(states, name, "state.json"), then, then);
  };
  vi.stubEnv("XDG_DATA_HOME", join(registry.folder, "data"));
  vi.stubEnv("GITHUB_TOKEN", TOKEN);
  onTestFinished(() => void vi.unstubAllEnvs());
  const start = async (isReported: boolean): Promise<string[]> => {
    const found: string[] = [];
    const workspace = await openWorkspace(cwd, {
      onDiagnostic: ({ code, message }) => code === "VERSION_VULNERABLE" && found.push(message),
    });
    expect(await workspace.tools()).not.toHaveLength(0);
    if (isReported) await expect.poll(() => found).not.toHaveLength(0);
    await workspace.close();
    return found;
  };
  writeFileSync(join(registry.folder, "advisory.json"), JSON.stringify(ADVISORY));
  json(await registry.run("advisories", "--publish", "advisory.json"));
  expect(await start(false)).toEqual([]);
  expect(proxy.taken()).toEqual([]);
  age();
  expect(await start(true)).toEqual([expect.stringContaining("MLLD-2026-0001 (high), Leaks its token")]);
  expect(proxy.taken()).toEqual(["GET 200"]);
  expect(await start(true)).toHaveLength(1);
  expect(proxy.taken()).toEqual([]);
  await proxy.close();
  age();
  expect(await start(true)).toHaveLength(1);
});
