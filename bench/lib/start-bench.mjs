// `run.mjs start`: what it costs to import a client, and to use one for a single call. Every figure is a fresh process.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { listContestants } from "./contestants.mjs";
import { median } from "./stats.mjs";
import { formatTable } from "./table.mjs";

const here = (path) => fileURLToPath(new URL(path, import.meta.url));
const ROOT = here("../../");
const REPORT_CPU = fileURLToPath(import.meta.resolve("./report-cpu.cjs"));

export async function runStartBench({ rounds = 15, json }) {
  const imports = await measureAll(listImports(), rounds);
  const oneShots = await measureAll(listOneShots(), rounds);
  if (json) return console.log(JSON.stringify({ node: process.version, rounds, imports, oneShots }, null, 2));
  console.log(`Node ${process.version}, medians of ${rounds} fresh processes, taken in turns`);
  printTable("Import (or run) and exit; goal for --help: well under 150 ms", imports);
  printTable(
    "One shot over stdio: start the server, list, call, exit; goal: 20 % over the raw script's wall ms",
    oneShots,
  );
}

function listImports() {
  const { bin } = JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8"));
  const command = typeof bin === "string" ? bin : (bin?.portolan ?? "the package names no command");
  return [
    { name: "bare node", args: importing() },
    { name: "portolan, library", args: importing("portolan") },
    { name: "portolan --help", args: [command, "--help"] },
    { name: "SDK v2 client", args: importing("@modelcontextprotocol/client") },
    {
      name: "SDK v2 client + stdio",
      args: importing("@modelcontextprotocol/client", "@modelcontextprotocol/client/stdio"),
    },
    { name: "SDK v1 client", args: importing("@modelcontextprotocol/sdk/client/index.js") },
    { name: "zod", args: importing("zod") },
    { name: "undici", args: importing("undici") },
  ];
}

function importing(...specifiers) {
  return ["--input-type=module", "-e", specifiers.map((specifier) => `import "${specifier}";`).join("")];
}

function listOneShots() {
  return listContestants({ transport: "stdio", stdioServer: "stdio" })
    .filter(({ target }) => !target.batch)
    .map(({ name, module, target }) => ({
      name: name.replace("bare loop (the limit)", "raw script"),
      args: [here("one-shot.mjs"), JSON.stringify({ module, target })],
    }));
}

async function measureAll(rows, rounds) {
  const samples = rows.map(() => []);
  for (let round = 0; round <= rounds; round++) {
    for (const [index, { args }] of rows.entries()) {
      if (samples[index].failure) continue;
      const sample = await runOnce(args);
      if (sample.failure) samples[index].failure = sample.failure;
      else if (round > 0) samples[index].push(sample); // the first round fills the disk cache
    }
  }
  return rows.map(({ name }, index) => {
    const { failure } = samples[index];
    if (failure) return { name, failure };
    return {
      name,
      cpuMs: median(samples[index].map(({ cpuMs }) => cpuMs)),
      wallMs: median(samples[index].map(({ wallMs }) => wallMs)),
    };
  });
}

async function runOnce(args) {
  const start = performance.now();
  const child = spawn(process.execPath, ["--require", REPORT_CPU, ...args], {
    cwd: ROOT,
    stdio: ["ignore", "ignore", "pipe", "pipe"],
  });
  let cpuMs = "";
  let errors = "";
  child.stdio[2].setEncoding("utf8").on("data", (text) => (errors += text));
  child.stdio[3].setEncoding("utf8").on("data", (text) => (cpuMs += text));
  const exit = once(child, "exit").then(([code]) => ({ code, wallMs: performance.now() - start }));
  await once(child, "close");
  const { code, wallMs } = await exit;
  if (code !== 0) return { failure: /^\w*Error.*$/m.exec(errors)?.[0] ?? `exit code ${code}` };
  return { cpuMs: Number(cpuMs), wallMs };
}

function printTable(title, rows) {
  const [base] = rows;
  const cells = rows
    .filter(({ failure }) => !failure)
    .map(({ name, cpuMs, wallMs }) => [
      name,
      cpuMs.toFixed(0),
      `+${(cpuMs - base.cpuMs).toFixed(0)}`,
      wallMs.toFixed(0),
      `+${(wallMs - base.wallMs).toFixed(0)}`,
    ]);
  const header = ["", "CPU ms", `over ${base.name}`, "wall ms", `over ${base.name}`];
  console.log(`\n## ${title}\n\n${formatTable(header, cells)}`);
  for (const { name, failure } of rows) if (failure) console.log(`not measured: ${name}: ${failure}`);
}
