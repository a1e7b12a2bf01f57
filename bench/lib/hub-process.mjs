// One measurement of `run.mjs hub` in a process of its own: `node hub-process.mjs '{"mode", "servers", "folder", "snapshots"}'`.
// Prints its figures as JSON. Times begin when everything is imported that a program imports before it opens a workspace.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { openWorkspace } from "portolan";

const { mode, servers, folder, snapshots, expected } = JSON.parse(process.argv[2]);
const TOOLS = 20;
/** About the environment that Portolan gives its servers: variables can double the start time of a Node process. */
const env = { PATH: process.env.PATH, HOME: process.env.HOME };
const children = [];

const MODES = { hub, alone, floor, creation };
console.log(JSON.stringify(await MODES[mode]()));

/** All servers through a workspace: when their tools were listed, and when all that can be ready are. */
async function hub() {
  const start = performance.now();
  const workspace = await openWorkspace(folder, { snapshots, waitMs: 0, onDiagnostic() {} });
  const isThere = (count) => count >= expected * TOOLS;
  const known = (await workspace.tools()).length;
  const knownMs = performance.now() - start;
  const ready = () => workspace.health().filter(({ state }) => state === "ready").length;
  if (ready() < expected)
    await new Promise((resolve) => workspace.events.on(() => ready() >= expected && resolve()));
  const readyMs = performance.now() - start;
  const listed = (await workspace.tools()).length;
  const listedMs = performance.now() - start;
  if (!isThere(listed)) throw new Error(`${listed} tools instead of ${expected * TOOLS}`);
  const rssMb = process.memoryUsage().rss / 2 ** 20;
  const { user, system } = process.cpuUsage();
  const closing = performance.now();
  await workspace.close();
  return {
    readyMs,
    listedMs: isThere(known) ? knownMs : listedMs,
    rssMb,
    cpuMs: (user + system) / 1000,
    closeMs: performance.now() - closing,
  };
}

/** Each server by itself, one after another. */
async function alone() {
  const times = [];
  for (const { alias, command, args } of servers) {
    const start = performance.now();
    const endpoint = { transport: "stdio", command, args };
    const origin = { file: "bench", line: 1, column: 1, format: "bench" };
    const workspace = await openWorkspace(
      { servers: [{ alias, enabled: true, origin, endpoint }] },
      { snapshots: false },
    );
    if ((await workspace.tools()).length !== TOOLS) throw new Error(`${alias} has other tools`);
    times.push(performance.now() - start);
    await workspace.close();
  }
  return { slowestMs: Math.max(...times), sumMs: times.reduce((sum, ms) => sum + ms, 0) };
}

/** Spawn, handshake and list with nothing around them: what any client has to do. */
async function floor() {
  const start = performance.now();
  await Promise.all(servers.map(listRaw));
  const readyMs = performance.now() - start;
  const rssMb = process.memoryUsage().rss / 2 ** 20;
  const { user, system } = process.cpuUsage();
  for (const child of children) child.stdin.end();
  return { readyMs, listedMs: readyMs, rssMb, cpuMs: (user + system) / 1000 };
}

async function listRaw({ command, args }) {
  const child = spawn(command, args, { stdio: ["pipe", "pipe", "pipe"], env, detached: true });
  children.push(child);
  child.stderr.resume();
  const waiting = new Map();
  let partial = "";
  child.stdout.setEncoding("utf8").on("data", (chunk) => {
    const lines = (partial + chunk).split("\n");
    partial = lines.pop();
    for (const message of lines.map((line) => JSON.parse(line))) waiting.get(message.id)(message);
  });
  const request = (id, method, params) =>
    new Promise((resolve) => {
      waiting.set(id, resolve);
      child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", id, method, params })}\n`);
    });
  const clientInfo = { name: "bare", version: "1.0.0" };
  await request(1, args.includes("modern") ? "server/discover" : "initialize", {
    protocolVersion: "2025-11-25",
    capabilities: {},
    clientInfo,
  });
  const { result } = await request(2, "tools/list", {});
  if (result.tools.length !== TOOLS) throw new Error("other tools");
}

/** As many bare Node processes as there are servers, all at once: what the machine needs to create them. */
async function creation() {
  const start = performance.now();
  const options = { stdio: "ignore", env, detached: true };
  await Promise.all(servers.map(({ command }) => once(spawn(command, ["-e", "0"], options), "exit")));
  return { readyMs: performance.now() - start };
}
