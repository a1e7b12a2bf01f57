// `portolan audit calls`: shows and verifies the audit log that portolan.yaml names.

import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { createAuditObserver, openAuditLog } from "../../src/audit/index.ts";
import { CallObservers } from "../../src/telemetry/index.ts";
import { stdioCommand } from "../fixtures/processes.mjs";
import { portolan, temporaryFolder } from "../helpers/cli.ts";
import { RawLegacy, RawModern } from "../helpers/raw-clients.ts";
import { openTestGateway, TOKEN } from "../helpers/raw-gateways.ts";

async function workspaceWithLog(): Promise<{ folder: string; log: string }> {
  const folder = temporaryFolder();
  writeFileSync(
    join(folder, "portolan.yaml"),
    "version: 1\nservers:\n  one: {command: nothing}\naudit: {folder: log, anchors: anchors}\n",
  );
  const folders = { log: join(folder, "log"), anchors: join(folder, "anchors") };
  await using log = await openAuditLog({ folders, report: () => {} });
  for (const [target, caller, outcome, time] of [
    ["mcp_one_old", "ann", "ok", "2026-01-02T03:04:05.000Z"],
    ["mcp_one_new", "ann", "ok", new Date().toISOString()],
    ["mcp_one_new", "bob", "error", new Date().toISOString()],
  ] as const)
    log.append({ type: "call", time, method: "tools/call", target, caller, outcome, durationMs: 12.3 });
  return { folder, log: join(folders.log, "calls.jsonl") };
}

it("shows calls by time, caller and outcome, and verifies the log", async () => {
  const { folder, log } = await workspaceWithLog();
  const run = (...words: string[]) => portolan(["audit", "calls", ...words, "-w", folder, "--text"]);
  const all = await run();
  expect([all.code, all.out.trim().split("\n").length]).toEqual([0, 3]);
  expect((await run("--since", "1h")).out).not.toContain("mcp_one_old");
  expect((await run("--since", "2026-01-01", "--caller", "ann")).out.trim().split("\n")).toHaveLength(2);
  expect((await run("--outcome", "error")).out).toMatch(/bob .*mcp_one_new .*error .*12 ms/);
  expect(await run("--caller", "nobody")).toMatchObject({
    code: 0,
    out: "No recorded call matches the options.\n",
  });
  const json = await portolan(["audit", "calls", "-w", folder, "--json"]);
  expect(JSON.parse(json.out)).toMatchObject({ matched: 3, calls: [{ caller: "ann" }, {}, {}] });

  const intact = await run("--verify");
  expect([intact.code, intact.out]).toEqual([0, expect.stringMatching(/^intact 5 records in /)]);
  writeFileSync(log, readFileSync(log, "utf8").replace('"bob"', '"ann"'));
  const changed = await run("--verify");
  expect(changed.code).toBe(1);
  expect(changed.out).toContain(
    "calls.jsonl:4: one of the records 2 to 4 was changed: their hash does not match",
  );
});

it("an error of the gateway has the id of its call in the log, and --id finds the call", async () => {
  const { url, gateway } = await openTestGateway([
    { alias: "one", endpoint: { transport: "stdio", ...stdioCommand("--era=modern") } },
  ]);
  const modern = new RawModern(url, { token: TOKEN });
  const legacy = await RawLegacy.open(url, { token: TOKEN });
  const unknown = { name: "mcp_one_nothing" };
  expect((await modern.call("tools/call", unknown)).error?.data).not.toHaveProperty("callId");

  const { folder } = await workspaceWithLog();
  const folders = { log: join(folder, "log"), anchors: join(folder, "anchors") };
  const log = await openAuditLog({ folders, report: () => {} });
  gateway.workspace.calls.add(createAuditObserver(log, (text) => text));
  const ids: string[] = [];
  for (const client of [modern, legacy])
    for (const name of ["mcp_one_nothing", "mcp_one_crash"])
      ids.push((await client.call("tools/call", { name })).error?.data.callId as string);
  await log.close();
  expect(new Set(ids).size).toBe(4);
  for (const [index, id] of ids.entries()) {
    const { out } = await portolan(["audit", "calls", "-w", folder, "--json", "--id", id]);
    const target = index % 2 === 0 ? "mcp_one_nothing" : "mcp_one_crash";
    expect(JSON.parse(out)).toMatchObject({ matched: 1, calls: [{ id, target }] });
  }
});

it("shows how long a call waited for approval", async () => {
  const { folder } = await workspaceWithLog();
  const folders = { log: join(folder, "log"), anchors: join(folder, "anchors") };
  const log = await openAuditLog({ folders, report: () => {} });
  const calls = new CallObservers();
  calls.add(createAuditObserver(log, (text) => text));
  const waited = calls.begin({
    ...{ method: "tools/call", params: { name: "mcp_one_slow", arguments: {} }, requestId: 1, caller: "ann" },
    ...{ transport: "http", era: "modern", revision: "2026-07-28" },
  });
  waited.waits();
  waited.resumed();
  waited.finish();
  await log.close();
  const { out } = await portolan(["audit", "calls", "-w", folder, "--json", "--tool", "mcp_one_slow"]);
  const { calls: shown } = JSON.parse(out) as { calls: { durationMs: number; waitedMs: number }[] };
  expect(shown).toMatchObject([
    { durationMs: expect.any(Number) as number, waitedMs: expect.any(Number) as number },
  ]);
  const text = (await portolan(["audit", "calls", "-w", folder, "--text"])).out.trim().split("\n");
  expect(text.filter((line) => line.includes("waiting for approval"))).toEqual([
    expect.stringMatching(/mcp_one_slow {2}ok {2}\d+ ms \(\d+ ms of them waiting for approval\)$/),
  ]);
});

it("reports all wrong options at once, and conflicting options", async () => {
  const { folder } = await workspaceWithLog();
  const wrong = await portolan([
    "audit",
    "calls",
    "--since",
    "x",
    "--limit",
    "0",
    "--outcome",
    "y",
    "-w",
    folder,
  ]);
  expect(wrong.code).toBe(2);
  for (const option of ["--since", "--limit", "--outcome"]) expect(wrong.err).toContain(option);
  expect((await portolan(["audit", "calls", "--verify", "--caller", "ann", "-w", folder])).code).toBe(2);
});

it("says how to turn the audit log on, for each kind of workspace", async () => {
  const folder = temporaryFolder();
  const home = temporaryFolder();
  const hint = async (...words: string[]): Promise<string> => {
    const { code, err } = await portolan(["audit", "calls", ...words], {
      cwd: folder,
      env: { ...process.env, HOME: home },
    });
    expect(code).toBe(2);
    return (JSON.parse(err) as { error: { hint: string } }).error.hint;
  };
  const own =
    "To turn the audit log on, set audit: true at the top level of portolan.yaml, and restart the gateway.";
  expect(await hint()).toBe(own);
  mkdirSync(join(home, ".cursor"));
  writeFileSync(join(home, ".cursor/mcp.json"), '{"mcpServers": {"a": {"command": "x"}}}');
  expect(await hint()).toContain("Copy the servers into it: portolan import --write. Then set audit: true");
  writeFileSync(
    join(folder, "x.mcpfile.yaml"),
    "mcpFileVersion: 0.1.0\nname: x\nversion: 1.0.0\ntools: []\n",
  );
  expect(await hint("-w", "x.mcpfile.yaml")).toContain("Add the file to sources in a portolan.yaml");
  writeFileSync(join(folder, "portolan.yaml"), "version: 1\nservers: {}\naudit: false\n");
  expect(await hint()).toBe(own);
});
