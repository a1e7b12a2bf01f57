// The lifecycle of servers in a workspace, with real processes: new generations, the contracts object, failover.

import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { openGateway } from "../../src/gateway/index.ts";
import { type HubEvent, openWorkspace, openWorkspaceHub, type Workspace } from "../../src/hub/index.ts";
import { type Registry, startRegistry } from "../fixtures/npm-registry.mjs";
import { stdioCommand } from "../fixtures/processes.mjs";
import { until } from "../helpers/connect.ts";
import { declare, isRunning, open, stdio, temporary } from "../helpers/workspace.ts";

test("a changed environment starts a new process while the old one serves, without failed calls", async () => {
  const server = (run: string): ReturnType<typeof stdio> => stdio("one", undefined, { env: { RUN: run } });
  const folder = declare([server("0")]);
  const { workspace, pid, events } = await open(folder, { watchFiles: true });
  const updates: string[] = [];
  workspace.on("resourceUpdated", (uri) => updates.push(uri));
  await workspace.subscribe("test://static-text");
  const before = await pid("one");
  const slow = workspace.callTool("one.slow", { ms: 1_500 });
  const failures: unknown[] = [];
  let calls = 0;
  for (let run = 1; run <= 2; run += 1) {
    const old = await pid("one");
    declare([server(String(run))], {}, folder);
    for (let isNew = false; !isNew; calls += 1) {
      await pid("one").then(
        (now) => (isNew = now !== old),
        (error: unknown) => failures.push(error),
      );
    }
  }
  expect(failures).toEqual([]);
  expect(calls).toBeGreaterThan(2);
  expect((await slow).text).toContain("done");
  await until(() => !isRunning(before));
  await workspace.callTool("one.touch_resource", { uri: "test://static-text" });
  await until(() => updates.includes("test://static-text"));
  expect(events.filter(({ type }) => type === "mcp.server_stopped")).toEqual([]);
  // The event of a reload has the servers that failed.
  declare([server("2"), { ...server("3"), alias: "two", command: "no-such-program-here" }], {}, folder);
  await until(() => events.some((event) => event.type === "mcp.config_reloaded" && event.failed.length > 0));
  const reloads = events.filter(({ type }) => type === "mcp.config_reloaded");
  expect(reloads.slice(0, 2)).toMatchObject([
    { added: [], changed: ["one"], removed: [], failed: [] },
    { added: [], changed: ["one"], removed: [], failed: [] },
  ]);
  expect(reloads.at(-1)).toMatchObject({ added: ["two"], changed: [], failed: [{ server: "two" }] });
  // An error in a file has its line.
  const file = join(folder, "manifest.yaml");
  writeFileSync(file, "config:\n  servers: 5\n");
  await until(() =>
    events.some((event) => event.type === "mcp.config_reloaded" && event.problems.length > 0),
  );
  const problems = events.flatMap((event) => (event.type === "mcp.config_reloaded" ? event.problems : []));
  expect(problems).toEqual([expect.stringContaining(`${file}:2: `)]);
});

test("the tools of a server whose config changed at run time are cached for the next start", async () => {
  const snapshots = temporary();
  const server = (run: string): ReturnType<typeof stdio> => stdio("one", undefined, { env: { RUN: run } });
  const folder = declare([server("0")]);
  const { workspace, pid } = await open(folder, { watchFiles: true, snapshots });
  const old = await pid("one");
  declare([server("1")], {}, folder);
  await until(async () => (await pid("one")) !== old);
  const tools = workspace.health()[0]?.tools;
  expect(tools).toBeGreaterThan(0);
  await workspace.close();
  declare([{ ...server("1"), start: "lazy" }], {}, folder);
  const next = await open(folder, { snapshots });
  expect(next.workspace.health()).toMatchObject([{ state: "idle", tools }]);
});

test("calls of a server that a person stopped fail with this reason until it is started again", async () => {
  const workspace = await openWorkspaceHub(declare([stdio("one")]), { snapshots: false, watchFiles: false });
  onTestFinished(() => workspace.close());
  await workspace.settled();
  const { hub } = workspace;
  const call = (name: string, input: object = {}): Promise<unknown> =>
    hub.request({ method: "tools/call", params: { name, arguments: { ...input } } });
  const isStopped = {
    code: "CONNECTION_CLOSED",
    message: "the call was not sent: one is stopped",
    hint: "Start the server in the console, or in the folder of its workspace: portolan restart one",
  };
  const running = call("mcp_one_slow", { ms: 300 });
  const stopped = hub.member("one").stopOnRequest();
  await expect(call("mcp_one_stats")).rejects.toMatchObject(isStopped);
  await running;
  await stopped;
  await expect(call("mcp_one_stats")).rejects.toMatchObject(isStopped);
  await workspace.restart("one");
  await call("mcp_one_stats");
});

test("`since` in the health of a failing server stays the same over further attempts", async () => {
  const folder = declare([{ ...stdio("one"), command: "false", args: [] }]);
  const { workspace, events } = await open(folder);
  const failed = (): number => events.filter(({ type }) => type === "mcp.server_failed").length;
  const since = (): string | undefined => workspace.health()[0]?.since;
  await until(() => failed() > 0);
  const first = since();
  await until(() => failed() > 1);
  expect(since()).toBe(first);
});

test("a process that cannot run twice is started after the old one has ended", async () => {
  const folder = mkdtempSync(join(tmpdir(), "portolan-lock-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  // The program has a lock while it runs, and does not start without the lock.
  const program = `
    const { mkdirSync, rmdirSync } = require("node:fs");
    const lock = ${JSON.stringify(join(folder, "lock"))};
    try { mkdirSync(lock); } catch { console.error("locked"); process.exit(1); }
    process.on("exit", () => rmdirSync(lock));
    process.on("SIGTERM", () => process.exit());
    const send = (id, result) => console.log(JSON.stringify({ jsonrpc: "2.0", id, result }));
    require("node:readline").createInterface({ input: process.stdin }).on("line", (line) => {
      const { id, method } = JSON.parse(line);
      if (method === "initialize") send(id, { protocolVersion: "2025-11-25", capabilities: { tools: {} }, serverInfo: { name: "lock", version: "1" } });
      else if (method === "tools/list") send(id, { tools: [{ name: "run", inputSchema: { type: "object" } }] });
      else if (id !== undefined) send(id, { content: [{ type: "text", text: process.env.RUN }] });
    }).on("close", () => process.exit());`;
  const server = (run: string): Parameters<typeof declare>[0][number] => ({
    ...{ alias: "lock", transport: "stdio", command: process.execPath, args: ["-e", program] },
    env: { RUN: run },
  });
  declare([server("first")], {}, folder);
  const { workspace } = await open(folder, { watchFiles: true });
  const run = async (): Promise<string> =>
    workspace.callTool("lock.run").then(
      ({ text }) => text,
      (error: Error) => error.message,
    );
  expect(await run()).toBe("first");
  declare([server("second")], {}, folder);
  await until(async () => (await run()) === "second");
});

/** Answers `who` with its name. The program is a separate file, so that the test can remove it. */
const DRIVER_PROGRAM = `
const send = (id, result) => console.log(JSON.stringify({ jsonrpc: "2.0", id, result }));
require("node:readline").createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, method } = JSON.parse(line);
  if (method === "initialize") send(id, { protocolVersion: "2025-11-25", capabilities: { tools: {} }, serverInfo: { name: "s", version: "1" } });
  else if (method === "tools/list") send(id, { tools: [{ name: "who", inputSchema: { type: "object" } }] });
  else if (id !== undefined) send(id, { content: [{ type: "text", text: JSON.stringify({ name: process.argv[2], pid: process.pid }) }] });
}).on("close", () => process.exit());
`;

interface Drivers {
  readonly folder: string;
  program(name: string): string;
  driver(name: string, more?: string): void;
}

/** Drivers that serve one contract; the first in the alphabet is preferred. */
function drivers(settings = ""): Drivers {
  const folder = mkdtempSync(join(tmpdir(), "portolan-lifecycle-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const write = (name: string, text: string): string => {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), text);
    return join(folder, name);
  };
  write("portolan.yaml", `version: 1\n${settings}`);
  write(
    "tools/who/TOOL.md",
    `---\nname: who\nid: who\ndescription: Tells who.\nversion: 1.0.0\ninputs: { type: object }\noutputs: { type: object }\n---\n`,
  );
  return {
    folder,
    program: (name) => join(folder, "bin", `${name}.cjs`),
    driver: (name, more = "") => {
      const program = write(`bin/${name}.cjs`, DRIVER_PROGRAM);
      const server = { kind: "binary", path: process.execPath, args: [program, name] };
      write(
        `.drivers/${name}-mcp/DRIVER.md`,
        `---
name: ${name}
id: ${name}-mcp
description: D.
version: 1.0.0
kind: mcp
server: ${JSON.stringify(server)}
transport: stdio
implements:
  - { tool: who, version: "^1.0.0", metadata: { mcp: { tool_name: who } } }
${more}
---
`,
      );
    },
  };
}

async function openDrivers(folder: string): Promise<Workspace> {
  const workspace = await openWorkspace(folder, { snapshots: false });
  onTestFinished(() => workspace.close());
  await workspace.settled();
  await (await workspace.contracts())?.settled();
  return workspace;
}

type Contracts = NonNullable<Awaited<ReturnType<Workspace["contracts"]>>>;

const who = async (contracts: Contracts): Promise<{ name: string; pid: number }> => {
  const { result } = await contracts.call({ tool: "who" });
  if (!result.ok) throw new Error(`${result.error.code}: ${result.error.message}`);
  return result.value as { name: string; pid: number };
};

test("a contracts handle serves after a driver was edited, and after its server was idle", async () => {
  const { folder, driver } = drivers("defaults:\n  idle_stop: 300ms\n");
  driver("a");
  const contracts = (await (await openDrivers(folder)).contracts()) as Contracts;
  const first = await who(contracts);
  driver("a", "retry: { max_attempts: 2, backoff: fixed, initial_ms: 10 }");
  await vi.waitFor(() => expect(isRunning(first.pid)).toBe(false), 10_000);
  const second = await who(contracts);
  await until(() => !isRunning(second.pid));
  const third = await who(contracts);
  expect([second.name, third.name]).toEqual(["a", "a"]);
  expect(third.pid).not.toBe(second.pid);
  expect(contracts.status()).toMatchObject([{ id: "a-mcp", server: "verified" }]);
});

test("if the preferred driver's server is killed and its program is gone, the next call uses the other driver", async () => {
  const { folder, driver, program } = drivers();
  driver("a");
  driver("b");
  const contracts = (await (await openDrivers(folder)).contracts()) as Contracts;
  const { name, pid } = await who(contracts);
  expect(name).toBe("a");
  rmSync(program("a"));
  process.kill(pid, "SIGKILL");
  // A call that was sent before Portolan noticed the end of the process may have run, so it is not repeated.
  await until(() => contracts.status().some(({ id, server }) => id === "a-mcp" && server !== "verified"));
  const served = [await who(contracts), await who(contracts), await who(contracts)];
  expect(served.map((one) => one.name)).toEqual(["b", "b", "b"]);
  // Portolan skips the driver until it works again.
  driver("a");
  await until(async () => (await who(contracts)).name === "a");
});

test("with max_retries: 0, the calls that wait for a start that fails cause no second start", async () => {
  const { folder, driver, program } = drivers();
  // Portolan starts a server of unknown era again if the server exits at the first request.
  driver("a", 'protocol_version: "2025-11-25"\nconnection_options: { max_retries: 0 }');
  const log = join(folder, "starts");
  writeFileSync(
    program("a"),
    `require("node:fs").appendFileSync(${JSON.stringify(log)}, "x"); setTimeout(() => process.exit(1), 2_000);`,
  );
  const workspace = await openWorkspace(folder, { snapshots: false });
  onTestFinished(() => workspace.close());
  const contracts = (await workspace.contracts()) as Contracts;
  const calls = [1, 2, 3].map(() => expect(who(contracts)).rejects.toThrow("a-mcp exited with code 1"));
  await Promise.all(calls);
  expect(readFileSync(log, "utf8")).toBe("x");
});

/** A registry whose only package never arrives, and a separate store. */
async function slowRegistry(): Promise<Registry> {
  const registry = await startRegistry();
  onTestFinished(() => registry.close());
  registry.publish({ name: "slow-server", version: "1.0.0", bin: "server.js", files: { "server.js": "" } });
  vi.stubEnv("npm_config_registry", registry.url);
  vi.stubEnv("XDG_DATA_HOME", temporary());
  onTestFinished(() => void vi.unstubAllEnvs());
  return registry;
}

test("the health of a server says what is installed, and close() ends the installation for good", async () => {
  const registry = await slowRegistry();
  const held = registry.hold(/slow-server/);
  const events: HubEvent[] = [];
  const npm = "slow-server@1.0.0";
  const workspace = await openWorkspace(
    // Both have one package, so that one waits for the installation of the other.
    { servers: { one: { npm }, two: { npm, args: ["more"] } } },
    {
      ...{ snapshots: false, waitMs: 1, onDiagnostic: () => {} },
      onEvent: (event) => void events.push(event),
    },
  );
  onTestFinished(() => workspace.close());
  await held.seen;
  const installing = workspace.health().filter((one) => one.installing !== undefined);
  expect(installing).toMatchObject([{ state: "starting", installing: { what: `installing ${npm}` } }]);
  expect(Date.parse(installing[0]?.installing?.since ?? "")).toBeLessThanOrEqual(Date.now());
  const waiting = workspace.callTool("one.x").catch(() => {});
  await workspace.close();
  await waiting;
  const [requests, heard] = [registry.requests.length, events.length];
  held.release();
  // A second installation would begin now: npm needs less than this to send its first request.
  await new Promise((resolve) => setTimeout(resolve, 2_000));
  expect([registry.requests.length, events.length]).toEqual([requests, heard]);
  expect(events.filter(({ type }) => type === "mcp.server_installing")).toHaveLength(1);
  // No process of a server was started.
  expect(events.filter(({ type }) => type === "mcp.server_started")).toEqual([]);
  expect(workspace.health().map(({ state }) => state)).toEqual(["stopped", "stopped"]);
});

test("a server that failed stays failed while it is started again", async () => {
  const file = join(temporary(), "starts");
  // The second start neither fails nor becomes ready.
  const script = `const { appendFileSync, existsSync } = require("node:fs");
if (!existsSync(${JSON.stringify(file)})) setTimeout(() => process.exit(3), 50);
appendFileSync(${JSON.stringify(file)}, "x");
process.stdin.resume();`;
  const args = ["-e", script];
  const workspace = await openWorkspace(
    { servers: { dying: { command: process.execPath, args, sandbox: "off", era: "legacy" } } },
    { snapshots: false, onDiagnostic: () => {} },
  );
  onTestFinished(() => workspace.close());
  const [failed] = workspace.health();
  expect(failed).toMatchObject({ state: "failed", error: { code: "SERVER_START_FAILED" } });
  await until(() => readFileSync(file, "utf8").length === 2);
  expect(workspace.health()).toMatchObject([
    { state: "failed", retrying: true, since: failed?.since, error: { code: "SERVER_START_FAILED" } },
  ]);
});

test("mcp.server_started follows the start of the process, and stderr is that of the last start", async () => {
  const file = join(temporary(), "starts");
  const script = `const { appendFileSync, readFileSync } = require("node:fs");
appendFileSync(${JSON.stringify(file)}, "x");
console.error("start " + readFileSync(${JSON.stringify(file)}, "utf8").length);
process.exit(3);`;
  const events: HubEvent[] = [];
  const { command, args } = stdioCommand();
  const workspace = await openWorkspace(
    {
      servers: {
        missing: { command: "portolan-no-such-program", sandbox: "off" },
        ready: { command, args: [...args], sandbox: "off" },
        dying: { command: process.execPath, args: ["-e", script], sandbox: "off" },
      },
    },
    { ...{ snapshots: false, onDiagnostic: () => {} }, onEvent: (event) => void events.push(event) },
  );
  onTestFinished(() => workspace.close());
  const of = (server: string): string[] =>
    events
      .filter((event) => event.server === server && event.type !== "mcp.sandbox_relaxed")
      .map(({ type }) => type);
  expect(of("ready")).toEqual(["mcp.server_started", "mcp.tools_changed", "mcp.server_ready"]);
  expect(new Set(of("missing"))).toEqual(new Set(["mcp.server_failed"]));
  expect(of("dying").slice(0, 2)).toEqual(["mcp.server_started", "mcp.server_failed"]);
  await until(() => of("dying").filter((type) => type === "mcp.server_failed").length > 1);
  const starts = readFileSync(file, "utf8").length;
  const health = workspace.health().find(({ alias }) => alias === "dying");
  expect(starts).toBeGreaterThan(1);
  expect(health?.stderr?.trim()).toMatch(/^start \d+$/);
  expect(health?.error?.message).toMatch(/: start \d+$/);
});

test("a reload tries a server again at once whose package did not exist before", async () => {
  const registry = await slowRegistry();
  const gateway = await openGateway(
    { servers: { one: { npm: "late-server@1.0.0" } } },
    { snapshots: false, onDiagnostic: () => {}, settings: { auth: "none" } },
  );
  onTestFinished(() => gateway.close());
  await gateway.settled();
  // The next attempt would come after 30 seconds.
  expect(gateway.health()).toMatchObject([
    { alias: "one", state: "blocked", error: { code: "PACKAGE_NOT_FOUND" } },
  ]);
  registry.publish({ name: "late-server", version: "1.0.0", bin: "server.js", files: { "server.js": "" } });
  await gateway.reload();
  expect(gateway.health()).toMatchObject([{ state: "blocked", retrying: true }]);
});

test("tools() of a closed workspace rejects, and the hint is to open it again", async () => {
  const server = { ...stdioCommand("--era=modern"), sandbox: "off" } as const;
  const workspace = await openWorkspace({ servers: { demo: server } }, { snapshots: false });
  await workspace.close();
  await expect(workspace.tools()).rejects.toMatchObject({
    ...{ code: "CONNECTION_CLOSED", message: "the workspace is closed" },
    hint: expect.stringContaining("open or start it again") as string,
  });
});
