// `run.mjs scorecard`: every goal of the project in one table, with the limit and the rivals of the same run.

import { spawnSync } from "node:child_process";
import { availableParallelism, loadavg } from "node:os";
import { fileURLToPath } from "node:url";
import { findNode24 } from "../../../scripts/lib/node24.mjs";
import { CLIENT_GROUPS, runClientGroup } from "../client-bench.mjs";
import { CONTRACT_GOAL, measureContracts } from "../contracts-bench.mjs";
import { findNativeServer } from "../native-server.mjs";
import { measureSandboxStarts } from "../sandbox-bench.mjs";
import { formatNumber, formatTable } from "../table.mjs";
import { measureCalls, measureManyTools, measureMemory } from "./calls.mjs";
import { measureStarts } from "./starts.mjs";

const RUN = fileURLToPath(new URL("../../run.mjs", import.meta.url));
const CLIENT_GOAL = { legacy: 1.4, modern: 1.4 };
const SANDBOX_GOAL_MS = { "no network": 8, "one host": 25 };

const PARTS = {
  starts: ({ native, quick, progress }) => measureStarts({ native, rounds: quick ? 3 : 7, progress }),
  calls: async (options) => [...(await measureCalls(options)), await measureManyTools(options)],
  memory: measureMemory,
  client: measureClient,
  contracts: measureContract,
  sandbox: measureSandbox,
};

export async function runScorecard({ quick = false, only, json, node24 }) {
  if (node24 && !process.version.startsWith("v24.")) return runWith(findNode24());
  const native = findNativeServer();
  if (native === undefined)
    throw new Error(
      "The scorecard needs a C compiler (cc) for the server that its starts are measured with.",
    );
  const loadBefore = loadavg()[0];
  const began = performance.now();
  const rows = [];
  for (const [name, measure] of Object.entries(PARTS)) {
    if (only && !only.split(",").includes(name)) continue;
    const found = await measure({ native, quick, progress });
    rows.push(...found.map((row) => ({ part: name, ...row, met: isMet(row) })));
  }
  progress("");
  const report = {
    node: process.version,
    cores: availableParallelism(),
    load: { before: loadBefore, after: loadavg()[0] },
    seconds: (performance.now() - began) / 1000,
    rows,
  };
  if (json) console.log(JSON.stringify(report, null, 2));
  else print(report);
}

/** The same command under another Node, which then runs all contestants as well. */
function runWith(node) {
  const words = process.argv.slice(2).filter((word) => word !== "--node24");
  process.exitCode = spawnSync(node, [RUN, ...words], { stdio: "inherit" }).status ?? 1;
}

async function measureClient({ quick, progress: show }) {
  show("client over HTTP");
  const settings = {
    rounds: quick ? 3 : 7,
    durationMs: 200,
    warmUpCpuMs: 1200,
    inFlight: [16],
    payloads: ["small"],
  };
  const group = CLIENT_GROUPS.find(({ id }) => id === "http-json");
  const { cells } = await runClientGroup(group, settings);
  const of = (role) =>
    cells[0].rows
      .filter((row) => row.role === role)
      .map(({ name, cpuUsPerCall, cpuOfLimit }) => ({ name, value: cpuUsPerCall, ofLimit: cpuOfLimit }));
  return of("ours")
    .filter(({ name }) => name.includes("callTool"))
    .map((ours) => ({
      work: `client over HTTP, 16 in flight, ${ours.name}`,
      unit: "µs CPU",
      limit: of("limit")[0],
      rivals: of("rival"),
      ours,
      goal: { ofLimit: CLIENT_GOAL[ours.name.split(", ")[1]] },
    }));
}

async function measureContract({ quick, progress: show }) {
  show("contracts");
  const { rows } = await measureContracts({ rounds: quick ? 7 : 15 });
  const [bridged, contract] = rows.map(({ name, cpuUs, ratio }) => ({ name, value: cpuUs, ofLimit: ratio }));
  const goal = { ofLimit: CONTRACT_GOAL };
  return [
    {
      work: "contract call in a program, over a bridged call",
      unit: "µs CPU",
      limit: bridged,
      rivals: [],
      ours: contract,
      goal,
    },
  ];
}

async function measureSandbox({ quick, progress: show }) {
  show("sandbox");
  const off = process.env.PORTOLAN_SANDBOX;
  delete process.env.PORTOLAN_SANDBOX;
  try {
    const added = await measureSandboxStarts({ rounds: quick ? 5 : 15 });
    return Object.entries(SANDBOX_GOAL_MS).map(([name, max]) => ({
      work: `sandboxed start, ${name}, added`,
      unit: "ms",
      limit: { name: "no sandbox", value: 0 },
      rivals: [],
      ours: { name: "portolan", value: added[name] },
      goal: { max },
    }));
  } finally {
    process.env.PORTOLAN_SANDBOX = off;
  }
}

function isMet({ goal, ours }) {
  if (goal === undefined || ours.failure) return undefined;
  return goal.max === undefined ? ours.ofLimit <= goal.ofLimit : ours.value <= goal.max;
}

function print({ node, cores, load, seconds, rows }) {
  const busy = `load average ${load.before.toFixed(1)} before and ${load.after.toFixed(1)} after`;
  console.log(`Node ${node}, ${cores} cores, ${busy}, ${seconds.toFixed(0)} s`);
  const header = ["", "unit", "limit", "best rival", "ours", "of limit", "of its CPU", "goal", ""];
  console.log(`\n${formatTable(header, rows.map(toCells))}`);
  const missing = rows.flatMap(({ limit, rivals, ours }) =>
    [limit, ...rivals, ours]
      .filter(({ failure }) => failure)
      .map(({ name, failure }) => `${name}: ${failure}`),
  );
  if (missing.length > 0) console.log(["\nNot measured:", ...new Set(missing)].join("\n- "));
}

function toCells({ work, unit, limit, rivals, ours, goal, met }) {
  const [rival] = rivals.filter(({ value }) => Number.isFinite(value)).sort((a, b) => a.value - b.value);
  const number = (value) => (Number.isFinite(value) ? formatNumber(value) : "-");
  const ratio = (value) => (Number.isFinite(value) ? `${value.toFixed(2)}x` : "");
  return [
    work,
    unit,
    number(limit.value),
    rival ? `${rival.name.split(",")[0]} ${number(rival.value)}` : "",
    number(ours.value),
    ratio(ours.ofLimit),
    ratio(ours.cpuOfLimit),
    goal === undefined ? "" : goal.max === undefined ? `<= ${goal.ofLimit.toFixed(2)}x` : `<= ${goal.max}`,
    met === undefined ? "" : met ? "ok" : "--",
  ];
}

function progress(text) {
  if (process.stderr.isTTY) process.stderr.write(`\r\x1b[K${text}`);
}
