// `run.mjs client`: calls per second, latency and CPU per call of every client, measured in turns.

import { availableParallelism, loadavg } from "node:os";
import { listContestants, startHttpServer } from "./contestants.mjs";
import { startContestant } from "./contestant-process.mjs";
import { judgeGoals } from "./goals.mjs";
import { printClientReport } from "./client-report.mjs";
import { median, spread } from "./stats.mjs";

const SETTINGS = {
  full: {
    rounds: 7,
    durationMs: 200,
    warmUpCpuMs: 1200,
    inFlight: [1, 16, 64],
    payloads: ["small", "large"],
  },
  quick: { rounds: 3, durationMs: 80, warmUpCpuMs: 1000, inFlight: [16], payloads: ["small"] },
};

export const CLIENT_GROUPS = [
  { id: "stdio", title: "stdio", transport: "stdio" },
  { id: "http-json", title: "HTTP, JSON answers", transport: "http", answer: "json" },
  { id: "http-sse", title: "HTTP, SSE answers", transport: "http", answer: "sse" },
];

export async function runClientBench(options) {
  const settings = { ...SETTINGS[options.quick ? "quick" : "full"], ...definedOnly(options) };
  const report = {
    node: process.version,
    cores: availableParallelism(),
    loadBefore: loadavg()[0],
    settings,
    groups: [],
  };
  for (const group of CLIENT_GROUPS.filter(({ transport }) => !options.only || options.only === transport)) {
    report.groups.push(await runClientGroup(group, settings, options.client));
  }
  report.goals = judgeGoals(report.groups);
  if (options.json) console.log(JSON.stringify(report, null, 2));
  else printClientReport(report);
}

export async function runClientGroup(group, settings, filter) {
  const server = group.transport === "http" ? await startHttpServer() : undefined;
  const contestants = listContestants({ ...group, httpPort: server?.port, filter });
  const cells = settings.payloads.flatMap((payload) =>
    settings.inFlight.map((inFlight) => ({ payload, inFlight })),
  );
  const { running, absent } = await startAll(contestants, cells, group.title);

  progress(`${group.title}: warming up`);
  for (let index = 0; index < running.length; index += 2) {
    const pair = running.slice(index, index + 2);
    await Promise.all(pair.map((contestant) => ask(contestant, "warmUp", { cpuMs: settings.warmUpCpuMs })));
  }
  for (let round = 0; round < settings.rounds; round++) {
    progress(`${group.title}: round ${round + 1} of ${settings.rounds}`);
    for (const [index, cell] of cells.entries()) {
      for (const contestant of rotate(running, round)) {
        // The unmeasured start opens the connections that this many calls in flight need.
        await ask(contestant, "measure", { ...cell, durationMs: settings.durationMs / 8 });
        const sample = await ask(contestant, "measure", { ...cell, durationMs: settings.durationMs });
        contestant.samples[index].push(sample);
      }
    }
  }
  progress("");
  await Promise.all(running.map(({ client }) => client.close()));
  server?.close();

  const measured = running.filter(({ failure }) => !failure);
  absent.push(...running.flatMap(({ failure }) => failure ?? []));
  return { ...group, absent, cells: cells.map((cell, index) => summarizeCell(cell, index, measured)) };
}

/** After its first failure a contestant is left alone. */
async function ask(contestant, action, options) {
  if (contestant.failure) return undefined;
  try {
    return await contestant.client.ask(action, options);
  } catch (error) {
    contestant.failure = error.message;
  }
}

async function startAll(contestants, cells, title) {
  progress(`${title}: starting ${contestants.length} clients`);
  const started = await Promise.allSettled(contestants.map((contestant) => startContestant(contestant)));
  const running = [];
  const absent = [];
  for (const [index, { value, reason }] of started.entries()) {
    if (value) running.push({ ...contestants[index], client: value, samples: cells.map(() => []) });
    else absent.push(reason.message);
  }
  return { running, absent };
}

/** Ratios are taken within a round, where both sides saw the same machine, and then the median of these. */
function summarizeCell(cell, index, contestants) {
  const limit = contestants.find(({ role }) => role === "limit").samples[index];
  const rows = contestants.map(({ name, role, samples }) => {
    const own = samples[index];
    const medianOf = (key) => median(own.map((sample) => sample[key]));
    const medianRatio = (key) => median(own.map((sample, round) => sample[key] / limit[round][key]));
    return {
      name,
      role,
      callsPerSecond: medianOf("callsPerSecond"),
      ofLimit: medianRatio("callsPerSecond"),
      p50Us: medianOf("p50Us"),
      p99Us: medianOf("p99Us"),
      cpuUsPerCall: medianOf("cpuUsPerCall"),
      cpuOfLimit: medianRatio("cpuUsPerCall"),
      rssMb: medianOf("rssMb"),
      spread: spread(own.map((sample) => sample.callsPerSecond)),
      samples: own,
    };
  });
  return { ...cell, rows };
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
