// `run.mjs mcpfile`: what a tool of a mcpfile costs over doing the same by hand.

import { fork } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { availableParallelism, loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { startContestant } from "./contestant-process.mjs";
import { connect } from "./gateway-client.mjs";
import { startGateway } from "./gateway-run.mjs";
import { printMcpfileReport } from "./mcpfile-report.mjs";
import { median } from "./stats.mjs";

const here = (path) => fileURLToPath(new URL(path, import.meta.url));
const PORTOLAN = here("../../dist/cli/main.js");
const SETTINGS = { full: { rounds: 9, durationMs: 400 }, quick: { rounds: 3, durationMs: 150 } };

/** `goal` is for the library with one call at a time: milliseconds over the direct way, or a share of it. */
const GROUPS = [
  {
    id: "http",
    title: "HTTP tool: POST with a small JSON body",
    direct: { name: "undici, directly", module: "../contestants/direct-http.mjs" },
    inFlight: [1, 16],
    goal: { overMs: 0.3 },
    warmUpCpuMs: 1200,
    isJson: true,
    target: ({ port }) => ({ url: `http://127.0.0.1:${port}/echo` }),
    invocation: ({ url }) => ({ http: { method: "POST", url } }),
  },
  cliGroup("cli", "CLI tool: /usr/bin/printf", ["/usr/bin/printf", "%s"]),
  cliGroup("node", "CLI tool: a Node program", [process.execPath, here("../servers/say.mjs")]),
];

function cliGroup(id, title, words) {
  return {
    id,
    title,
    direct: { name: "child_process, directly", module: "../contestants/direct-spawn.mjs" },
    others: [{ name: "the same, in a group of its own", target: { words, detached: true } }],
    inFlight: [1],
    goal: { overShare: 0.1 },
    warmUpCpuMs: 300,
    isJson: false,
    target: () => ({ words }),
    invocation: () => ({ cli: { command: `${words.map((word) => `'${word}'`).join(" ")} {text}` } }),
  };
}

export async function runMcpfileBench(options) {
  const given = { rounds: options.rounds, durationMs: options.durationMs };
  const defined = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
  const settings = { ...SETTINGS[options.quick ? "quick" : "full"], ...defined };
  const report = {
    node: process.version,
    cores: availableParallelism(),
    loadBefore: loadavg()[0],
    settings,
    groups: [],
  };
  const server = fork(here("../servers/rest.mjs"));
  const [{ port }] = await once(server, "message");
  try {
    for (const group of GROUPS.filter(({ id }) => !options.only || options.only === id))
      report.groups.push(await runGroup(group, settings, port));
  } finally {
    server.disconnect();
  }
  if (options.json) console.log(JSON.stringify(report, null, 2));
  else printMcpfileReport(report);
}

async function runGroup(group, settings, port) {
  const base = mkdtempSync(join(tmpdir(), "portolan-bench-mcpfile-"));
  const target = group.target({ port });
  const folder = join(base, "workspace");
  declare(folder, group.invocation(target));
  const stops = [async () => rmSync(base, { recursive: true, force: true })];
  try {
    const gatewayUrl = await startServe(folder, stops);
    const rows = [
      { ...group.direct, role: "direct", target },
      ...(group.others ?? []).map((other) => ({ ...group.direct, role: "other", ...other })),
      { name: "portolan, library", role: "library", module: "../contestants/portolan-mcpfile.mjs" },
      ...["modern", "legacy"].map((era) => ({
        name: `portolan, gateway, ${era} client`,
        role: "gateway",
        module: "../contestants/portolan-gateway.mjs",
        target: { url: gatewayUrl, era, isJson: group.isJson },
      })),
    ];
    for (const row of rows) {
      row.client = await startContestant({ target: { folder }, ...row });
      stops.push(() => row.client.close());
      await row.client.ask("warmUp", { cpuMs: group.warmUpCpuMs });
    }
    const cells = [];
    for (const inFlight of group.inFlight) cells.push(await runCell(rows, inFlight, settings));
    const { id, title, goal } = group;
    return { id, title, goal, cells };
  } finally {
    for (const stop of stops.toReversed()) await stop();
  }
}

/** JSON is YAML. */
function declare(folder, invocation) {
  mkdirSync(folder);
  const inputSchema = { type: "object", properties: { text: { type: "string" } }, required: ["text"] };
  const tool = { name: "echo", description: "Gives back what it gets.", inputSchema, invocation };
  const file = { mcpFileVersion: "0.0.1", servers: [{ name: "api", version: "1.0.0", tools: [tool] }] };
  writeFileSync(join(folder, "mcpfile.yaml"), JSON.stringify(file, null, 2));
}

async function startServe(folder, stops) {
  let url;
  const gateway = await startGateway(
    {
      readyPath: "/readyz",
      start: ({ port }) => ({ args: [PORTOLAN, "serve", folder, "--port", `${port}`, "--no-auth"] }),
    },
    [],
    async (found) => {
      url = found;
      await (await connect({ url, era: "modern" })).close();
    },
  );
  stops.push(() => gateway.stop());
  return url;
}

async function runCell(rows, inFlight, { rounds, durationMs }) {
  const samples = rows.map(() => []);
  for (let round = 0; round < rounds; round++) {
    for (let turn = 0; turn < rows.length; turn++) {
      const index = (turn + round) % rows.length;
      const ask = (ms) => rows[index].client.ask("measure", { payload: "small", inFlight, durationMs: ms });
      await ask(durationMs / 8);
      samples[index].push(await ask(durationMs));
    }
  }
  // Compared within a round, where all saw the same machine.
  const [direct] = samples;
  const summary = rows.map(({ name, role }, index) => {
    const of = (key) => median(samples[index].map((sample) => sample[key]));
    const against = (compare) =>
      median(samples[index].map((sample, round) => compare(sample, direct[round])));
    return {
      name,
      role,
      p50Us: of("p50Us"),
      p99Us: of("p99Us"),
      callsPerSecond: of("callsPerSecond"),
      cpuUsPerCall: of("cpuUsPerCall"),
      overUs: against((own, other) => own.p50Us - other.p50Us),
      ratio: against((own, other) => own.p50Us / other.p50Us),
      samples: samples[index],
    };
  });
  return { inFlight, rows: summary };
}
