// Servers that do not answer, such as one behind a URL that is killed and started again: their state in a workspace, a connection
// and a gateway.

import { expect, onTestFinished, test } from "vitest";
import { openGateway } from "../../src/gateway.ts";
import { type HubEvent, openWorkspace } from "../../src/hub/index.ts";
import { type HttpServer, startHttpServer } from "../fixtures/http-server.mjs";
import { connectUrl, failure, started, until } from "../helpers/connect.ts";
import { TOKEN } from "../helpers/raw-gateways.ts";
import { declare, open, scripted } from "../helpers/workspace.ts";

const ERAS = ["legacy", "modern"] as const;

async function restarted({ port }: HttpServer, era: (typeof ERAS)[number]): Promise<HttpServer> {
  return started(startHttpServer({ era, port }));
}

test.each(ERAS)("a %s server that does not answer is reconnecting until it answers", async (era) => {
  const server = await startHttpServer({ era });
  const events: HubEvent[] = [];
  const diagnostics: string[] = [];
  const workspace = await openWorkspace(
    { servers: { issues: { url: server.url } } },
    {
      snapshots: false,
      onEvent: (event) => events.push(event),
      onDiagnostic: ({ message }) => diagnostics.push(message),
    },
  );
  onTestFinished(() => workspace.close());
  const state = (): unknown => workspace.health().map((one) => [one.state, one.error?.code]);
  const types = (): string[] =>
    events.map(({ type }) => type).filter((type) => /server_(?:failed|ready|restarted)/.test(type));
  expect(state()).toEqual([["ready", undefined]]);
  await server.close();
  // The first call may be lost on an old connection.
  await failure(workspace.callTool("issues.echo", { text: "x" }));
  const unsent = await failure(workspace.callTool("issues.echo", { text: "x" }));
  expect(unsent.code).toBe("SERVER_UNAVAILABLE");
  expect(unsent.message).toContain("ECONNREFUSED");
  while (workspace.health()[0]?.state === "ready")
    await failure(workspace.callTool("issues.echo", { text: "x" }));
  expect(state()).toEqual([["reconnecting", "CONNECTION_LOST"]]);
  expect(types()).toEqual(["mcp.server_ready", "mcp.server_failed"]);
  expect(diagnostics).toEqual([expect.stringContaining("issues cannot be used now")]);
  // Refused calls change neither the reason nor the list of tools.
  expect((await failure(workspace.callTool("issues.echo", { text: "x" }))).code).toBe("SERVER_UNAVAILABLE");
  expect(state()).toEqual([["reconnecting", "CONNECTION_LOST"]]);
  expect(await workspace.tools()).not.toEqual([]);
  expect(await workspace.healthCheck()).toBe(false);
  expect(types()).toEqual(["mcp.server_ready", "mcp.server_failed"]);

  await restarted(server, era);
  expect(await workspace.healthCheck()).toBe(true);
  expect(state()).toEqual([["ready", undefined]]);
  expect(types()).toEqual([
    "mcp.server_ready",
    "mcp.server_failed",
    era === "legacy" ? "mcp.server_restarted" : "mcp.server_ready",
  ]);
  expect((await workspace.callTool("issues.echo", { text: "x" })).text).toBe("x");
  expect(diagnostics).toHaveLength(1);
});

test.each(ERAS)(
  "one failed health check of a %s server changes its state, but does not refuse calls",
  async (era) => {
    const server = await startHttpServer({ era });
    const workspace = await openWorkspace(
      { servers: { issues: { url: server.url } } },
      { snapshots: false, onDiagnostic: () => {} },
    );
    onTestFinished(() => workspace.close());
    await server.close();
    expect(await workspace.healthCheck()).toBe(false);
    expect(workspace.health()).toMatchObject([{ state: "reconnecting", error: { code: "CONNECTION_LOST" } }]);
    await restarted(server, era);
    expect((await workspace.callTool("issues.echo", { text: "x" })).text).toBe("x");
    expect(workspace.health()).toMatchObject([{ state: "ready" }]);
  },
);

test("a connection changes its state to reconnecting if its server does not answer", async () => {
  const server = await startHttpServer({ era: "modern" });
  const mcp = await connectUrl(server.url);
  const states: unknown[] = [];
  mcp.on("stateChanged", (state, reason) => states.push([state, reason?.code]));
  await server.close();
  for (let i = 0; i < 3; i += 1) await failure(mcp.callTool("echo", { text: "x" }));
  expect(states).toEqual([["reconnecting", "CONNECTION_LOST"]]);
});

test.each(ERAS)("the gateway counts a %s server that does not answer as down", async (era) => {
  const server = await startHttpServer({ era });
  const gateway = await openGateway(
    { servers: { issues: { url: server.url } } },
    { access: { token: TOKEN }, settings: { port: 0 }, snapshots: false, onDiagnostic: () => {} },
  );
  onTestFinished(() => gateway.close());
  await gateway.settled();
  const { url } = await gateway.listen();
  const readiness = async (): Promise<unknown> => (await fetch(new URL("/readyz", url))).json();
  const mcp = await connectUrl(`${url}/mcp`, {
    // A legacy client that answers server requests has a session of its own with a legacy server.
    era,
    handlers: { elicit: async () => ({ action: "decline" }) },
    headers: { authorization: `Bearer ${TOKEN}` },
  });
  expect(await readiness()).toMatchObject({ ready: true, servers: { up: 1, down: 0 } });
  await server.close();
  await failure(mcp.callTool("mcp_issues_echo", { text: "x" }));
  expect(await failure(mcp.callTool("mcp_issues_echo", { text: "x" }))).toMatchObject({
    ...{ code: "SERVER_UNAVAILABLE", server: "issues", tool: "mcp_issues_echo" },
  });
  await failure(mcp.callTool("mcp_issues_echo", { text: "x" }));
  expect(await readiness()).toMatchObject({ ready: false, servers: { up: 0, down: 1 } });
  await restarted(server, era);
  expect(await gateway.healthCheck()).toBe(true);
  expect(await readiness()).toMatchObject({ ready: true, servers: { up: 1, down: 0 } });
});

test("a process that answers neither a call nor a ping is down", async () => {
  const script = `require("node:readline").createInterface({ input: process.stdin }).on("line", (line) => {
    const { id, method } = JSON.parse(line);
    const results = {
      initialize: { protocolVersion: "2025-11-25", capabilities: { tools: {} }, serverInfo: { name: "x", version: "1" } },
      "tools/list": { tools: [{ name: "spin", inputSchema: { type: "object" } }] },
    };
    if (method === "tools/call") for (;;);
    if (id !== undefined) console.log(JSON.stringify({ jsonrpc: "2.0", id, result: results[method] ?? {} }));
  })`;
  const stuck = { alias: "stuck", transport: "stdio", command: process.execPath, args: ["-e", script] };
  const { workspace, events } = await open(declare([stuck]));
  await workspace.settled();
  const failed = await failure(workspace.callTool("stuck.spin", {}, { timeoutMs: 200 }));
  expect(failed.code).toBe("TIMEOUT");
  expect(workspace.health()[0]?.state).toBe("ready");
  await until(() => workspace.health()[0]?.state === "reconnecting");
  expect(workspace.health()[0]?.error).toMatchObject({
    code: "TIMEOUT",
    message: expect.stringContaining("(ping)"),
  });
  expect(events).toContainEqual(expect.objectContaining({ type: "mcp.server_failed", code: "TIMEOUT" }));
});

test("a resource error says that no ready server has it, or why the named server is down", async () => {
  const serverInfo = { name: "plain", version: "1" };
  const initialize = { protocolVersion: "2025-11-25", capabilities: { tools: {} }, serverInfo };
  const folder = declare([
    scripted("plain", { initialize, "tools/list": { tools: [] } }),
    { alias: "notes", transport: "stdio", command: process.execPath, args: ["-e", "process.exit(3)"] },
  ]);
  const { workspace } = await open(folder);
  await workspace.settled();
  const uri = "notes://today";
  for (const what of [workspace.readResource(uri), workspace.subscribe(uri)])
    expect(await failure(what)).toMatchObject({
      code: "NOT_SUPPORTED",
      message: expect.stringMatching(/^No server of this workspace that is ready offers resource/) as string,
      hint: expect.stringContaining("workspace.health()") as string,
    });
  expect(await failure(workspace.readResource(uri, { server: "notes" }))).toMatchObject({
    ...{ code: "SERVER_UNAVAILABLE", server: "notes" },
  });
  expect(await failure(workspace.readResource(uri, { server: "plain" }))).toMatchObject({
    ...{ code: "RESOURCE_NOT_FOUND", message: expect.stringContaining("plain has no resource") as string },
  });
});

test("healthCheck is true for a server without ping, and health() has the reason if a server does not answer", async () => {
  const results = { "tools/list": { tools: [] } };
  const folder = declare([scripted("refusing", results), scripted("silent", { ...results, ping: null })]);
  const { workspace } = await open(folder);
  expect(await workspace.healthCheck({ servers: ["refusing"] })).toBe(true);
  expect(await workspace.healthCheck({ servers: ["silent"] })).toBe(false);
  const [refusing, silent] = workspace.health();
  expect(refusing).toMatchObject({ state: "ready" });
  expect(refusing?.error).toBeUndefined();
  expect(silent).toMatchObject({ state: "ready", error: { code: "TIMEOUT" } });
});
