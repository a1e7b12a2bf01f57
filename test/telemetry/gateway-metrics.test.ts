// The values of the gateway on `/metrics`: calls of each caller, approvals, and the state of the config files.

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { type OpenedGateway, openGateway } from "../../src/gateway/index.ts";
import type { CallRecord } from "../../src/telemetry/index.ts";
import { stdioCommand } from "../fixtures/processes.mjs";
import { until } from "../helpers/connect.ts";
import { RawModern } from "../helpers/raw-clients.ts";
import { runsFile, TOKEN } from "../helpers/raw-gateways.ts";

const AGENT = "token-of-the-agent-0123456789";
const CALL = { name: "mcp_main_give", arguments: { result: { content: [] } } };

interface Served {
  readonly gateway: OpenedGateway;
  readonly url: string;
  save(more?: object): void;
  write(text: string): void;
  metric(name: string): Promise<string[]>;
}

async function serve(): Promise<Served> {
  const folder = mkdtempSync(join(tmpdir(), "portolan-metrics-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const { command, args } = stdioCommand(`--runs=${runsFile().file}`);
  const write = (text: string): void => writeFileSync(join(folder, "portolan.yaml"), text);
  const save = (more: object = {}): void => {
    const caller = { name: "agent", token: "${file:token}" };
    write(
      JSON.stringify({
        servers: { main: { command, args: [...args] } },
        gateway: { callers: [caller], approval: [{ tools: ["main.give"] }], ...more },
        telemetry: { prometheus: true },
      }),
    );
  };
  writeFileSync(join(folder, "token"), AGENT);
  save();
  const gateway = await openGateway(folder, {
    ...{ access: { token: TOKEN }, snapshots: false, onDiagnostic: () => {} },
    settings: (configured) => ({ ...configured, port: 0 }),
  });
  onTestFinished(() => gateway.close());
  gateway.approvals.addWay("terminal");
  const { url } = await gateway.listen();
  const metric = async (name: string): Promise<string[]> => {
    const response = await fetch(`${url}/metrics`, { headers: { authorization: `Bearer ${TOKEN}` } });
    const lines = (await response.text()).split("\n").filter((line) => !line.startsWith("#"));
    return lines.flatMap((line) => (line.startsWith(name) ? [line.slice(name.length).trim()] : []));
  };
  return { gateway, url, save, write, metric };
}

it("counts the calls of each caller, and the calls that waited for approval", async () => {
  const { gateway, url, metric } = await serve();
  const agent = new RawModern(url, { token: AGENT });
  await agent.tool("mcp_main_echo", { text: "hi" });
  await new RawModern(url, { token: TOKEN }).tool("mcp_main_echo", { text: "hi" });
  expect(await metric("portolan_calls_total")).toEqual([
    '{caller="agent",outcome="ok"} 1',
    '{caller="local",outcome="ok"} 1',
  ]);
  expect(await metric("portolan_approvals_waiting")).toEqual(["0"]);
  for (const approve of [true, false]) {
    const exchange = agent.post("tools/call", { ...CALL, _meta: { progressToken: "p" } });
    await until(async () => (await gateway.approvals.list()).length > 0);
    expect(await metric("portolan_approvals_waiting")).toEqual(["1"]);
    const [waiting] = await gateway.approvals.list();
    await gateway.approvals.decide({ id: waiting?.id ?? "", approve }, "terminal");
    await exchange.answer();
  }
  expect(await metric("portolan_approvals_waiting")).toEqual(["0"]);
  expect(await metric("portolan_approvals_decided_total")).toEqual([
    '{outcome="granted"} 1',
    '{outcome="denied"} 1',
    '{outcome="expired"} 0',
    '{outcome="withdrawn"} 0',
  ]);
  expect(await metric("portolan_calls_total")).toContain('{caller="agent",outcome="tool_error"} 1');
});

it("counts refused calls by decision and by the key of the rule, also those of the rules of a caller", async () => {
  const { gateway, url, save, metric } = await serve();
  const token = "${file:token}";
  const use = async (rules: object): Promise<void> => {
    save({ callers: [{ name: "agent", token, ...rules }], budgets: { few: { calls: "1/h" } } });
    await gateway.reload();
  };
  const call = (name: string) =>
    new RawModern(url, { token: AGENT }).call("tools/call", { name, arguments: { text: "hi" } });
  await use({ deny: { tools: ["mcp_main_give", "mcp_main_fail"] } });
  await call("mcp_main_give");
  await call("mcp_main_fail");
  // A call of a tool that no server has is not refused by a rule.
  await call("mcp_main_missing");
  await use({ allow: { tools: ["mcp_main_echo"] } });
  await call("mcp_main_fail");
  await call("mcp_main_echo");
  await call("mcp_main_echo");
  expect(await metric("portolan_refused_calls_total")).toEqual([
    '{decision="refused",rule="deny.tools"} 2',
    '{decision="refused",rule="allow.tools"} 1',
    '{decision="over_budget",rule="few"} 1',
  ]);
});

it("the duration of a call does not include the time in which it waited for approval", async () => {
  const { gateway, url, metric } = await serve();
  const records: CallRecord[] = [];
  gateway.calls.add({ ended: (record) => void records.push(record) });
  const exchange = new RawModern(url, { token: AGENT }).post("tools/call", {
    ...{ ...CALL, _meta: { progressToken: "p" } },
  });
  await until(async () => (await gateway.approvals.list()).length > 0);
  const [waiting] = await gateway.approvals.list();
  await gateway.approvals.decide({ id: waiting?.id ?? "", approve: true }, "terminal");
  await exchange.answer();
  const { durationMs, waitedMs = 0 } = records[0] as CallRecord;
  expect(waitedMs).toBeGreaterThan(0);
  const [sum] = await metric('mcp_server_operation_duration_seconds_sum{mcp_method_name="tools/call"');
  expect(Number(sum?.split(" ").at(-1))).toBeCloseTo((durationMs - waitedMs) / 1_000, 6);
});

it("shows whether the saved config is in use, and when a valid one was applied", async () => {
  const { gateway, save, write, metric } = await serve();
  const successful = (): Promise<string[]> => metric("portolan_config_last_reload_successful");
  const appliedAt = async (): Promise<number> =>
    Number((await metric("portolan_config_last_reload_success_timestamp_seconds"))[0]);
  expect(await successful()).toEqual(["1"]);
  const before = await appliedAt();
  expect(Math.abs(before - Date.now() / 1_000)).toBeLessThan(60);

  write("servers: [");
  await gateway.reload();
  expect(await successful()).toEqual(["0"]);
  expect((await metric("portolan_errors")).join()).toMatch(/\{code="[A-Z_]+"\} 1/);
  // The file is valid, but its settings cannot be used.
  save({ callers: [{ name: "agent", token: "${PORTOLAN_TEST_MISSING}" }] });
  await gateway.reload();
  expect(await successful()).toEqual(["0"]);
  expect(await appliedAt()).toBe(before);

  await until(() => Math.round(Date.now() / 1_000) > before);
  save();
  await gateway.reload();
  expect(await successful()).toEqual(["1"]);
  expect(await metric("portolan_errors")).toEqual([]);
  expect(await appliedAt()).toBeGreaterThan(before);
});
