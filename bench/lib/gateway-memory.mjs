// `run.mjs gateway --calls N`: what a gateway still holds after many calls and after many clients that never came back.
// Also how much it takes when it does nothing at all.

import { setTimeout as sleep } from "node:timers/promises";
import { startHttpServer } from "./contestants.mjs";
import { printIdle } from "./gateway-report.mjs";
import { findPort, startGateway, startLoad } from "./gateway-run.mjs";
import { listGateways, listIdleUpstreams, UPSTREAMS } from "./gateways.mjs";
import { attachToHeap } from "./heap.mjs";
import { formatNumber, formatTable } from "./table.mjs";

const IN_FLIGHT = 64;
const WARM_UP_CALLS = 20_000;
const PARTS = 4;
const SESSIONS = 10_000;
const IDLE_UPSTREAMS = 10;
const SETTLE_MS = 2000;
// A table of sessions with a limit may fill up once, at about a kilobyte each, but no further.
const TOLERANCE_MB = { calls: 1, firstSessions: 10, moreSessions: 1 };

export async function runMemoryBench({ only, client = "portolan", calls, json }) {
  const gateways = listGateways({ filter: client }).filter(({ role }) => role !== "direct");
  const server = await startHttpServer();
  const results = [];
  for (const upstream of UPSTREAMS.filter(({ id }) => !only || only === id)) {
    for (const gateway of gateways) {
      const watched = await watch(gateway, upstream, server.port, calls);
      results.push({ upstream: upstream.id, name: gateway.name, ...watched });
      if (!json) printResult(results.at(-1));
    }
  }
  server.close();
  const idle = await measureIdle(gateways);
  if (json) console.log(JSON.stringify({ results, idle }, null, 2));
  else printIdle(idle);
  if (results.some(({ growth }) => growth?.length > 0)) process.exitCode = 1;
}

/** Memory of every gateway that can have several upstreams, with nothing to do. */
export async function measureIdle(gateways, upstreams = IDLE_UPSTREAMS) {
  const rows = [];
  for (const gateway of gateways.filter(({ many }) => many)) {
    const { name, role } = gateway;
    const row = { name, role, upstreams };
    rows.push(row);
    await withGateway(gateway, listIdleUpstreams(upstreams), [], async ({ running }) => {
      await sleep(SETTLE_MS);
      row.running = running.countServers();
      row.rssMb = running.read().rssMb;
    }).catch((error) => (row.failure = error.message));
  }
  return rows;
}

async function watch(gateway, upstream, httpPort, calls) {
  const { name, era, wire, cannot } = gateway;
  try {
    if (cannot?.[upstream.id]) throw new Error(cannot[upstream.id]);
    const port = await findPort();
    const execArgv = ["--expose-gc", `--inspect-port=127.0.0.1:${port}`];
    return await withGateway(gateway, upstream.list(httpPort), execArgv, async ({ running, load }) => {
      const heap = await attachToHeap(running.pid, port);
      const snapshots = [];
      const snap = async (after) => {
        const heapMb = await heap.readUsedMb();
        snapshots.push({ after, heapMb, rssMb: running.read().rssMb });
      };
      const run = (count) => load.ask("run", { name, payload: "small", inFlight: IN_FLIGHT, calls: count });

      await run(WARM_UP_CALLS);
      await snap("warmed up");
      for (let part = 1; part <= PARTS; part++) {
        await run(Math.round(calls / PARTS));
        await snap(`${formatNumber((calls * part) / PARTS)} calls`);
      }
      const growth = [grew(snapshots, TOLERANCE_MB.calls) && "with calls"];
      if (era === "legacy" && wire !== "sse") {
        for (const limit of [TOLERANCE_MB.firstSessions, TOLERANCE_MB.moreSessions]) {
          const refused = await load.ask("abandon", { name, count: SESSIONS, inFlight: IN_FLIGHT });
          await snap(`${formatNumber(SESSIONS)} abandoned sessions${refused ? ` (${refused} refused)` : ""}`);
          growth.push(grew(snapshots.slice(-2), limit) && "with abandoned sessions");
        }
      }
      heap.close();
      return { snapshots, growth: [...new Set(growth.filter(Boolean))] };
    });
  } catch (error) {
    return { failure: error.message };
  }
}

function grew(snapshots, toleranceMb) {
  return snapshots.at(-1).heapMb - snapshots[0].heapMb > toleranceMb;
}

async function withGateway(gateway, upstreams, execArgv, work) {
  const { name, era, wire } = gateway;
  const load = startLoad();
  let running;
  try {
    const connect = (url) => load.ask("connect", { name, era, wire, url });
    running = await startGateway(gateway, upstreams, connect, execArgv);
    return await work({ running, load });
  } finally {
    await running?.stop();
    await load.stop();
  }
}

function printResult({ upstream, name, snapshots, growth, failure }) {
  console.log(`\n## -> ${upstream}, ${name}\n`);
  if (failure) return console.log(`not measured: ${failure}`);
  const rows = snapshots.map(({ after, heapMb, rssMb }) => [after, heapMb.toFixed(2), formatNumber(rssMb)]);
  console.log(formatTable(["after", "heap MB", "RSS MB"], rows));
  console.log(growth.length === 0 ? "flat" : `GROWS: ${growth.join(", ")}`);
}
