// `run.mjs scale`: memory and latency of one gateway with many servers, tools, clients and sessions.

import { mkdirSync, writeFileSync } from "node:fs";
import { availableParallelism, loadavg } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { startGateway, startLoad } from "./gateway-run.mjs";
import { findNativeServer } from "./native-server.mjs";
import { median } from "./stats.mjs";
import { formatNumber, formatTable } from "./table.mjs";

const PORTOLAN = fileURLToPath(new URL("../../dist/cli/main.js", import.meta.url));
const SETTLE_MS = 2000;
const CLIENTS = 1_000;
const SESSIONS = 10_000;
const LISTS = 5;
/** A call may cost this much more than in the smallest gateway of the same run; the rest is noise. */
const GOAL = 1.1;

const ROWS = [
  { name: "1 server, 20 tools", servers: () => [server("echo", 20)] },
  {
    name: "500 servers, 50 of them running",
    servers: () => [
      server("echo", 20),
      ...many(49, (index) => server(`eager${index}`, 20)),
      ...many(450, (index) => ({ ...server(`lazy${index}`, 20), start: "lazy" })),
    ],
  },
  {
    name: "10,000 tools of 10 servers",
    servers: () => [server("echo", 1_000), ...many(9, (index) => server(`wide${index}`, 1_000))],
  },
  { name: "1,000 clients at once", servers: () => [server("echo", 20)], clients: CLIENTS },
  { name: "10,000 idle sessions", servers: () => [server("echo", 20)], sessions: SESSIONS },
];

export async function runScaleBench({ quick = false, rounds = quick ? 3 : 7, json }) {
  if (findNativeServer() === undefined) throw new Error("This benchmark needs a C compiler (cc).");
  const loadBefore = loadavg()[0];
  const load = startLoad();
  const rows = [];
  try {
    for (const row of ROWS) rows.push(await start(row, load));
    await sleep(SETTLE_MS);
    for (const row of rows) row.rssMb = row.gateway.read().rssMb;
    for (let round = 0; round <= rounds; round++)
      for (const row of rows) {
        const sample = await measure(row, load);
        if (round > 0) row.samples.push(sample); // the first is for the compiler
      }
  } finally {
    await Promise.all(rows.map(({ gateway }) => gateway.stop()));
    await load.stop();
  }
  const report = rows.map((row) => summarize(row, rows[0]));
  if (json) console.log(JSON.stringify({ node: process.version, rounds, loadBefore, rows: report }, null, 2));
  else print(report, rounds, loadBefore);
}

async function start({ name, servers, clients = 16, sessions = 0 }, load) {
  progress(`starting: ${name}`);
  const began = performance.now();
  const gateway = await startGateway(
    { start: serve, readyPath: "/readyz" },
    servers(),
    // Sessions are of the legacy era.
    (url) => load.ask("connect", { name, era: "legacy", url, connections: clients }),
  );
  const readyMs = performance.now() - began;
  // The table of sessions has a limit; what it refuses is not an idle session.
  const refused = sessions && (await load.ask("abandon", { name, count: sessions, inFlight: 16 }));
  return { name, gateway, clients, sessions: sessions - refused, readyMs, samples: [] };
}

function serve({ port, folder, upstreams }) {
  const workspace = join(folder, "workspace");
  mkdirSync(workspace);
  const servers = Object.fromEntries(upstreams.map(({ alias, ...config }) => [alias, config]));
  const limits = { concurrency: 2 * CLIENTS, sessions: 2 * SESSIONS };
  const config = { version: 1, defaults: { start: "eager" }, gateway: { limits }, servers };
  writeFileSync(join(workspace, "portolan.yaml"), JSON.stringify(config, null, 2));
  return { args: [PORTOLAN, "serve", workspace, "--port", `${port}`, "--no-auth"] };
}

const server = (alias, tools) => ({ alias, command: findNativeServer(), args: [String(tools), alias] });
const many = (count, create) => Array.from({ length: count }, (_, index) => create(index));

async function measure({ name, gateway, clients }, load) {
  progress(`measuring: ${name}`);
  const before = gateway.read().cpuMs;
  const options = { name, payload: "small", inFlight: clients, durationMs: 500 };
  const { calls, p50Us, p99Us, callsPerSecond } = await load.ask("measure", options);
  const cpuUsPerCall = ((gateway.read().cpuMs - before) * 1000) / calls;
  const listMs = await load.ask("list", { name, times: LISTS });
  return { cpuUsPerCall, p50Us, p99Us, callsPerSecond, listMs };
}

function summarize({ name, readyMs, rssMb, samples, sessions }, base) {
  const of = (key) => median(samples.map((sample) => sample[key]));
  const ratio = median(samples.map(({ cpuUsPerCall }, at) => cpuUsPerCall / base.samples[at].cpuUsPerCall));
  return {
    name,
    readyMs,
    rssMb,
    ...(sessions > 0 ? { sessions } : {}),
    cpuUsPerCall: of("cpuUsPerCall"),
    ratio,
    p50Us: of("p50Us"),
    p99Us: of("p99Us"),
    callsPerSecond: of("callsPerSecond"),
    listMs: of("listMs"),
    met: ratio <= GOAL,
  };
}

function print(rows, rounds, loadBefore) {
  progress("");
  console.log(
    `Node ${process.version}, ${availableParallelism()} cores, load average ${loadBefore.toFixed(1)} before, medians of ${rounds} rounds`,
  );
  const header = ["", "ready ms", "RSS MB", "CPU µs/call", "of the first", "p50 µs", "p99 µs", "list ms", ""];
  const cells = rows.map((row) => [
    row.name,
    formatNumber(row.readyMs),
    formatNumber(row.rssMb),
    formatNumber(row.cpuUsPerCall),
    `${row.ratio.toFixed(2)}x`,
    formatNumber(row.p50Us),
    formatNumber(row.p99Us),
    formatNumber(row.listMs),
    row.met ? "ok" : "--",
  ]);
  console.log(`\n${formatTable(header, cells)}`);
  for (const { name, sessions } of rows) if (sessions) console.log(`${name}: ${sessions} were accepted`);
  console.log(`Goal: a call costs at most ${GOAL} times what it costs with one server and 20 tools.`);
}

function progress(text) {
  if (process.stderr.isTTY) process.stderr.write(`\r\x1b[K${text}`);
}
