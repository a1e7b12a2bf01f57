// `run.mjs sandbox`: what the box adds to the start of a server, and to a call, against the same server without one in the same rounds.

import { availableParallelism, loadavg } from "node:os";
import { fileURLToPath } from "node:url";
import { connectMcp } from "../../dist/index.js";
import { median, spread } from "./stats.mjs";
import { formatNumber, formatPercent, formatTable } from "./table.mjs";

const SERVER = fileURLToPath(new URL("../servers/stdio.mjs", import.meta.url));
const CALLS = 400;
const GOALS = { "no network": 15, "one host": 100, "no network, unshare": 60, "one host, unshare": 150 };
/** Two calls count as equally fast within this difference; the noise of the machine is larger. */
const SAME = 1.1;

const PROFILES = {
  "no box": "off",
  "no network": { mode: "enforce" },
  "one host": { mode: "enforce", network: ["example.com"] },
  "no network, unshare": { mode: "enforce", backend: "unshare" },
  "one host, unshare": { mode: "enforce", backend: "unshare", network: ["example.com"] },
};

export async function runSandboxBench({ rounds = 25, json }) {
  const loadBefore = loadavg()[0];
  const samples = await measureSandbox(rounds, Object.keys(PROFILES));
  const report = toReport(samples);
  if (json) console.log(JSON.stringify({ node: process.version, rounds, ...report, samples }, null, 2));
  else print(report, samples, rounds, loadBefore);
}

/** Starts with the backend that this machine has: what each adds, by the name of its profile. */
export async function measureSandboxStarts({ rounds }) {
  const samples = await measureSandbox(rounds, ["no box", "no network", "one host"]);
  return Object.fromEntries(toReport(samples).rows.map(({ name, addedMs }) => [name, addedMs]));
}

async function measureSandbox(rounds, names) {
  const samples = Object.fromEntries(names.map((name) => [name, { startMs: [], callUs: [], stopMs: [] }]));
  // The first start of each also loads modules and probes the machine; that is paid once per program.
  for (const name of names) await measure(name);
  for (let round = 0; round < rounds; round++) {
    // The order changes from round to round, so that no contestant always comes first.
    for (const name of [...names.slice(round % names.length), ...names.slice(0, round % names.length)]) {
      const sample = await measure(name);
      for (const [field, value] of Object.entries(sample)) samples[name][field].push(value);
    }
  }
  return samples;
}

async function measure(name) {
  const started = performance.now();
  const mcp = await connectMcp({
    transport: "stdio",
    command: process.execPath,
    args: [SERVER, "legacy"],
    era: "legacy",
    sandbox: PROFILES[name],
  });
  const startMs = performance.now() - started;
  const [tool] = await mcp.listToolDefinitions();
  const times = [];
  for (let call = 0; call < CALLS; call++) {
    const sent = performance.now();
    await mcp.callTool(tool.name, { text: "hello" });
    times.push((performance.now() - sent) * 1_000);
  }
  const closed = performance.now();
  await mcp.close();
  return { startMs, callUs: median(times), stopMs: performance.now() - closed };
}

function toReport(samples) {
  const base = samples["no box"];
  const rows = Object.entries(samples).map(([name, { startMs, callUs, stopMs }]) => ({
    name,
    startMs: median(startMs),
    bestStartMs: Math.min(...startMs),
    // Pairs of one round share the noise of that round.
    addedMs: median(startMs.map((ms, round) => ms - base.startMs[round])),
    bestAddedMs: Math.min(...startMs) - Math.min(...base.startMs),
    goalMs: GOALS[name],
    callUs: median(callUs),
    callRatio: median(callUs.map((us, round) => us / base.callUs[round])),
    stopMs: median(stopMs),
    spread: spread(startMs),
  }));
  return { rows };
}

function print({ rows }, samples, rounds, loadBefore) {
  const cores = availableParallelism();
  console.log(
    `Node ${process.version}, ${cores} cores, ${rounds} interleaved rounds, ${CALLS} calls one after another in each`,
  );
  if (loadBefore > cores / 4)
    console.log(`The machine was busy before (load average ${loadBefore.toFixed(1)}).`);
  const header = [
    "",
    "ready ms",
    "best",
    "added ms",
    "best",
    "goal",
    "p50 call µs",
    "of no box",
    "stop ms",
    "spread",
  ];
  const table = rows.map((row) => [
    row.name,
    formatNumber(row.startMs),
    formatNumber(row.bestStartMs),
    row.goalMs === undefined ? "" : formatNumber(row.addedMs),
    row.goalMs === undefined ? "" : formatNumber(row.bestAddedMs),
    row.goalMs === undefined ? "" : `${row.goalMs} ${row.addedMs <= row.goalMs ? "ok" : "--"}`,
    formatNumber(row.callUs),
    row.goalMs === undefined ? "" : `${row.callRatio.toFixed(2)}x ${row.callRatio <= SAME ? "ok" : "--"}`,
    formatNumber(row.stopMs),
    formatPercent(row.spread),
  ]);
  console.log(`\n${formatTable(header, table)}\n`);
}
