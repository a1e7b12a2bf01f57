// Servers that speak both protocol eras, and legacy HTTP servers with many callers: each client of the gateway gets what
// it would get from the server directly.

import { describe, expect, it } from "vitest";
import type { OpenedGateway } from "../../src/gateway/index.ts";
import { healthOf } from "../../src/hub/member/health.ts";
import { startHttpServer } from "../fixtures/http-server.mjs";
import { started, until } from "../helpers/connect.ts";
import { RawLegacy, RawModern, textOf } from "../helpers/raw-clients.ts";
import {
  openTestGateway,
  person,
  runsFile,
  secretsIn,
  stdioServer,
  type TestServer,
  TOKEN,
} from "../helpers/raw-gateways.ts";

const health = ({ workspace }: OpenedGateway) => workspace.hub.members.map(healthOf)[0];
const TOOL = "mcp_one_ask_own";

/** A server that speaks both eras, with these faults. */
async function dualServer(transport: "stdio" | "http", file: string, faults: string[]): Promise<TestServer> {
  if (transport === "stdio")
    return stdioServer("one", [`--runs=${file}`, ...faults.map((fault) => `--fault=${fault}`)]);
  const { url } = await started(startHttpServer({ runs: file, faults, answer: "sse" }));
  return { alias: "one", endpoint: { transport: "http", url } };
}

describe.each(["stdio", "http"] as const)("a server that speaks both eras, over %s", (transport) => {
  it("sends its requests to a legacy client, although it refuses to in the modern era", async () => {
    const runs = runsFile();
    const { url, gateway } = await openTestGateway([await dualServer(transport, runs.file, ["push-only"])]);
    expect(health(gateway)).toMatchObject({ era: "modern" });
    for (const kind of ["form", "sample", "roots"]) {
      const who = person(`legacy ${kind}`);
      const client = await RawLegacy.open(url, { token: TOKEN, answer: who.answer });
      const result = await client.tool(TOOL, { id: who.id, kind });
      expect(secretsIn(textOf(result)), kind).toEqual([who.secret]);
      expect(runs.called(who.id)).toBe(1);
    }
    expect(health(gateway)?.dedicatedProcesses).toBeGreaterThan(0);
  });

  it("sends requests to a modern client in the modern era, while legacy clients use it too", async () => {
    const runs = runsFile();
    const { url } = await openTestGateway([await dualServer(transport, runs.file, [])]);
    const [old, modern] = [person("old"), person("modern")];
    const legacy = await RawLegacy.open(url, { token: TOKEN, answer: old.answer });
    const client = new RawModern(url, { token: TOKEN, answer: modern.answer });
    const [first, second] = await Promise.all([
      legacy.tool(TOOL, { id: old.id }),
      client.tool(TOOL, { id: modern.id }),
    ]);
    expect(secretsIn(textOf(first))).toEqual([old.secret]);
    expect(secretsIn(textOf(second))).toEqual([modern.secret]);
    // The modern rounds run the handler again, the legacy era does not.
    expect([runs.called(old.id), runs.called(modern.id)]).toEqual([1, 2]);
  });

  it("notifies a legacy client about the resources and tools that its calls change", async () => {
    const { url } = await openTestGateway([await dualServer(transport, runsFile().file, [])]);
    const client = await RawLegacy.open(url, { token: TOKEN });
    const stream = await client.listen();
    const uri = "test://static-text";
    await client.call("resources/subscribe", { uri });
    await client.tool("mcp_one_touch_resource", { uri });
    await stream.find(({ method }) => method === "notifications/resources/updated");
    await client.tool("mcp_one_change_tools", { action: "add" });
    await stream.find(({ method }) => method === "notifications/tools/list_changed");
    const { result } = await client.call("tools/list");
    const added = result.tools.find(({ name }: { name: string }) => name.startsWith("mcp_one_added_"));
    expect((await client.tool(added.name)).error).toBeUndefined();
  });

  it("lets a legacy client use a tool that works only in the modern era, from the second call on", async () => {
    const runs = runsFile();
    const { url } = await openTestGateway([await dualServer(transport, runs.file, ["rounds-only"])]);
    const who = person("legacy");
    const client = await RawLegacy.open(url, { token: TOKEN, answer: who.answer });
    const { error } = await client.call("tools/call", { name: TOOL, arguments: { id: who.id } });
    expect(error?.message).toMatch(
      /uses that revision for the next request for this tool, prompt or resource\. To use 2026-07-28 for every call, set "era: modern"/,
    );
    // A failed call was not repeated.
    expect(runs.called(who.id)).toBe(1);
    for (const _again of [1, 2])
      expect(secretsIn(textOf(await client.tool(TOOL, { id: who.id })))).toEqual([who.secret]);
  });

  it("names the era setting to change if the configured era does not work for the tool", async () => {
    const modern = await dualServer(transport, runsFile().file, ["push-only"]);
    const legacy = await dualServer(transport, runsFile().file, ["rounds-only"]);
    const { url } = await openTestGateway([
      { ...modern, era: "modern" },
      { ...legacy, alias: "two", era: "legacy" },
    ]);
    const client = await RawLegacy.open(url, { token: TOKEN, answer: person("legacy").answer });
    const call = (name: string) => client.call("tools/call", { name, arguments: { id: "legacy" } });
    expect((await call(TOOL)).error?.message).toMatch(/no back-channel.*"era: legacy".*one/s);
    expect((await call("mcp_two_ask_own")).error?.message).toMatch(/invalid result.*"era: auto".*two/s);
  });
});

describe("a legacy HTTP server", () => {
  it("whose server requests name no call: each request reaches the right client", async () => {
    const server = await started(
      startHttpServer({ era: "legacy", runs: runsFile().file, faults: ["unrelated"] }),
    );
    const { url } = await openTestGateway([
      { alias: "one", endpoint: { transport: "http", url: server.url } },
    ]);
    const people = Array.from({ length: 8 }, (_, n) => person(`caller ${n}`));
    const clients = await Promise.all(
      people.map(async ({ answer }, n) =>
        n % 2 === 0
          ? RawLegacy.open(url, { token: TOKEN, answer })
          : new RawModern(url, { token: TOKEN, answer }),
      ),
    );
    const results = await Promise.all(clients.map((client, n) => client.tool(TOOL, { id: people[n]?.id })));
    expect(results.map((result) => secretsIn(textOf(result)))).toEqual(people.map(({ secret }) => [secret]));
    expect(people.flatMap(({ strange }) => strange)).toEqual([]);
  });

  it("has one session per legacy client, which ends when the client's session ends", async () => {
    const server = await started(startHttpServer({ era: "legacy", runs: runsFile().file }));
    const { url, gateway } = await openTestGateway([
      { alias: "one", endpoint: { transport: "http", url: server.url } },
    ]);
    const who = person("one");
    const client = await RawLegacy.open(url, {
      token: TOKEN,
      answer: who.answer,
      capabilities: { elicitation: {} },
    });
    for (const _again of [1, 2]) await client.tool(TOOL, { id: who.id });
    expect(server.sessions.size).toBe(2);
    // The server sees the capabilities of the client, as in a direct connection.
    expect(server.stats.initialize).toMatchObject({ capabilities: { elicitation: {} } });
    expect(server.stats.initialize?.capabilities).not.toHaveProperty("sampling");
    expect(health(gateway)?.dedicatedProcesses).toBe(1);
    await client.end().over;
    await until(() => server.sessions.size === 1);
  });
});
