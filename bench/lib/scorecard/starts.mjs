// Start-up rows of the scorecard: `serve` to its first answered list, one call in a terminal, and 50 servers at once.
// Every figure is a fresh process with a compiled server; rounds go over all contestants.

import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { connect as openSocket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { connect } from "../gateway-client.mjs";
import { findPort, startProcess } from "../gateway-run.mjs";
import { listGateways, onceWithMcporter } from "../gateways.mjs";
import { median } from "../stats.mjs";

const here = (path) => fileURLToPath(new URL(path, import.meta.url));
const RAW = here("../raw-native-process.mjs");
const REPORT_CPU = here("../report-cpu.cjs");
const PORTOLAN = here("../../../dist/cli/main.js");
const SERVERS = 50;
const TOOLS = 20;
const POLL_MS = 2;
const PATIENCE_MS = 20_000;

/** Rows `{work, unit, limit, rivals, ours, goal}`; a contestant is `{name, value, cpuMs}`. */
export async function measureStarts({ native, rounds, progress }) {
  const one = [{ alias: "echo", command: native, args: [String(TOOLS), "echo"] }];
  const many = Array.from({ length: SERVERS }, (_, index) => ({
    alias: `s${index}`,
    command: native,
    args: [String(TOOLS), `s${index}`],
  }));
  const gateways = listGateways({}).filter(({ role, era, name }) => isAsked(role, era, name));
  // mcporter offers each server at an address of its own, and the bare relay only the first.
  const several = gateways.filter(({ many: can, role, path }) => can && role !== "limit" && !path);
  const kept = mkdtempSync(join(tmpdir(), "portolan-bench-kept-"));
  const rows = {
    bare: () => runOnce(["-e", "0"]),
    raw: () => runOnce([RAW, JSON.stringify({ servers: one, call: true })]),
    call: () => callOnce(one[0], kept),
    mcporter: () => runOnce(...onceWithMcporter(native)),
    floor: () => runOnce([RAW, JSON.stringify({ servers: many })]),
  };
  for (const gateway of gateways)
    rows[`serve ${gateway.name}`] = () => serveOnce(gateway, one, TOOLS, homeWithoutInventory(kept, "first"));
  for (const gateway of several)
    rows[`many ${gateway.name}`] = () =>
      serveOnce(gateway, many, TOOLS * SERVERS, homeWithoutInventory(kept, "first"));
  const ours = several.find(({ role }) => role === "ours");
  rows.kept = () => serveOnce(ours, many, TOOLS * SERVERS, kept);
  rows["kept one"] = () => serveOnce(ours, one, TOOLS, join(kept, "one"));

  const samples = {};
  try {
    for (let round = 0; round <= rounds; round++) {
      for (const [name, measure] of Object.entries(rows)) {
        progress(`starts: round ${round} of ${rounds}, ${name}`);
        if (samples[name]?.failure) continue;
        const sample = await measure().catch((error) => ({ failure: error.message.split("\n")[0] }));
        // The first round fills the disk cache, and the inventory that the kept rows use.
        if (sample.failure) samples[name] = sample;
        else if (round > 0) (samples[name] ??= []).push(sample);
      }
    }
  } finally {
    rmSync(kept, { recursive: true, force: true, maxRetries: 3 });
  }
  return toRows(samples, gateways, several);
}

function isAsked(role, era, name) {
  return role === "limit" || (role === "ours" ? era === "modern" : role === "rival" && !/modern/.test(name));
}

function toRows(samples, gateways, several) {
  const named = (key, name) => summarize(samples[key], name);
  const rivals = (list, kind) =>
    list.filter(({ role }) => role === "rival").map(({ name }) => named(`${kind} ${name}`, name));
  const ours = several.find(({ role }) => role === "ours").name;
  const raw = named("raw", "raw script");
  const relay = gateways.find(({ role }) => role === "limit").name;
  const over = (key, base) => ratios(samples[key], samples[base]);
  const serve = {
    unit: "ms",
    limit: raw,
    others: [named("bare", "node -e 0"), named(`serve ${relay}`, "bare relay")],
    rivals: rivals(gateways, "serve"),
  };
  return [
    {
      work: "`serve`, process start to the first answered tools/list",
      ...serve,
      ours: { ...named(`serve ${ours}`, "portolan"), ...over(`serve ${ours}`, "raw") },
      goal: { ofLimit: 1.5 },
    },
    {
      work: "the same, from the kept inventory",
      ...serve,
      ours: { ...named("kept one", "portolan"), ...over("kept one", "raw") },
      goal: { ofLimit: 1.5 },
    },
    {
      work: "one `call` in a terminal",
      unit: "ms",
      limit: raw,
      rivals: [named("mcporter", "mcporter call")],
      ours: { ...named("call", "portolan"), ...over("call", "raw") },
      goal: { ofLimit: 1.4 },
    },
    {
      work: "50 stdio servers ready, from process start",
      unit: "ms",
      limit: named("floor", "spawn, handshake, list"),
      rivals: rivals(several, "many"),
      ours: { ...named(`many ${ours}`, "portolan"), ...over(`many ${ours}`, "floor") },
      goal: { ofLimit: 150 / 97 },
    },
    {
      work: "50 stdio servers listed, from the kept inventory",
      unit: "ms",
      limit: named("floor", "spawn, handshake, list"),
      rivals: rivals(several, "many"),
      ours: { ...named("kept", "portolan"), ...over("kept", "floor") },
      goal: { ofLimit: 100 / 97 },
    },
  ];
}

function summarize(samples, name) {
  if (!samples || samples.failure) return { name, failure: samples?.failure ?? "not measured" };
  return {
    name,
    value: median(samples.map(({ ms }) => ms)),
    cpuMs: median(samples.map(({ cpuMs }) => cpuMs)),
  };
}

/** Of one round, where both saw the same machine; the median of these. */
function ratios(own, base) {
  if (!own || !base || own.failure || base.failure) return {};
  const of = (key) => median(own.map((sample, round) => sample[key] / base[round][key]));
  return { ofLimit: of("ms"), cpuOfLimit: of("cpuMs") };
}

async function callOnce({ command, args }, home) {
  return runOnce([PORTOLAN, "call", "echo", "text=once", "--", command, ...args], { home });
}

/**
 * A home folder in which the command has run before, but has kept no inventory: the command stores its compiled code there,
 * which only the first start after an installation is without.
 */
function homeWithoutInventory(kept, name) {
  const home = join(kept, name);
  rmSync(join(home, ".cache", "portolan", "tools"), { recursive: true, force: true });
  return home;
}

/** A Node process from its start to its end, with the same small environment as the gateways. */
function runOnce(args, { home = tmpdir(), node = process.execPath } = {}) {
  return new Promise((resolve, reject) => {
    const start = performance.now();
    const child = spawn(node, ["--require", REPORT_CPU, ...args], {
      cwd: home,
      env: { PATH: process.env.PATH, HOME: home, PORTOLAN_SANDBOX: process.env.PORTOLAN_SANDBOX },
      stdio: ["ignore", "ignore", "pipe", "pipe"],
    });
    let ms;
    let cpuMs = "";
    let errors = "";
    child.stdio[2].setEncoding("utf8").on("data", (text) => (errors += text));
    child.stdio[3].setEncoding("utf8").on("data", (text) => (cpuMs += text));
    child.on("exit", () => (ms = performance.now() - start));
    child.on("close", (code) => {
      if (code === 0) resolve({ ms, cpuMs: Number.parseFloat(cpuMs) });
      else reject(new Error(errors.trim() || `exit code ${code}`));
    });
  });
}

/** A gateway from its start until a client has the list of all tools. `home` is kept from one start to the next. */
async function serveOnce({ start, path = "/mcp", era, wire }, upstreams, tools, home) {
  const folder = home ?? mkdtempSync(join(tmpdir(), "portolan-bench-"));
  mkdirSync(folder, { recursive: true });
  const port = await findPort();
  const { node, args } = await start({ port, folder, upstreams });
  const began = performance.now();
  const gateway = startProcess({ node, args, folder, keepsFolder: home !== undefined });
  try {
    for (const giveUp = began + PATIENCE_MS; ;) {
      const client = (await isListening(port)) && (await list(`http://127.0.0.1:${port}${path}`, era, wire));
      const ms = performance.now() - began;
      if (client && client.tools >= tools) {
        const cpuMs = gateway.read().cpuMs;
        await client.close();
        return { ms, cpuMs };
      }
      await client?.close?.();
      if (gateway.isOver() || performance.now() > giveUp)
        throw new Error(gateway.lastWords() || `not ready: ${client?.failure ?? "it does not listen"}`);
      await sleep(POLL_MS);
    }
  } finally {
    await gateway.stop();
  }
}

async function list(url, era, wire) {
  return connect({ url, era, wire }).catch((error) => ({ failure: error.message, tools: 0 }));
}

function isListening(port) {
  return new Promise((resolve) => {
    const socket = openSocket(port, "127.0.0.1");
    socket.on("connect", () => resolve(true)).on("error", () => resolve(false));
    socket.on("connect", () => socket.destroy());
  });
}
