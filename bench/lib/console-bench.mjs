// `run.mjs console`: what the page of the console costs the browser, with 50 servers and 1,000 tools: its first sight, and 500 calls a second.

import { execFile } from "node:child_process";
import { existsSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { chromium } from "playwright-core";
import { findPort, startProcess } from "./gateway-run.mjs";
import { findNativeServer } from "./native-server.mjs";
import { median } from "./stats.mjs";
import { formatNumber, formatTable } from "./table.mjs";

const CLI = fileURLToPath(new URL("../../dist/cli/main.js", import.meta.url));
const SERVERS = 50;
const TOOLS = 20;
const PER_SECOND = 500;
const BATCH_MS = 50;
const GOAL_MS = 500;
const PATIENCE_MS = 60_000;
const run = promisify(execFile);

/** Pages on which the calls are watched. */
const WATCHED = ["servers", "activity", "tools"];

export async function runConsoleBench({ rounds = 5, durationMs = 5_000, quick, json }) {
  const program = findNativeServer();
  const browserPath = findChromium();
  if (program === undefined || browserPath === undefined) {
    console.log("Not measured: this benchmark needs a C compiler and Chromium.");
    return;
  }
  const folder = mkdtempSync(join(tmpdir(), "portolan-bench-console-"));
  const port = await findPort();
  const aliases = Array.from({ length: SERVERS }, (_, index) => `server${index + 1}`);
  const servers = Object.fromEntries(
    aliases.map((alias) => [alias, { command: program, args: [String(TOOLS), alias] }]),
  );
  writeFileSync(join(folder, "portolan.yaml"), JSON.stringify({ servers }));
  const gateway = startProcess({ args: [CLI, "serve", folder, "--port", String(port), "--no-auth"], folder });
  const browser = await chromium.launch({ executablePath: browserPath, args: ["--disable-gpu"] });
  const command = async (...args) => {
    const env = { PATH: process.env.PATH, HOME: folder };
    return (await run(process.execPath, [CLI, ...args], { cwd: folder, env })).stdout;
  };
  try {
    const url = `http://127.0.0.1:${port}`;
    await untilListed(url, SERVERS * TOOLS);
    const link = async () => /http\S+#code=[\w-]+/.exec(await command("console"))[0];
    const first = [];
    for (let round = 0; round < (quick ? 2 : rounds); round++)
      first.push(await measureFirst(browser, await link()));
    const watched = {};
    for (const page of WATCHED)
      watched[page] = await measureCalls(browser, await link(), {
        page,
        url,
        durationMs: quick ? 2_000 : durationMs,
      });
    report({ first, watched, json });
  } finally {
    await browser.close();
    await gateway.stop();
  }
}

/** From an empty cache until all servers are shown and the page answers a click; then the list of all tools. */
async function measureFirst(browser, link) {
  const context = await browser.newContext();
  const page = await context.newPage();
  const metrics = await meter(page);
  const startedAt = performance.now();
  await page.goto(link);
  await page
    .locator(".server-card")
    .nth(SERVERS - 1)
    .waitFor();
  await page.getByLabel("Find a server").fill("server7");
  await page.locator(".server-card").nth(1).waitFor({ state: "detached" });
  const interactive = { ...(await metrics()), wallMs: performance.now() - startedAt };
  const before = await metrics();
  await page.getByRole("link", { name: "Tools", exact: true }).click();
  await page.getByText(`${(SERVERS * TOOLS).toLocaleString("en")} tools`).waitFor();
  const after = await metrics();
  const tools = Object.fromEntries(Object.keys(after).map((name) => [name, after[name] - before[name]]));
  await context.close();
  return { interactive, tools };
}

/** The cost for each second in which 500 calls are made. */
async function measureCalls(browser, link, { page: name, url, durationMs }) {
  const context = await browser.newContext();
  const page = await context.newPage();
  await page.goto(link);
  await page
    .locator(".server-card")
    .nth(SERVERS - 1)
    .waitFor();
  await page.evaluate(`location.hash = "#/${name}"`);
  await sleep(1_000);
  await page.evaluate(
    "globalThis.longest = 0; new PerformanceObserver((list) => { for (const one of list.getEntries()) longest = Math.max(longest, one.duration); }).observe({ type: 'longtask' }); 0",
  );
  const metrics = await meter(page);
  const load = startCalls(url);
  // Until the first rows are there.
  await sleep(1_000);
  const before = await metrics();
  const begun = performance.now();
  const callsBefore = load.done();
  await sleep(durationMs);
  const seconds = (performance.now() - begun) / 1_000;
  const after = await metrics();
  const calls = load.done() - callsBefore;
  await load.stop();
  const longestMs = await page.evaluate("longest");
  await context.close();
  return {
    taskMs: (after.taskMs - before.taskMs) / seconds,
    scriptMs: (after.scriptMs - before.scriptMs) / seconds,
    longestMs,
    callsPerSecond: calls / seconds,
  };
}

/** CPU of the page's thread since its start: all tasks, and the scripts among them. */
async function meter(page) {
  const session = await page.context().newCDPSession(page);
  await session.send("Performance.enable", { timeDomain: "threadTicks" });
  return async () => {
    const { metrics } = await session.send("Performance.getMetrics");
    const read = (name) => (metrics.find((one) => one.name === name)?.value ?? 0) * 1_000;
    return {
      taskMs: read("TaskDuration"),
      scriptMs: read("ScriptDuration"),
      layoutMs: read("LayoutDuration"),
    };
  };
}

/** Calls of all servers in turn, at a steady rate. */
function startCalls(url) {
  let done = 0;
  let next = 0;
  const open = new Set();
  const timer = setInterval(() => {
    for (let one = 0; one < (PER_SECOND * BATCH_MS) / 1_000; one++) {
      if (open.size > PER_SECOND) return;
      next += 1;
      const name = `mcp_server${(next % SERVERS) + 1}_echo`;
      const call = send(url, "tools/call", { name, arguments: { text: `call ${next}` } }).then(
        () => (done += 1),
      );
      open.add(call);
      call.catch(() => {}).finally(() => open.delete(call));
    }
  }, BATCH_MS);
  return {
    done: () => done,
    async stop() {
      clearInterval(timer);
      await Promise.allSettled(open);
    },
  };
}

let id = 0;

async function send(url, method, params) {
  const _meta = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": { name: "bench", version: "1" },
    "io.modelcontextprotocol/clientCapabilities": {},
  };
  const response = await fetch(`${url}/mcp`, {
    method: "POST",
    headers: {
      ...{ "content-type": "application/json", accept: "application/json, text/event-stream" },
      ...{ "mcp-protocol-version": "2026-07-28", "mcp-method": method },
      ...(params.name === undefined ? {} : { "mcp-name": params.name }),
    },
    body: JSON.stringify({ jsonrpc: "2.0", id: (id += 1), method, params: { ...params, _meta } }),
  });
  const { result, error } = await response.json();
  if (error) throw new Error(error.message);
  return result;
}

async function untilListed(url, count) {
  const giveUp = performance.now() + PATIENCE_MS;
  for (;;) {
    const tools = await send(url, "tools/list", {}).then(
      (result) => result.tools.length,
      () => 0,
    );
    if (tools >= count) return;
    if (performance.now() > giveUp) throw new Error(`the gateway lists ${tools} of ${count} tools`);
    await sleep(200);
  }
}

function findChromium() {
  return ["chromium", "chromium-browser", "google-chrome"]
    .flatMap((name) => process.env.PATH.split(delimiter).map((folder) => join(folder, name)))
    .find((path) => existsSync(path));
}

function report({ first, watched, json }) {
  if (json) return console.log(JSON.stringify({ node: process.version, first, watched }, null, 2));
  const row = (name, samples) => [
    name,
    ...["taskMs", "scriptMs", "layoutMs"].map((field) =>
      formatNumber(median(samples.map((one) => one[field]))),
    ),
  ];
  console.log(
    `Console with ${SERVERS} servers and ${SERVERS * TOOLS} tools: CPU of the page's thread, in ms\n`,
  );
  console.log(
    formatTable(
      ["first load", "all tasks", "scripts", "layout"],
      [
        row(
          "until interactive",
          first.map(({ interactive }) => interactive),
        ),
        row(
          "then all tools",
          first.map(({ tools }) => tools),
        ),
      ],
    ),
  );
  const spent = median(first.map(({ interactive }) => interactive.taskMs));
  console.log(`\nGoal: interactive within ${GOAL_MS} ms of CPU: ${spent <= GOAL_MS ? "met" : "missed"}\n`);
  console.log(
    formatTable(
      [`${PER_SECOND} calls a second, on`, "all tasks per s", "scripts per s", "longest task", "calls per s"],
      Object.entries(watched).map(([name, { taskMs, scriptMs, longestMs, callsPerSecond }]) => [
        name,
        ...[taskMs, scriptMs, longestMs, callsPerSecond].map(formatNumber),
      ]),
    ),
  );
}
