// `run.mjs hub`: how long many servers take to be there, all at once, and what one dead and one hanging server cost the others.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { availableParallelism, loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { median, spread } from "./stats.mjs";
import { formatNumber, formatPercent, formatTable } from "./table.mjs";

const SERVER = fileURLToPath(new URL("../servers/tools.mjs", import.meta.url));
const ENTRY = fileURLToPath(new URL("hub-process.mjs", import.meta.url));
const COUNT = 50;
const GOAL = 2.5;
/** The list of the others may not come later because of a dead and a hanging server; a machine's noise may. */
const NOISE = 1.15;

export async function runHubBench({ rounds = 5, json }) {
  const loadBefore = loadavg()[0];
  const base = mkdtempSync(join(tmpdir(), "portolan-bench-hub-"));
  const samples = { creation: [], floor: [], first: [], again: [], troubled: [], fewer: [], alone: [] };
  try {
    for (let round = 0; round < rounds; round++) {
      const folder = join(base, String(round));
      const healthy = listServers(COUNT);
      const fewer = healthy.slice(0, COUNT - 2);
      const all = declare(join(folder, "all"), healthy);
      const few = declare(join(folder, "few"), fewer);
      const troubled = declare(join(folder, "troubled"), [...fewer, server("dead"), server("hanging")]);
      const run = (mode, options) => measure({ mode, ...options }, join(folder, `cache-${options.cache}`));
      samples.creation.push(await run("creation", { servers: healthy, cache: 0 }));
      samples.floor.push(await run("floor", { servers: healthy, cache: 0 }));
      samples.first.push(await run("hub", { ...all, expected: COUNT, cache: 1 }));
      samples.again.push(await run("hub", { ...all, expected: COUNT, cache: 1 }));
      samples.fewer.push(await run("hub", { ...few, expected: COUNT - 2, cache: 2 }));
      samples.troubled.push(await run("hub", { ...troubled, expected: COUNT - 2, cache: 3 }));
      samples.alone.push(await run("alone", { servers: healthy, cache: 4 }));
    }
  } finally {
    rmSync(base, { recursive: true, force: true });
  }
  const report = toReport(samples);
  if (json) console.log(JSON.stringify({ node: process.version, rounds, ...report, samples }, null, 2));
  else print(report, samples, rounds, loadBefore);
}

function server(kind, index = "") {
  const alias = `${kind}${index}`;
  return { alias, command: process.execPath, args: [SERVER, kind, alias] };
}

const listServers = (count) =>
  Array.from({ length: count }, (_, index) => server(index % 2 === 0 ? "modern" : "legacy", index));

function declare(folder, servers) {
  mkdirSync(folder, { recursive: true });
  const config = { servers: servers.map((one) => ({ ...one, transport: "stdio" })) };
  writeFileSync(join(folder, "manifest.yaml"), JSON.stringify({ config }, null, 2));
  return { folder, snapshots: join(folder, "..", `tools-${servers.length}-${servers.at(-1).alias}`) };
}

async function measure(options, cache) {
  const child = spawn(process.execPath, [ENTRY, JSON.stringify(options)], {
    env: { ...process.env, XDG_CACHE_HOME: cache },
    stdio: ["ignore", "pipe", "inherit"],
  });
  let output = "";
  child.stdout.setEncoding("utf8").on("data", (text) => (output += text));
  const [code] = await once(child, "close");
  if (code !== 0) throw new Error(`${options.mode} ended with code ${code}`);
  return JSON.parse(output);
}

function toReport(samples) {
  const typical = (name, field) => median(samples[name].map((sample) => sample[field]));
  const slowestMs = typical("alone", "slowestMs");
  const creationMs = typical("creation", "readyMs");
  const limitMs = GOAL * (slowestMs + creationMs);
  const strictMs = GOAL * slowestMs + creationMs;
  const readyMs = typical("first", "readyMs");
  const fewerMs = typical("fewer", "listedMs");
  const troubledMs = typical("troubled", "listedMs");
  return {
    slowestMs,
    creationMs,
    oneByOneMs: typical("alone", "sumMs"),
    goals: {
      parallel: { readyMs, limitMs, factor: readyMs / (slowestMs + creationMs), met: readyMs <= limitMs },
      strict: { readyMs, limitMs: strictMs, met: readyMs <= strictMs },
      unharmed: { troubledMs, fewerMs, met: troubledMs <= fewerMs * NOISE },
    },
  };
}

function print({ slowestMs, creationMs, oneByOneMs, goals }, samples, rounds, loadBefore) {
  const cores = availableParallelism();
  console.log(
    `Node ${process.version}, ${cores} cores, ${COUNT} stdio servers with 20 tools each, medians of ${rounds} rounds`,
  );
  if (loadBefore > cores / 4)
    console.log(`The machine was busy before (load average ${loadBefore.toFixed(1)}).`);
  const header = ["", "tools listed ms", "all ready ms", "CPU ms", "RSS MB", "close ms", "spread"];
  const row = (title, name) => {
    const typical = (field) => {
      const values = samples[name].map((sample) => sample[field]);
      return values[0] === undefined ? "" : formatNumber(median(values));
    };
    const times = samples[name].map(({ readyMs }) => readyMs);
    return [
      title,
      ...["listedMs", "readyMs", "cpuMs", "rssMb", "closeMs"].map(typical),
      formatPercent(spread(times)),
    ];
  };
  const plain = (title, ms) => [title, "", formatNumber(ms), "", "", "", ""];
  const rows = [
    plain("the slowest one alone", slowestMs),
    row("creating 50 bare Node processes", "creation"),
    row("raw floor: spawn, handshake, list", "floor"),
    row("portolan, first run", "first"),
    row("portolan, second run (snapshots)", "again"),
    row("portolan, 48 of them", "fewer"),
    row("portolan, 48 + 1 dead + 1 hanging", "troubled"),
    plain("portolan, one after another", oneByOneMs),
  ];
  console.log(`\n${formatTable(header, rows)}\n`);
  const { parallel, strict, unharmed } = goals;
  const verdict = (met) => (met ? "ok" : "--");
  console.log(
    `All ready within ${GOAL}x (the slowest one alone + process creation): ${formatNumber(parallel.readyMs)} of ` +
      `${formatNumber(parallel.limitMs)} ms, ${parallel.factor.toFixed(2)}x ${verdict(parallel.met)}`,
  );
  console.log(
    `Read strictly, ${GOAL}x the slowest one alone, + process creation (${formatNumber(creationMs)} ms): ` +
      `${formatNumber(strict.readyMs)} of ${formatNumber(strict.limitMs)} ms ${verdict(strict.met)}`,
  );
  console.log(
    `The 48 are listed no later beside a dead and a hanging one: ` +
      `${formatNumber(unharmed.troubledMs)} against ${formatNumber(unharmed.fewerMs)} ms ${verdict(unharmed.met)}`,
  );
}
