// `run.mjs leak`: what a client's process still holds after many calls. Everything should stay flat.

import { listContestants, startHttpServer } from "./contestants.mjs";
import { startContestant } from "./contestant-process.mjs";
import { formatNumber, formatTable } from "./table.mjs";

const IN_FLIGHT = 64;
const WARM_UP_CALLS = 20_000;
const PARTS = 4;
const HEAP_TOLERANCE_MB = 1;
const HANDLE_TOLERANCE = 8; // a pool may hold a few connections more or less

const HEADER = [
  "calls",
  "heap MB",
  "external MB",
  "RSS MB",
  "open files",
  "resources",
  "listeners",
  "on the signal",
  "warnings",
];

export async function runLeakBench({ only, client = "portolan", calls = 100_000, json }) {
  const server = await startHttpServer();
  const results = [];
  for (const transport of ["stdio", "http"].filter((name) => !only || only === name)) {
    for (const contestant of listContestants({
      transport,
      answer: "json",
      httpPort: server.port,
      filter: client,
    })) {
      results.push({ transport, name: contestant.name, ...(await watch(contestant, calls)) });
      if (!json) printResult(results.at(-1));
    }
  }
  server.close();
  if (json) console.log(JSON.stringify(results, null, 2));
  if (results.some(({ growth }) => growth?.length > 0)) process.exitCode = 1;
}

async function watch(contestant, calls) {
  let running;
  try {
    running = await startContestant(contestant, ["--expose-gc"]);
    const run = (count) => running.ask("run", { payload: "small", inFlight: IN_FLIGHT, calls: count });
    await run(WARM_UP_CALLS);
    const snapshots = [{ calls: 0, ...(await running.ask("snapshot")) }];
    for (let part = 1; part <= PARTS; part++) {
      await run(Math.round(calls / PARTS));
      snapshots.push({ calls: Math.round((calls * part) / PARTS), ...(await running.ask("snapshot")) });
    }
    await running.close();
    return { snapshots, growth: findGrowth(snapshots[0], snapshots.at(-1)) };
  } catch (error) {
    return { error: error.message };
  }
}

function findGrowth(before, after) {
  const grew = (key, tolerance = 0) => after[key] - before[key] > tolerance;
  return [
    grew("heapMb", HEAP_TOLERANCE_MB) && "heap",
    grew("openFiles", HANDLE_TOLERANCE) && "open files",
    count(after.resources) - count(before.resources) > HANDLE_TOLERANCE && "resources",
    grew("listeners", before.listeners * 0.2) && "listeners",
    grew("signalListeners") && "listeners on the signal",
    grew("warnings") && "warnings",
  ].filter(Boolean);
}

function count(resources) {
  return Object.values(resources).reduce((sum, n) => sum + n, 0);
}

function printResult({ transport, name, snapshots, growth, error }) {
  console.log(`\n## ${transport}, ${name}\n`);
  if (error) return console.log(`not measured: ${error}`);
  const rows = snapshots.map((snapshot) => [
    snapshot.calls === 0 ? "warmed up" : formatNumber(snapshot.calls),
    snapshot.heapMb.toFixed(2),
    snapshot.externalMb.toFixed(2),
    formatNumber(snapshot.rssMb),
    String(snapshot.openFiles ?? "-"),
    String(count(snapshot.resources)),
    String(snapshot.listeners),
    String(snapshot.signalListeners),
    String(snapshot.warnings),
  ]);
  console.log(formatTable(HEADER, rows));
  const kinds = Object.entries(snapshots.at(-1).resources).map(([kind, n]) => `${n} ${kind}`);
  console.log(`resources at the end: ${kinds.join(", ")}`);
  console.log(growth.length === 0 ? "flat" : `GROWS: ${growth.join(", ")}`);
}
