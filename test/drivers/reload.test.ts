// Drivers that change while they are used, with real processes: running calls finish, and no process is left.

import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { openWorkspace, type Workspace } from "../../src/hub/index.ts";

/** Answers `who` with its process after a delay; logs its start, which can be slow. */
const PROGRAM = `
import { createInterface } from "node:readline";
import { appendFileSync } from "node:fs";
const [log, slow = "0"] = process.argv.slice(2);
appendFileSync(log, process.pid + "\\n");
const send = (id, result) => console.log(JSON.stringify({ jsonrpc: "2.0", id, result }));
for await (const line of createInterface({ input: process.stdin })) {
  const { id, method, params } = JSON.parse(line);
  if (id === undefined) continue;
  const info = { protocolVersion: "2025-11-25", capabilities: { tools: {} }, serverInfo: { name: "s", version: "1" } };
  if (method === "initialize") setTimeout(() => send(id, info), Number(slow));
  else if (method === "tools/list") send(id, { tools: [{ name: "who", inputSchema: { type: "object" } }] });
  else if (method === "tools/call")
    setTimeout(
      () => send(id, { content: [{ type: "text", text: JSON.stringify({ pid: process.pid }) }] }),
      params.arguments?.ms ?? 0,
    );
  else console.log(JSON.stringify({ jsonrpc: "2.0", id, error: { code: -32601, message: "no " + method } }));
}
`;

interface Place {
  readonly folder: string;
  contract(id: string): void;
  driver(id: string, more?: { slow?: number; lines?: string; version?: string }): void;
  /** All processes of the driver's server so far. */
  starts(id: string): number[];
  open(): Promise<Workspace>;
}

function place(): Place {
  const folder = mkdtempSync(join(tmpdir(), "portolan-reload-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const write = (name: string, text: string): string => {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), text);
    return join(folder, name);
  };
  write("portolan.yaml", "version: 1\n");
  const program = write("server.mjs", PROGRAM);
  const log = (id: string): string => join(folder, `${id}.log`);
  return {
    folder,
    contract: (id) =>
      void write(
        `tools/${id}/TOOL.md`,
        `---
name: ${id}
id: ${id}
description: The contract ${id}.
version: 1.0.0
inputs: { type: object, properties: { ms: { type: number } } }
outputs: { type: object }
---
`,
      ),
    driver: (id, { slow = 0, lines = "", version = "1.0.0" } = {}) =>
      void write(
        `.drivers/${id}-mcp/DRIVER.md`,
        `---
name: ${id}
id: ${id}-mcp
description: D.
version: ${version}
kind: mcp
server: ${JSON.stringify({ kind: "binary", path: process.execPath, args: [program, log(id), String(slow)] })}
transport: stdio
implements:
  - { tool: ${id}, version: "^1.0.0", metadata: { mcp: { tool_name: who } } }
${lines}
---
`,
      ),
    starts: (id) =>
      existsSync(log(id)) ? readFileSync(log(id), "utf8").trim().split("\n").filter(Boolean).map(Number) : [],
    open: async () => {
      const workspace = await openWorkspace(folder, { snapshots: false });
      onTestFinished(() => workspace.close());
      await workspace.settled();
      return workspace;
    },
  };
}

const pidOf = async (workspace: Workspace, tool: string, ms = 0): Promise<number> => {
  const { structuredContent } = await workspace.callTool(`contracts.${tool}`, { ms });
  return (structuredContent as { pid: number }).pid;
};

const isAlive = (pid: number): boolean => {
  try {
    process.kill(pid, 0);
    // A process that has ended but is not collected yet is not running.
    return process.platform !== "linux" || !/\) Z /.test(readFileSync(`/proc/${pid}/stat`, "latin1"));
  } catch {
    return false;
  }
};

const versions = async (workspace: Workspace): Promise<string[]> =>
  ((await workspace.contracts())?.status() ?? []).map(({ id, version }) => `${id}@${version}`);

test("settled() of a workspace also waits for the servers of drivers", async () => {
  const { contract, driver, open } = place();
  contract("one");
  driver("one", { slow: 1_000 });
  const contracts = await (await open()).contracts();
  expect(contracts?.status()).toMatchObject([{ id: "one-mcp", server: "verified" }]);
});

test("a changed driver does not affect calls and processes of other drivers, and no call fails meanwhile", async () => {
  const { contract, driver, starts, open } = place();
  for (const id of ["one", "two"]) {
    contract(id);
    driver(id);
  }
  const workspace = await open();
  const before = await pidOf(workspace, "two");
  const underWay = [pidOf(workspace, "one", 2500), pidOf(workspace, "two", 2500)];
  const failures: unknown[] = [];
  let over = false;
  const steady = (async () => {
    while (!over) {
      await pidOf(workspace, "two").catch((error: unknown) => failures.push(error));
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  })();
  // A different command line needs a new process.
  driver("one", { version: "1.1.0", slow: 300 });
  await vi.waitFor(async () => expect(await versions(workspace)).toContain("one-mcp@1.1.0"));
  const [first] = starts("one") as [number];
  expect(await pidOf(workspace, "one")).not.toBe(first);
  expect(await Promise.all(underWay)).toEqual([first, before]);
  over = true;
  await steady;
  expect(failures).toEqual([]);
  expect(await pidOf(workspace, "two")).toBe(before);
  expect(starts("two")).toEqual([before]);
  // The old process ends after its last call.
  await vi.waitFor(() => expect(isAlive(first)).toBe(false));
  expect(starts("one")).toHaveLength(2);
});

test("each changed driver takes effect when its own server is verified; the old one serves until then", async () => {
  const { contract, driver, starts, open } = place();
  for (const id of ["quick", "slow"]) {
    contract(id);
    driver(id);
  }
  const workspace = await open();
  const before = await pidOf(workspace, "slow");
  const begun = performance.now();
  driver("slow", { version: "1.1.0", slow: 6000 });
  driver("quick", { version: "1.1.0", slow: 1 });
  await vi.waitFor(async () => expect(await versions(workspace)).toContain("quick-mcp@1.1.0"));
  expect(await pidOf(workspace, "quick")).toBe(starts("quick").at(-1));
  await vi.waitFor(() => expect(starts("slow")).toHaveLength(2));
  const asked = performance.now();
  expect(await pidOf(workspace, "slow")).toBe(before);
  expect(performance.now() - asked).toBeLessThan(15_000);
  expect(await versions(workspace)).toContain("slow-mcp@1.0.0");
  expect(performance.now() - begun).toBeLessThan(15_000);
  await vi.waitFor(async () => expect(await versions(workspace)).toContain("slow-mcp@1.1.0"), 15_000);
  expect(await pidOf(workspace, "slow")).toBe(starts("slow").at(-1));
  await vi.waitFor(() => expect(isAlive(before)).toBe(false));
});

test("a contract that changes or moves to another driver is always listed and callable", async () => {
  const { contract, driver, folder, open } = place();
  contract("one");
  driver("one");
  const workspace = await open();
  const failures: unknown[] = [];
  let over = false;
  const steady = (async () => {
    while (!over) {
      await pidOf(workspace, "one").catch((error: unknown) => failures.push(error));
      if (!(await workspace.tools()).some(({ name }) => name === "one")) failures.push("not listed");
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  })();
  const file = join(folder, "tools/one/TOOL.md");
  writeFileSync(file, readFileSync(file, "utf8").replace("1.0.0", "1.1.0").replace("The contract", "It is"));
  const own = join(folder, ".drivers/one-mcp");
  const text = readFileSync(join(own, "DRIVER.md"), "utf8");
  mkdirSync(join(folder, ".drivers/other-mcp"));
  writeFileSync(
    join(folder, ".drivers/other-mcp/DRIVER.md"),
    text.replace("id: one-mcp", "id: other-mcp").replace(/"0"\]/, '"2500"]'),
  );
  rmSync(own, { recursive: true });
  await vi.waitFor(async () => expect(await versions(workspace)).toEqual(["other-mcp@1.0.0"]), 15_000);
  await pidOf(workspace, "one");
  over = true;
  await steady;
  expect(failures).toEqual([]);
  await vi.waitFor(async () =>
    expect(await workspace.tools()).toMatchObject([{ description: "It is one." }]),
  );
});

test("after several changes during a start, only the process of the last change is left", async () => {
  const { contract, driver, starts, open } = place();
  contract("one");
  driver("one");
  const workspace = await open();
  // Each change comes while the process of the previous change is starting.
  for (const [index, slow] of [1500, 1400, 10].entries()) {
    driver("one", { version: `1.0.${index + 1}`, slow });
    await vi.waitFor(() => expect(starts("one")).toHaveLength(index + 2));
  }
  await vi.waitFor(async () => expect(await versions(workspace)).toEqual(["one-mcp@1.0.3"]));
  await workspace.settled();
  const pid = await pidOf(workspace, "one");
  expect(starts("one").at(-1)).toBe(pid);
  await vi.waitFor(() => expect(starts("one").filter(isAlive)).toEqual([pid]));
});

test("closing while a server starts leaves no process", async () => {
  const { contract, driver, folder, starts } = place();
  contract("one");
  driver("one", { slow: 20_000 });
  const opening = openWorkspace(folder, { snapshots: false, waitMs: 400 });
  const workspace = await opening;
  await vi.waitFor(() => expect(starts("one")).toHaveLength(1));
  const begun = performance.now();
  await workspace.close();
  expect(performance.now() - begun).toBeLessThan(15_000);
  expect(starts("one").filter(isAlive)).toEqual([]);
});

test("closing while a changed server starts leaves no process", async () => {
  const { contract, driver, starts, open } = place();
  contract("one");
  driver("one");
  const workspace = await open();
  driver("one", { version: "1.1.0", slow: 20_000 });
  await vi.waitFor(() => expect(starts("one")).toHaveLength(2));
  await workspace.close();
  expect(starts("one").filter(isAlive)).toEqual([]);
});

test("many drivers start without a MaxListeners warning of Node", async () => {
  const { contract, driver, open } = place();
  for (let index = 0; index < 14; index += 1) {
    contract(`tool-${index}`);
    driver(`tool-${index}`);
  }
  const warnings: string[] = [];
  const warned = (warning: Error): void => void warnings.push(`${warning.name}: ${warning.message}`);
  process.on("warning", warned);
  onTestFinished(() => void process.off("warning", warned));
  const workspace = await open();
  await pidOf(workspace, "tool-3");
  await workspace.close();
  expect(warnings.filter((text) => text.includes("MaxListeners"))).toEqual([]);
});
