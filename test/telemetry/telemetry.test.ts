// Telemetry of a gateway: spans, metrics and the audit log come from the same records, and agree with the calls that were made.

import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { readCalls, verifyAudit } from "../../src/audit/index.ts";
import { healthOf } from "../../src/hub/index.ts";
import type { AuditSettings, GatewaySettings } from "../../src/model/index.ts";
import { Secret } from "../../src/secrets/index.ts";
import { argumentDigest } from "../../src/telemetry/index.ts";
import { startHttpServer } from "../fixtures/http-server.mjs";
import { started } from "../helpers/connect.ts";
import { type OtlpReceiver, type ReceivedSpan, startOtlpReceiver } from "../helpers/otlp-receiver.ts";
import { RawLegacy, RawModern, textOf } from "../helpers/raw-clients.ts";
import {
  openTestGateway,
  person,
  runsFile,
  stdioServer,
  type TestGateway,
  TOKEN,
} from "../helpers/raw-gateways.ts";

const TRACE = "4bf92f3577b34da6a3ce929d0e0e4736";
const CLIENT_SPAN = "00f067aa0ba902b7";
const PARENT = `00-${TRACE}-${CLIENT_SPAN}-01`;
const HTTP_TRACE = "0af7651916cd43dd8448eb211c80319c";
const HTTP_PARENT = `00-${HTTP_TRACE}-b7ad6b7169203331-01`;

type Era = "legacy" | "modern";

function auditFolder(): Required<Pick<AuditSettings, "folder" | "anchors">> {
  const top = mkdtempSync(join(tmpdir(), "portolan-telemetry-"));
  onTestFinished(() => rmSync(top, { recursive: true, force: true }));
  return { folder: join(top, "log"), anchors: join(top, "anchors") };
}

interface Observed extends TestGateway {
  readonly receiver: OtlpReceiver;
  readonly folders: { readonly log: string; readonly anchors: string };
  /** The spans that were exported so far. */
  spans(): Promise<readonly ReceivedSpan[]>;
  metrics(token?: string): Promise<{ status: number; text: string }>;
}

async function observed(
  servers: Parameters<typeof openTestGateway>[0],
  telemetry: GatewaySettings["telemetry"] = {},
  more: GatewaySettings = {},
): Promise<Observed> {
  const receiver = await startOtlpReceiver();
  const audit = auditFolder();
  const opened = await openTestGateway(servers, {
    audit,
    telemetry: { endpoint: receiver.url, prometheus: {}, ...telemetry },
    ...more,
  });
  return {
    ...opened,
    receiver,
    folders: { log: audit.folder, anchors: audit.anchors },
    async spans() {
      await opened.gateway.flushTelemetry();
      return receiver.spans;
    },
    async metrics(token = TOKEN) {
      const response = await fetch(`${opened.url}/metrics`, {
        headers: token === "" ? {} : { authorization: `Bearer ${token}` },
      });
      return { status: response.status, text: await response.text() };
    },
  };
}

function openClient(era: Era, url: string, options: object = {}): Promise<RawModern | RawLegacy> {
  const all = { token: TOKEN, ...options };
  return era === "legacy" ? RawLegacy.open(url, all) : Promise.resolve(new RawModern(url, all));
}

const PAIRS = (["modern", "legacy"] as const).flatMap((front) =>
  (["modern", "legacy"] as const).map((back) => ({ front, back })),
);

describe.each(PAIRS)("a $front client and a $back server", ({ front, back }) => {
  it("have spans in one trace, from the client's span to the traceparent that the server gets", async () => {
    const { url, spans } = await observed([stdioServer("one", [`--era=${back}`])]);
    const client = await openClient(front, url);
    const params = { name: "mcp_one_echo", arguments: { text: "private" }, _meta: { traceparent: PARENT } };
    await client.call("tools/call", params);
    const { lastMeta } = textOf(await client.tool("mcp_one_stats"));
    const all = (await spans()).filter(({ traceId }) => traceId === TRACE);
    expect(all).toHaveLength(3);
    const server = all.find(({ kind }) => kind === "server");
    const hub = all.find(({ kind }) => kind === "internal");
    const upstream = all.find(({ kind }) => kind === "client");
    expect(server).toMatchObject({ name: "tools/call mcp_one_echo", parentId: CLIENT_SPAN });
    expect(hub).toMatchObject({ name: "hub tools/call", parentId: server?.spanId });
    expect(upstream).toMatchObject({ name: "tools/call echo", parentId: hub?.spanId });
    expect(lastMeta.traceparent).toBe(`00-${TRACE}-${upstream?.spanId}-01`);
    for (const inner of [hub, upstream]) {
      expect(inner?.startNs).toBeGreaterThanOrEqual(server?.startNs ?? 0n);
      expect(inner?.endNs).toBeLessThanOrEqual(server?.endNs ?? 0n);
    }
    const revision = (era: Era): string => (era === "modern" ? "2026-07-28" : "2025-11-25");
    expect(server?.attributes).toMatchObject({
      "mcp.method.name": "tools/call",
      "gen_ai.tool.name": "mcp_one_echo",
      "gen_ai.operation.name": "execute_tool",
      "mcp.protocol.version": revision(front),
      "network.transport": "tcp",
      "network.protocol.name": "http",
      "network.protocol.version": "1.1",
      "client.address": "127.0.0.1",
      "jsonrpc.request.id": expect.stringMatching(/^\d+$/) as string,
      "portolan.caller": "local",
      "portolan.server": "one",
    });
    expect(upstream?.attributes).toMatchObject({
      "gen_ai.tool.name": "echo",
      "mcp.protocol.version": revision(back),
      "network.transport": "pipe",
      "portolan.server": "one",
      "jsonrpc.request.id": expect.stringMatching(/^\d+$/) as string,
    });
    expect(JSON.stringify(all.map(({ attributes }) => attributes))).not.toContain("private");
    for (const { attributes, status } of all) {
      expect(attributes).not.toHaveProperty("error.type");
      expect(attributes).not.toHaveProperty("rpc.response.status_code");
      expect(status.code).toBe(0);
    }
  });
});

it("the traceparent header becomes a link if the message has none, and a new trace begins", async () => {
  const { url, spans } = await observed([stdioServer("one", [])]);
  const client = new RawModern(url, { token: TOKEN });
  await client
    .post("tools/call", { name: "mcp_one_echo", arguments: { text: "x" } }, { traceparent: HTTP_PARENT })
    .answer();
  const [server] = (await spans()).filter(({ name }) => name === "tools/call mcp_one_echo");
  expect(server?.links).toEqual([{ traceId: HTTP_TRACE, spanId: "b7ad6b7169203331" }]);
  expect(server?.parentId).toBe("");
  expect(server?.traceId).not.toBe(HTTP_TRACE);
});

it("an error of the client does not set error.type of the server span, a tool error does", async () => {
  const { url, spans, metrics } = await observed([stdioServer("one", [])]);
  const client = new RawModern(url, { token: TOKEN });
  await client.tool("mcp_one_fail");
  await client.tool("no_such_tool_1");
  await client.tool("no_such_tool_2");
  await client.ask("resources/read", { uri: "test://nothing" });
  const all = await spans();
  const of = (kind: string, method: string): ReceivedSpan | undefined =>
    all.find((span) => span.kind === kind && span.attributes["mcp.method.name"] === method);
  const failed = all.filter(({ name }) => name.endsWith("fail"));
  expect(failed.map(({ kind, attributes, status }) => [kind, attributes["error.type"], status.code])).toEqual(
    expect.arrayContaining([
      ["server", "tool_error", 2],
      ["client", "tool_error", 2],
    ]),
  );
  const unknown = all.filter(({ kind, name }) => kind === "server" && name === "tools/call");
  expect(unknown).toHaveLength(2);
  for (const { attributes, status } of unknown) {
    expect(attributes["rpc.response.status_code"]).toBe("-32602");
    expect(attributes).not.toHaveProperty("error.type");
    expect(status.code).toBe(0);
  }
  expect(of("server", "resources/read")?.attributes).toMatchObject({ "mcp.resource.uri": "test://nothing" });
  // Unknown names of a client do not become labels, which would fill the memory of Prometheus.
  expect((await metrics()).text).not.toContain("no_such_tool");
});

it("spans have arguments and results only if the settings enable them, without secrets", async () => {
  const { url, spans, gateway } = await observed([stdioServer("one", [])], {
    arguments: true,
    results: true,
  });
  gateway.workspace.redactor.add(new Secret("hush-hush-hush"));
  const client = new RawModern(url, { token: TOKEN });
  await client.tool("mcp_one_echo", { text: "seen hush-hush-hush" });
  const [server] = (await spans()).filter(({ name }) => name === "tools/call mcp_one_echo");
  expect(String(server?.attributes["gen_ai.tool.call.arguments"])).toMatch(/^\{"text":"seen [^"]+"\}$/);
  expect(String(server?.attributes["gen_ai.tool.call.result"])).toContain("seen");
  expect(JSON.stringify(server?.attributes)).not.toContain("hush");
});

it("a call with a server request is two requests of the client and one request to the server", async () => {
  const runs = runsFile();
  const { url, spans, folders, gateway } = await observed([
    stdioServer("one", ["--era=legacy", `--runs=${runs.file}`]),
  ]);
  const who = person("ann");
  const client = new RawModern(url, { token: TOKEN, answer: who.answer });
  await client.tool("mcp_one_ask_own", { id: who.id, kind: "form" });
  const all = (await spans()).filter(({ name }) => name.includes("ask_own"));
  expect(all.filter(({ kind }) => kind === "server")).toHaveLength(2);
  expect(all.filter(({ kind }) => kind === "client")).toHaveLength(1);
  await gateway.close();
  const { calls } = await readCalls(folders, {}, 10);
  expect(calls.map(({ outcome, server, tool }) => [outcome, server, tool])).toEqual([
    ["input_required", "one", "ask_own"],
    ["ok", "one", "ask_own"],
  ]);
  expect(calls[0]?.digest).toBe(calls[1]?.digest);
});

it("metrics, traces and audit log have the same numbers after many calls", async () => {
  const http = await started(startHttpServer({ era: "legacy" }));
  const callers = [{ name: "agent", token: "token-of-the-agent-1234" }];
  const { url, spans, receiver, metrics, folders, gateway } = await observed(
    [stdioServer("one", []), { alias: "two", endpoint: { transport: "http", url: http.url } }],
    { prometheus: { callers: ["agent"] } },
    { callers },
  );
  const clients = await Promise.all([
    openClient("modern", url),
    openClient("legacy", url),
    openClient("modern", url, { token: "token-of-the-agent-1234" }),
    openClient("legacy", url, { token: "token-of-the-agent-1234" }),
  ]);
  const ROUNDS = 8;
  const TOOLS = ["mcp_one_echo", "mcp_two_echo", "mcp_one_fail", "mcp_two_fail", "no_such_tool"];
  await Promise.all(
    clients.map(async (client) => {
      for (let round = 0; round < ROUNDS; round += 1)
        await Promise.all(TOOLS.map((tool) => client.tool(tool, { text: `${round}` })));
    }),
  );
  const each = clients.length * ROUNDS;
  const isCall = ({ attributes }: { attributes: Readonly<Record<string, unknown>> }): boolean =>
    attributes["mcp.method.name"] === "tools/call";
  const count = <T>(items: readonly T[], key: (item: T) => string, amount: (item: T) => number = () => 1) => {
    const counts: Record<string, number> = {};
    for (const item of items) counts[key(item)] = (counts[key(item)] ?? 0) + amount(item);
    return counts;
  };
  const byToolAndError = ({ attributes }: { attributes: Readonly<Record<string, unknown>> }): string =>
    `${String(attributes["gen_ai.tool.name"])} ${String(attributes["error.type"])}`;

  // Requests of clients.
  const expected = {
    "mcp_one_echo undefined": each,
    "mcp_two_echo undefined": each,
    "mcp_one_fail tool_error": each,
    "mcp_two_fail tool_error": each,
  };
  const all = (await spans()).filter(isCall);
  const servers = all.filter(
    ({ kind, attributes }) => kind === "server" && attributes["portolan.server"] !== undefined,
  );
  expect(count(servers, byToolAndError)).toEqual(expected);
  expect(all.filter(({ kind }) => kind === "server")).toHaveLength(TOOLS.length * each);
  const points = receiver.points().filter(isCall);
  const serverPoints = points.filter(({ metric }) => metric === "mcp.server.operation.duration");
  expect(count(serverPoints, byToolAndError, (point) => point.count)).toEqual({
    ...expected,
    "undefined undefined": each,
  });

  // Requests to servers.
  const expectedClient = {
    "echo undefined": 2 * each,
    "fail tool_error": 2 * each,
  };
  expect(
    count(
      all.filter(({ kind }) => kind === "client"),
      byToolAndError,
    ),
  ).toEqual(expectedClient);
  const clientPoints = points.filter(({ metric }) => metric === "mcp.client.operation.duration");
  expect(count(clientPoints, byToolAndError, (point) => point.count)).toEqual(expectedClient);
  for (const { unit, bounds, buckets, count: total } of points) {
    expect([unit, bounds]).toEqual(["s", [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300]]);
    expect(buckets.reduce((sum, one) => sum + one, 0)).toBe(total);
  }
  const ids = new Map(receiver.spans.map((span) => [span.spanId, span]));
  for (const span of all.filter(({ kind }) => kind === "client")) {
    const hub = ids.get(span.parentId);
    const top = ids.get(hub?.parentId ?? "");
    expect([hub?.kind, top?.kind]).toEqual(["internal", "server"]);
    expect([hub?.traceId, top?.traceId]).toEqual([span.traceId, span.traceId]);
  }

  // Prometheus.
  const { text, status } = await metrics("token-of-the-agent-1234");
  expect(status).toBe(200);
  const counted = [...text.matchAll(/^mcp_(\w+)_operation_duration_seconds_count\{(.*)\} (\d+)$/gm)].map(
    ([, side = "", labels = "", value]) => ({
      side,
      attributes: Object.fromEntries(
        [...labels.matchAll(/(\w+)="([^"]*)"/g)].map(([, name = "", of]) => [name, of]),
      ),
      value: Number(value),
    }),
  );
  const prometheus = (side: string): Record<string, number> =>
    count(
      counted.filter((one) => one.side === side && one.attributes.mcp_method_name === "tools/call"),
      ({ attributes }) => `${attributes.gen_ai_tool_name} ${attributes.error_type}`,
      ({ value }) => value,
    );
  expect(prometheus("server")).toEqual({ ...expected, "undefined undefined": each });
  expect(prometheus("client")).toEqual(expectedClient);
  expect(text).toContain('portolan_server_up{server="one"} 1');
  expect(text).toContain('portolan_server_outdated{server="one"} 0');
  const sums = serverPoints.reduce((sum, point) => sum + point.sum, 0);
  const textSums = [
    ...text.matchAll(/^mcp_server_operation_duration_seconds_sum\{.*tools\/call.*\} (\S+)$/gm),
  ];
  expect(textSums.reduce((sum, [, value]) => sum + Number(value), 0)).toBeCloseTo(sums, 6);

  // Audit log.
  await gateway.close();
  const { calls, matched } = await readCalls(folders, {}, 10_000);
  expect(matched).toBe(TOOLS.length * each);
  expect(count(calls, ({ target, outcome }) => `${String(target)} ${String(outcome)}`)).toEqual({
    "mcp_one_echo ok": each,
    "mcp_two_echo ok": each,
    "mcp_one_fail tool_error": each,
    "mcp_two_fail tool_error": each,
    "no_such_tool error": each,
  });
  expect(count(calls, ({ caller }) => String(caller))).toEqual({
    local: (TOOLS.length * each) / 2,
    agent: (TOOLS.length * each) / 2,
  });
  // Every call is one span with the same id, and one line.
  const spanOfCall = new Map(all.map((span) => [span.attributes["portolan.call.id"], span]));
  for (const call of calls) expect(spanOfCall.get(call.id)?.traceId).toBe(call.trace);
  expect((await verifyAudit(folders)).map(({ problems }) => problems)).toEqual([[]]);
  expect(readFileSync(join(folders.log, "calls.jsonl"), "utf8")).not.toContain('"text"');
});

describe("/metrics", () => {
  it("exists only if the settings enable it, and only for permitted callers", async () => {
    const callers = [{ name: "agent", token: "token-of-the-agent-1234" }];
    const { metrics, folders, gateway } = await observed([stdioServer("one", [])], {}, { callers });
    expect((await metrics()).status).toBe(200);
    expect(await metrics("")).toMatchObject({ status: 401 });
    expect(await metrics("wrong-token")).toMatchObject({ status: 401 });
    const refused = await metrics("token-of-the-agent-1234");
    expect(refused.status).toBe(403);
    expect(refused.text).toContain("telemetry.prometheus.callers");
    expect((await metrics()).text).toContain('portolan_refused_requests_total{code="AUTH_REQUIRED"} 2');
    await gateway.close();
    const log = readFileSync(join(folders.log, "calls.jsonl"), "utf8");
    expect(log).toContain('"type":"gateway.refused"');
    expect(log).not.toContain("wrong-token");
    // A refusal of a caller with a valid token has the name of the caller.
    const refusals = log.split("\n").filter((line) => line.includes('"FORBIDDEN"'));
    expect(refusals.map((line) => JSON.parse(line) as object)).toMatchObject([
      { type: "gateway.refused", caller: "agent", path: "/metrics" },
    ]);
    const off = await openTestGateway([stdioServer("one", [])]);
    const response = await fetch(`${off.url}/metrics`, { headers: { authorization: `Bearer ${TOKEN}` } });
    expect(response.status).toBe(404);
    expect(off.gateway.calls.active).toBe(false);
  });

  it("counts the restarts of a server like its health, without restarts by hand", async () => {
    const one = stdioServer("one", []);
    const { metrics, gateway } = await observed([one]);
    const crashed = new Promise<void>((resolve) => {
      gateway.workspace.events.on(({ type }) => {
        if (type === "mcp.server_restarted") resolve();
      });
    });
    for (const pid of one.pids()) process.kill(pid, "SIGKILL");
    await crashed;
    await gateway.workspace.restart("one");
    expect(gateway.workspace.hub.members.map(healthOf)).toMatchObject([{ restarts: 1 }]);
    const { text } = await metrics();
    expect(text).toContain('portolan_server_restarts_total{server="one"} 1');
    expect(text).toContain('portolan_server_tools_withheld{server="one"} 0');
  });

  it("needs no token with auth: none", async () => {
    const { metrics } = await observed([stdioServer("one", [])], { prometheus: { auth: "none" } });
    expect((await metrics("")).status).toBe(200);
  });
});

it("an unreachable receiver does not affect clients", async () => {
  const { url, gateway } = await openTestGateway([stdioServer("one", [])], {
    telemetry: { endpoint: "http://127.0.0.1:1" },
  });
  const client = new RawModern(url, { token: TOKEN });
  expect(textOf(await client.tool("mcp_one_echo", { text: "x" }))).toBeDefined();
  // The export gives up when the gateway stops.
  await gateway.close();
});

it("an approved call runs only after its decision is written to the audit log", async () => {
  const { gateway, folders } = await observed([stdioServer("one", [])]);
  const { calls } = gateway;
  const observation = calls.begin({
    ...{ method: "tools/call", params: { name: "mcp_one_echo", arguments: { text: "x" } }, requestId: 1 },
    ...{ caller: "local", transport: "http", era: "modern", revision: "2026-07-28" },
  });
  observation.decide({ kind: "approved", by: "ann", grant: "g1" });
  await calls.beforeApproved(observation);
  const line = readFileSync(join(folders.log, "calls.jsonl"), "utf8").trim().split("\n").at(-1);
  expect(JSON.parse(line ?? "")).toMatchObject({
    type: "decision",
    target: "mcp_one_echo",
    digest: argumentDigest({ text: "x" }),
    decision: { kind: "approved", by: "ann", grant: "g1" },
  });
});

it("audit log and events contain refusals: wrong tokens, exceeded limits, hidden tools", async () => {
  const token = "token-of-the-agent-1234";
  const { url, gateway, folders } = await observed(
    [stdioServer("one", []), stdioServer("two", [])],
    {},
    {
      callers: [
        { name: "agent", token, allow: { tools: ["mcp_one_echo"] } },
        { name: "slow", token: "token-of-the-slow-1234", limits: { rate: { perSecond: 0.001, burst: 1 } } },
      ],
    },
  );
  const events: unknown[] = [];
  gateway.events.on((event) => void (event.type === "gateway.refused" && events.push(event)));
  const calls: unknown[] = [];
  gateway.events.on((event) => void (event.type === "gateway.call_refused" && calls.push(event)));
  for (const era of ["modern", "legacy"] as const) {
    const agent = await openClient(era, url, { token });
    expect(textOf(await agent.tool("mcp_one_echo", { text: "x" }))).toBeDefined();
    for (const hidden of ["mcp_one_fail", "mcp_two_echo", "no_such_tool"]) {
      const answer = await agent.call("tools/call", { name: hidden, arguments: {} });
      // The caller cannot tell a hidden tool from one that does not exist.
      expect(answer.error).toMatchObject({ message: expect.stringContaining(hidden) as string });
    }
  }
  const slow = new RawModern(url, { token: "token-of-the-slow-1234" });
  await slow.call("tools/list", {});
  const [limited, wrong] = [slow.post("tools/list"), new RawModern(url, { token: "wrong" }).post("ping")];
  await Promise.all([limited.over, wrong.over]);
  expect([limited.status, wrong.status]).toEqual([429, 401]);
  expect(events).toMatchObject([
    { code: "RATE_LIMITED", caller: "slow", path: "/mcp" },
    { code: "AUTH_REQUIRED", path: "/mcp" },
  ]);
  const rule = "allow.tools: only mcp_one_echo";
  const ofEra = [
    { server: "one", tool: "fail", caller: "agent", rule },
    { server: "two", tool: "echo", caller: "agent", rule },
  ];
  expect(calls).toMatchObject([...ofEra, ...ofEra]);
  await gateway.close();
  const recorded = (await readCalls(folders, { caller: "agent" }, 100)).calls;
  const seen = recorded.map(({ target, server, tool, decision }) => [target, server, tool, decision]);
  const refused = { kind: "refused", by: "access rules", rule };
  const each = [
    ["mcp_one_echo", "one", "echo", { kind: "allowed" }],
    ["mcp_one_fail", "one", "fail", refused],
    ["mcp_two_echo", "two", "echo", refused],
    ["no_such_tool", undefined, undefined, { kind: "allowed" }],
  ];
  expect(seen).toEqual([...each, ...each]);
  const all = (await readCalls(folders, { outcome: "refused" }, 100)).calls;
  expect(all.map(({ target, code }) => target ?? code)).toEqual([
    ...["mcp_one_fail", "mcp_two_echo", "mcp_one_fail", "mcp_two_echo"],
    ...["RATE_LIMITED", "AUTH_REQUIRED"],
  ]);
});
