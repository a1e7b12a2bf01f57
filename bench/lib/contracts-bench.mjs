// `run.mjs contracts`: what a call through a contract costs over the same call of a bridged tool, both in one workspace and one run.

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { availableParallelism, loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { connectMcp, openWorkspace } from "../../dist/index.js";
import { startGateway } from "./gateway-run.mjs";
import { median, spread } from "./stats.mjs";
import { formatNumber, formatPercent, formatTable } from "./table.mjs";

const MAIN = fileURLToPath(new URL("../../dist/cli/main.js", import.meta.url));
const SERVER = fileURLToPath(new URL("../servers/stdio.mjs", import.meta.url));
/** At most this many times the CPU time of a bridged call. */
export const CONTRACT_GOAL = 1.15;
const IN_FLIGHT = 16;

const DRIVER = `---
name: Echo
id: echo-mcp
description: Echoes.
version: 1.0.0
kind: mcp
server: { kind: binary, path: ${JSON.stringify(process.execPath)}, args: [${JSON.stringify(SERVER)}, modern] }
transport: stdio
implements:
  - tool: say
    version: ^1.0.0
    metadata:
      mcp:
        tool_name: echo
        argument_mapping: { words: text }
        result_extract: $
---
`;
const TOOL = `---
name: Say
id: say
description: Says it back.
version: 1.0.0
inputs: { type: object, properties: { words: { type: string, maxLength: 100000 } }, required: [words] }
outputs: { type: string }
idempotent: true
---
`;

export async function runContractsBench({ rounds = 15, quick, json }) {
  const loadBefore = loadavg()[0];
  const report = await withContracts(async (folder) => ({
    gateway: await inGateway(folder, rounds, quick),
    library: await inLibrary(folder, rounds, quick),
  }));
  if (json) console.log(JSON.stringify({ node: process.version, rounds, ...report }, null, 2));
  else print(report, rounds, loadBefore);
}

/** Only in a program. */
export function measureContracts({ rounds }) {
  return withContracts((folder) => inLibrary(folder, rounds, true));
}

async function withContracts(work) {
  const folder = mkdtempSync(join(tmpdir(), "portolan-bench-contracts-"));
  mkdirSync(join(folder, ".drivers", "echo-mcp"), { recursive: true });
  mkdirSync(join(folder, "tools", "say"), { recursive: true });
  writeFileSync(join(folder, ".drivers", "echo-mcp", "DRIVER.md"), DRIVER);
  writeFileSync(join(folder, "tools", "say", "TOOL.md"), TOOL);
  const echo = { command: process.execPath, args: [SERVER, "modern"] };
  writeFileSync(join(folder, "portolan.yaml"), JSON.stringify({ servers: { echo } }));
  try {
    return await work(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** CPU is that of the gateway's process. */
async function inGateway(folder, rounds, quick) {
  let mcp;
  const serve = ({ port }) => ({ args: [MAIN, "serve", folder, "--port", String(port), "--no-auth"] });
  const gateway = await startGateway({ start: serve, readyPath: "/readyz" }, undefined, async (url) => {
    mcp = await connectMcp({ transport: "http", url, onDiagnostic: () => {} });
  });
  try {
    return await compare(
      (name, input) => mcp.callTool(name, input),
      () => gateway.read().cpuMs * 1_000,
      { rounds, calls: quick ? 2_000 : 6_000 },
    );
  } finally {
    await mcp.close();
    await gateway.stop();
  }
}

/** CPU is that of this process, which also makes the calls. */
async function inLibrary(folder, rounds, quick) {
  const options = { snapshots: false, watchFiles: false, onDiagnostic: () => {} };
  const workspace = await openWorkspace(folder, options);
  try {
    await workspace.settled();
    const cpu = () => {
      const { user, system } = process.cpuUsage();
      return user + system;
    };
    return await compare((name, input) => workspace.callTool(name, input), cpu, {
      rounds,
      calls: quick ? 2_000 : 8_000,
    });
  } finally {
    await workspace.close();
  }
}

async function compare(callTool, readCpuUs, { rounds, calls }) {
  const ways = {
    "bridged tool": (text) => callTool("mcp_echo_echo", { text }),
    contract: (text) => callTool("say", { words: text }),
  };
  const samples = Object.fromEntries(Object.keys(ways).map((name) => [name, { cpuUs: [], perSecond: [] }]));
  for (const call of Object.values(ways)) await measure(call, calls, readCpuUs);
  for (let round = 0; round < rounds; round++) {
    const order = Object.entries(ways);
    for (const [name, call] of round % 2 === 0 ? order : order.toReversed()) {
      const sample = await measure(call, calls, readCpuUs);
      for (const [field, value] of Object.entries(sample)) samples[name][field].push(value);
    }
  }
  return toReport(samples);
}

async function measure(call, count, readCpuUs) {
  let left = count;
  const text = "x".repeat(32);
  const worker = async () => {
    while (left-- > 0) {
      const { content, isError } = await call(text);
      if (isError || content?.[0]?.text !== text)
        throw new Error(`a wrong answer: ${JSON.stringify(content)}`);
    }
  };
  const cpu = readCpuUs();
  const started = performance.now();
  await Promise.all(Array.from({ length: IN_FLIGHT }, worker));
  const seconds = (performance.now() - started) / 1_000;
  return { cpuUs: (readCpuUs() - cpu) / count, perSecond: count / seconds };
}

function toReport(samples) {
  const base = samples["bridged tool"];
  const rows = Object.entries(samples).map(([name, { cpuUs, perSecond }]) => ({
    name,
    cpuUs: median(cpuUs),
    ratio: median(cpuUs.map((us, round) => us / base.cpuUs[round])),
    perSecond: median(perSecond),
    spread: spread(cpuUs),
  }));
  const { ratio } = rows.at(-1);
  return { rows, goal: { ratio, limit: CONTRACT_GOAL, met: ratio <= CONTRACT_GOAL } };
}

function print(report, rounds, loadBefore) {
  const cores = availableParallelism();
  console.log(`Node ${process.version}, ${cores} cores, ${rounds} rounds, ${IN_FLIGHT} in flight, 32 bytes`);
  if (loadBefore > cores / 4)
    console.log(`The machine was busy before (load average ${loadBefore.toFixed(1)}).`);
  const titles = {
    gateway: "Through the gateway, CPU of the gateway",
    library: "In a program, CPU of the program",
  };
  for (const [where, { rows, goal }] of Object.entries(report)) {
    const table = rows.map(({ name, cpuUs, ratio, perSecond, spread: far }) => [
      name,
      formatNumber(cpuUs),
      `${ratio.toFixed(2)}x`,
      formatNumber(perSecond),
      formatPercent(far),
    ]);
    console.log(
      `\n${titles[where]}\n${formatTable(["", "µs/call", "of bridged", "calls/s", "spread"], table)}`,
    );
    console.log(
      `At most ${CONTRACT_GOAL}x a bridged call: ${goal.ratio.toFixed(2)}x ${goal.met ? "ok" : "--"}`,
    );
  }
}
