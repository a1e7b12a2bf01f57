// `run.mjs gateway`: what a gateway costs between a client and an echo server, measured in turns.

import { availableParallelism, loadavg } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import { startHttpServer } from "./contestants.mjs";
import { judgeGatewayGoals } from "./gateway-goals.mjs";
import { printGatewayReport } from "./gateway-report.mjs";
import { startGateway, startLoad } from "./gateway-run.mjs";
import { summarizeCell } from "./gateway-summary.mjs";
import { listGateways, UPSTREAMS } from "./gateways.mjs";
import { measureIdle, runMemoryBench } from "./gateway-memory.mjs";

const SETTINGS = {
  full: {
    rounds: 5,
    durationMs: 250,
    warmUpMs: 3000,
    inFlight: [1, 16, 64],
    payloads: ["small", "large"],
  },
  quick: { rounds: 3, durationMs: 150, warmUpMs: 1500, inFlight: [16], payloads: ["small"] },
};
const SETTLE_MS = 1000;

export async function runGatewayBench(options) {
  if (options.calls) return runMemoryBench(options);
  const settings = { ...SETTINGS[options.quick ? "quick" : "full"], ...definedOnly(options) };
  const report = {
    node: process.version,
    cores: availableParallelism(),
    loadBefore: loadavg()[0],
    settings,
    groups: [],
  };
  const { client: filter, quick, pins, observe } = options;
  const gateways = listGateways({ filter, quick, pins, observe });
  for (const upstream of UPSTREAMS.filter(({ id }) => !options.only || options.only === id)) {
    report.groups.push(await runGatewayGroup(upstream, gateways, settings));
  }
  progress("10 idle upstreams");
  report.idle = await measureIdle(gateways);
  progress("");
  report.goals = judgeGatewayGoals(report);
  if (options.json) console.log(JSON.stringify(report, null, 2));
  else printGatewayReport(report);
}

/** Measures the gateways in front of one kind of upstream. `afterwards({row, load})` runs for each row at the end. */
export async function runGatewayGroup(upstream, gateways, settings, afterwards = async () => {}) {
  const server = await startHttpServer();
  const load = startLoad();
  const cells =
    settings.cells ??
    settings.payloads.flatMap((payload) => settings.inFlight.map((inFlight) => ({ payload, inFlight })));
  const rows = await startAll(upstream, gateways, server.port, load, cells);
  try {
    await sleep(SETTLE_MS);
    for (const row of rows) row.rssIdleMb = row.gateway?.read().rssMb;
    for (const [index, row] of rows.entries()) {
      progress(`${upstream.title}: warming up, ${index + 1} of ${rows.length}`);
      await warmUp(row, load, settings.warmUpMs);
    }
    for (let round = 0; round < settings.rounds; round++) {
      for (const [index, cell] of cells.entries()) {
        progress(`${upstream.title}: round ${round + 1} of ${settings.rounds}, ${index + 1}/${cells.length}`);
        for (const row of rotate(rows, round)) await measureCell(row, index, cell, load, settings.durationMs);
      }
    }
    for (const row of rows) {
      await afterwards({ row, load });
      // At once: an idle process gives memory back after some time, which would favour the first rows.
      row.rssAfterMb = row.gateway?.read().rssMb;
    }
  } finally {
    await Promise.all(rows.map(({ gateway }) => gateway?.stop()));
    await load.stop();
    server.close();
  }
  return {
    id: upstream.id,
    title: upstream.title,
    cells: cells.map((cell, index) => summarizeCell(cell, index, rows)),
  };
}

/** A contestant that cannot take part stays in the list, with the reason in all of its cells. */
async function startAll(upstream, gateways, httpPort, load, cells) {
  const rows = [];
  for (const gateway of gateways) {
    progress(`${upstream.title}: starting ${gateway.name}`);
    const { name, role, era, wire, cannot } = gateway;
    const row = { name, role, samples: cells.map(() => []), failures: [] };
    rows.push(row);
    const connect = (url) => load.ask("connect", { name, era, wire, url });
    try {
      if (cannot?.[upstream.id]) throw new Error(cannot[upstream.id]);
      if (role === "direct") await connect(`http://127.0.0.1:${httpPort}/legacy/json`);
      else row.gateway = await startGateway(gateway, gateway.upstreams ?? upstream.list(httpPort), connect);
    } catch (error) {
      row.failures = cells.map(() => error.message);
    }
  }
  return rows;
}

/** Until the gateway has spent the CPU time that its compiler needs, however long that takes on a busy machine. */
async function warmUp({ name, failures, gateway }, load, durationMs) {
  if (failures.length > 0) return;
  const spentMs = () => gateway?.read().cpuMs ?? Infinity;
  const enough = spentMs() + durationMs / 2;
  const giveUp = performance.now() + durationMs * 5;
  do {
    // A failure here shows again, and is recorded, in the cells.
    await load.ask("measure", { name, payload: "small", inFlight: 16, durationMs: 500 }).catch(() => {});
  } while (spentMs() < enough && performance.now() < giveUp);
}

async function measureCell(row, index, cell, load, usualMs) {
  const { name, gateway, samples, failures } = row;
  const { durationMs = usualMs } = cell;
  if (failures[index]) return;
  try {
    // The unmeasured start opens the connections that this many calls in flight need.
    await load.ask("measure", { name, ...cell, durationMs: durationMs / 5 });
    const before = gateway?.read();
    const { calls, callsPerSecond, p50Us, p99Us, cpuUsPerCall } = await load.ask("measure", {
      name,
      ...cell,
      durationMs,
    });
    const after = gateway?.read();
    samples[index].push({
      calls,
      callsPerSecond,
      p50Us,
      p99Us,
      loadCpuUsPerCall: cpuUsPerCall,
      cpuMs: after?.cpuMs === undefined ? undefined : after.cpuMs - before.cpuMs,
    });
  } catch (error) {
    failures[index] = gateway?.isOver() ? "its process ended" : error.message;
    await sleep(durationMs); // the other calls in flight run on until their time is over
  }
}

function rotate(list, by) {
  const at = by % list.length;
  return [...list.slice(at), ...list.slice(0, at)];
}

function definedOnly({ rounds, durationMs, inFlight, payloads }) {
  const given = { rounds, durationMs, inFlight, payloads };
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
}

function progress(text) {
  if (process.stderr.isTTY) process.stderr.write(`\r\x1b[K${text}`);
}
