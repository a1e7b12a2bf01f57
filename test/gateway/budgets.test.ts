// Budgets and the loop breaker of a gateway: calls are counted per caller, refused with a result that a model can read, and reported.

import { createHash } from "node:crypto";
import { readdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { openGateway, type OpenedGateway } from "../../src/gateway/index.ts";
import type { HubEvent } from "../../src/hub/index.ts";
import type { GatewaySettings } from "../../src/model/index.ts";
import type { CallRecord } from "../../src/telemetry/index.ts";
import { stdioCommand } from "../fixtures/processes.mjs";
import { driverWorkspace } from "../helpers/driver-workspaces.ts";
import { type Loose, RawLegacy, RawModern } from "../helpers/raw-clients.ts";
import { openTestGateway, stdioServer, temporary, TOKEN } from "../helpers/raw-gateways.ts";

const AGENT = "token-of-the-agent-0123";
const OTHER = "token-of-the-other-0123";
const CALLERS = [
  { name: "agent", token: AGENT },
  { name: "other", token: OTHER },
];
const HOUR = 3_600_000;
const HASH = createHash("sha256").update(AGENT).digest("hex");

async function setUp(settings: GatewaySettings) {
  const opened = await openTestGateway([stdioServer("one", [])], { callers: CALLERS, ...settings });
  const events: HubEvent[] = [];
  const records: CallRecord[] = [];
  opened.gateway.events.on((event) => events.push(event), { calls: false });
  opened.gateway.calls.add({ ended: (record) => records.push(record) });
  return { ...opened, events, records };
}

const open = (era: "modern" | "legacy", url: string, token = AGENT): Promise<RawModern | RawLegacy> =>
  era === "modern" ? Promise.resolve(new RawModern(url, { token })) : RawLegacy.open(url, { token });

const echo = async (client: RawModern | RawLegacy, text = "hi"): Promise<Loose> =>
  (await client.tool("mcp_one_echo", { text })).result;
const ok = ({ isError }: Loose): boolean => isError !== true;

describe.each(["modern", "legacy"] as const)("a budget of calls (%s)", (era) => {
  it("refuses the call after the last one, for this caller and these tools only", async () => {
    const calls = { amount: 2, periodMs: HOUR };
    const { url, events, records } = await setUp({ budgets: { echoes: { tools: ["one.ec*"], calls } } });
    const [agent, other] = [await open(era, url), await open(era, url, OTHER)];
    expect([await echo(agent, "a"), await echo(agent, "b")].map(ok)).toEqual([true, true]);
    const refused = await echo(agent, "c");
    expect(refused.isError).toBe(true);
    expect(refused.content[0].text).toMatch(
      /^This call was not sent: the budget "echoes" is used up\. 2 of 2 calls in 1 hour are used\. Calls are possible again at \d{4}-\d\d-\d\dT[\d:]+Z \(in (60 minutes|1 hour)\)/,
    );
    expect(refused._meta["portolan/error"]).toMatchObject({ code: "over_budget", retryable: true });
    await echo(agent, "d");
    // The budget does not apply to another tool or another caller.
    expect(ok((await agent.tool("mcp_one_add", { a: 1, b: 2 })).result)).toBe(true);
    expect(ok(await echo(other))).toBe(true);
    const exceeded = events.filter(({ type }) => type === "gateway.budget_exceeded");
    expect(exceeded).toEqual([
      {
        type: "gateway.budget_exceeded",
        time: expect.any(String) as string,
        ...{ server: "one", tool: "mcp_one_echo", caller: "agent", budget: "echoes" },
        ...{ kind: "calls", used: 2, amount: 2, periodMs: HOUR, until: expect.any(String) as string },
      },
    ]);
    const decisions = records.filter(({ method }) => method === "tools/call").map(({ decision }) => decision);
    expect(decisions.filter(({ kind }) => kind === "over_budget")).toEqual([
      { kind: "over_budget", rule: "echoes" },
      { kind: "over_budget", rule: "echoes" },
    ]);
    expect(decisions.filter(({ kind }) => kind === "allowed")).toHaveLength(4);
  });

  it("refuses identical calls, and lets a read-only tool be polled while its result changes", async () => {
    const { url, events, records } = await setUp({
      loops: { identical: 3, withinMs: HOUR, except: ["*_add"] },
    });
    const agent = await open(era, url);
    const results = [1, 2, 3, 4, 5].map(() => echo(agent, "again"));
    expect((await Promise.all(results)).filter(ok)).toHaveLength(3);
    expect(ok(await echo(agent, "another"))).toBe(true);
    const refused = await echo(agent, "again");
    expect(refused.content[0].text).toContain(
      "mcp_one_echo was called 3 times with the same arguments within 1 hour.",
    );
    // `stats` is read-only, and counts the calls.
    for (let step = 0; step < 6; step += 1) {
      expect(ok((await agent.tool("mcp_one_stats")).result)).toBe(true);
      expect(ok((await agent.tool("mcp_one_add", { b: 2, a: 1 })).result)).toBe(true);
    }
    const stopped = events.filter(({ type }) => type === "gateway.loop_stopped");
    expect(stopped).toMatchObject([{ tool: "mcp_one_echo", caller: "agent", calls: 3, withinMs: HOUR }]);
    expect(records.filter(({ decision }) => decision.kind === "loop")).toHaveLength(3);
  });
});

it("the order of the keys does not make arguments different for the loop breaker", async () => {
  const { url } = await setUp({ loops: { identical: 1, withinMs: HOUR } });
  const agent = await open("modern", url);
  const add = async (args: object): Promise<Loose> => (await agent.tool("mcp_one_add", args)).result;
  expect([await add({ a: 1, b: 2 }), await add({ b: 2, a: 1 }), await add({ a: 2, b: 1 })].map(ok)).toEqual([
    true,
    false,
    true,
  ]);
});

it("a call that was not approved does not count towards a budget", async () => {
  const calls = { amount: 1, periodMs: HOUR };
  const { gateway, url } = await setUp({ approval: [{ by: ["terminal"] }], budgets: { day: { calls } } });
  const { approvals } = gateway;
  approvals.addWay("terminal");
  const agent = await open("modern", url);
  const decideNext = async (approve: boolean): Promise<void> => {
    const id = await vi.waitFor(async () => {
      const [waiting] = await approvals.list();
      if (waiting === undefined) throw new Error("no call waits");
      return waiting.id;
    });
    // A waiting call already counts.
    expect(gateway.budgets).toMatchObject([{ used: 1 }]);
    await approvals.decide({ id, approve }, "terminal");
  };
  for (const approve of [false, false, true]) {
    const result = echo(agent);
    await decideNext(approve);
    expect(ok(await result)).toBe(approve);
    expect(gateway.budgets[0]?.used ?? 0).toBe(approve ? 1 : 0);
  }
});

it("a call that a modern server interrupts for input counts once towards a budget", async () => {
  const calls = { amount: 1, periodMs: HOUR };
  const { gateway, url } = await openTestGateway([stdioServer("one", ["--era=modern"])], {
    callers: CALLERS,
    budgets: { asks: { calls } },
  });
  const client = new RawModern(url, {
    token: AGENT,
    answer: () => ({ action: "accept", content: { name: "Ann" } }),
  });
  expect(ok((await client.tool("mcp_one_ask_form", {})).result)).toBe(true);
  expect(gateway.budgets).toMatchObject([{ budget: "asks", caller: "agent", used: 1 }]);
});

it("a client on stdio has its own budget", async () => {
  const { gateway } = await setUp({
    budgets: { all: { callers: ["stdio"], calls: { amount: 1, periodMs: HOUR } } },
  });
  const [input, output] = [new PassThrough(), new PassThrough()];
  const done = gateway.serveStdio(input, output);
  const lines: Loose[] = [];
  output.setEncoding("utf8").on("data", (text: string) => {
    for (const line of text.split("\n")) if (line !== "") lines.push(JSON.parse(line));
  });
  const send = (message: object): void =>
    void input.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
  const clientInfo = { name: "test", version: "1" };
  send({
    id: 1,
    method: "initialize",
    params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo },
  });
  const params = { name: "mcp_one_echo", arguments: { text: "hi" } };
  send({ id: 2, method: "tools/call", params });
  send({ id: 3, method: "tools/call", params });
  await vi.waitFor(() => expect(lines.filter(({ id }) => id >= 2)).toHaveLength(2), { timeout: 20_000 });
  expect(lines.filter(({ id, result }) => id >= 2 && result.isError === true)).toHaveLength(1);
  input.end();
  await done;
});

describe("cost of calls for a budget", () => {
  const driver = "cost_override: { cost_units_per_call: 4 }";

  async function serve(settings: GatewaySettings): Promise<OpenedGateway> {
    const gateway = await openGateway(driverWorkspace({ driver }).folder, {
      access: { token: TOKEN, key: Buffer.alloc(32, 7) },
      settings: { port: 0, callers: CALLERS, ...settings },
      snapshots: false,
    });
    onTestFinished(() => gateway.close());
    return gateway;
  }

  it("counts a call of a contract with the cost that its driver declares, before the call is sent", async () => {
    const gateway = await serve({ budgets: { money: { cost: { amount: 10, periodMs: HOUR } } } });
    const records: CallRecord[] = [];
    gateway.calls.add({ ended: (record) => records.push(record) });
    const client = new RawModern((await gateway.listen()).url, { token: AGENT });
    const results = [
      await client.tool("who-am-i"),
      await client.tool("who-am-i"),
      await client.tool("who-am-i"),
    ];
    expect(results.map(({ result }) => ok(result))).toEqual([true, true, false]);
    expect(results[2]?.result.content[0].text).toContain(
      "8 of 10 cost units in 1 hour are used and this call needs 4.",
    );
    const error = results[2]?.result._meta["portolan/error"];
    expect(error).toMatchObject({ code: "policy_violation", retryable: false });
    expect(error.retryAfterMs).toBeGreaterThan(0);
    expect(error.retryAfterMs).toBeLessThanOrEqual(HOUR);
    expect(gateway.budgets).toMatchObject([{ budget: "money", kind: "cost", used: 8, amount: 10 }]);
    expect(records.map(({ decision }) => decision.kind)).toEqual(["allowed", "allowed", "over_budget"]);
  });

  it("does not count a call that was denied after the contract required approval; the number of calls does", async () => {
    const workspace = driverWorkspace({ driver });
    writeFileSync(join(workspace.folder, "portolan.yaml"), "version: 1\ncontracts: { approval: always }\n");
    const amount = { amount: 10, periodMs: HOUR };
    const gateway = await openGateway(workspace.folder, {
      access: { token: TOKEN, key: Buffer.alloc(32, 7) },
      settings: { port: 0, callers: CALLERS, budgets: { money: { calls: amount, cost: amount } } },
      approve: () => "deny",
      snapshots: false,
    });
    onTestFinished(() => gateway.close());
    const client = new RawModern((await gateway.listen()).url, { token: AGENT });
    const { result } = await client.tool("who-am-i");
    expect(result.isError).toBe(true);
    expect(result.content[0].text).toContain("The call was not approved");
    expect(gateway.budgets).toMatchObject([{ budget: "money", kind: "calls", used: 1 }]);
  });

  it("counts a call of any other tool with the unitsPerCall of the budget", async () => {
    const cost = { amount: 10, periodMs: HOUR };
    const { gateway, url } = await setUp({ budgets: { money: { cost, unitsPerCall: 6 } } });
    const agent = await open("modern", url);
    expect([await echo(agent), await echo(agent)].map(ok)).toEqual([true, false]);
    expect(gateway.budgets).toMatchObject([{ kind: "cost", used: 6 }]);
  });
});

describe("budgets in a config file", () => {
  const { command, args } = stdioCommand();
  const yaml = (calls: string): string =>
    JSON.stringify({
      version: 1,
      servers: { one: { command, args } },
      gateway: {
        callers: [{ name: "agent", token_sha256: HASH }],
        budgets: { echoes: { tools: ["*echo"], calls } },
      },
    });

  async function serve(folder: string): Promise<{ gateway: OpenedGateway; agent: RawModern }> {
    const gateway = await openGateway(folder, {
      access: { token: TOKEN, key: Buffer.alloc(32, 7) },
      settings: (configured) => ({ ...configured, port: 0 }),
    });
    onTestFinished(() => gateway.close());
    return { gateway, agent: new RawModern((await gateway.listen()).url, { token: AGENT }) };
  }

  it("keep their counters after a reload and a restart, in a private file", async () => {
    const [folder, data] = [temporary(), temporary()];
    vi.stubEnv("XDG_DATA_HOME", data);
    onTestFinished(() => void vi.unstubAllEnvs());
    writeFileSync(join(folder, "portolan.yaml"), yaml("2/h"));
    const first = await serve(folder);
    expect(
      [await echo(first.agent, "a"), await echo(first.agent, "b"), await echo(first.agent, "c")].map(ok),
    ).toEqual([true, true, false]);
    // A larger amount takes effect without a restart, and the used part stays used.
    writeFileSync(join(folder, "portolan.yaml"), yaml("4/h"));
    expect(await first.gateway.reload()).toMatchObject({ problems: [] });
    expect(first.gateway.budgets).toMatchObject([{ used: 2, amount: 4 }]);
    expect(ok(await echo(first.agent, "d"))).toBe(true);
    await first.gateway.close();
    const kept = join(data, "portolan", "gateway");
    const [name = ""] = readdirSync(kept).filter((one) => one.endsWith(".budgets.json"));
    expect(statSync(join(kept, name)).mode & 0o777).toBe(0o600);
    const second = await serve(folder);
    expect(second.gateway.budgets).toMatchObject([{ budget: "echoes", caller: "agent", used: 3, amount: 4 }]);
    expect([await echo(second.agent, "e"), await echo(second.agent, "f")].map(ok)).toEqual([true, false]);
    await second.gateway.close();
    // A damaged file is a warning, and counting begins again.
    writeFileSync(join(kept, name), "{ half");
    const third = await serve(folder);
    expect(third.gateway.diagnostics).toContainEqual(
      expect.objectContaining({
        code: "FILE_FAILED",
        message: expect.stringContaining("budget counters is damaged") as string,
      }),
    );
    expect(ok(await echo(third.agent, "g"))).toBe(true);
    // Without budgets, calls are not counted any more.
    writeFileSync(join(folder, "portolan.yaml"), yaml("1/h").replace(/,"budgets":\{.*?\}\}/, ""));
    await third.gateway.reload();
    expect([await echo(third.agent, "h"), await echo(third.agent, "i")].map(ok)).toEqual([true, true]);
    await third.gateway.close();
  });
});
