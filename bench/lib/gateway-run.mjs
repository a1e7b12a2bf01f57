// Starts one gateway in a process, and a folder, of its own, and ends it with everything that it started.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { request } from "undici";
import { startAsked } from "./contestant-process.mjs";
import { countServers, listGatewayProcesses, listTree, readCpuMs, readRssMb } from "./proc.mjs";

const PATIENCE_MS = 30_000;
const POLITE_MS = 3_000;
const LOAD = fileURLToPath(new URL("gateway-load-process.mjs", import.meta.url));
const running = new Set();

process.on("exit", () => {
  for (const gateway of running) gateway.kill();
});
for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => process.exit(1));

/** The process that makes the calls: `ask("connect", {name, url, era})`, then `measure`, `run`, `abandon` by that name. */
export function startLoad() {
  return startAsked(LOAD);
}

/** Rejects when it cannot be started; `connect(url)` is tried until the gateway answers. */
export async function startGateway(
  { start, path = "/mcp", readyPath, opened = async () => {} },
  upstreams,
  connect,
  execArgv = [],
) {
  const folder = mkdtempSync(join(tmpdir(), "portolan-bench-"));
  const port = await findPort();
  const { node, args } = await start({ port, folder, upstreams });
  const gateway = startProcess({ node, args, folder, execArgv });
  const origin = `http://127.0.0.1:${port}`;
  try {
    if (readyPath) await retry(gateway, () => expectOk(origin + readyPath));
    await retry(gateway, () => connect(origin + path));
    await opened({ origin, folder });
  } catch (error) {
    const words = gateway.isOver() && gateway.lastWords();
    await gateway.stop();
    throw new Error(words || firstLine(error.message), { cause: error });
  }
  return gateway;
}

/** Starts Node with these arguments, in a session of its own like the echo servers, and with `folder` as its home. */
export function startProcess({ node = process.execPath, args, folder, keepsFolder = false, execArgv = [] }) {
  const child = spawn(node, [...execArgv, ...args], {
    cwd: folder,
    env: { PATH: process.env.PATH, HOME: folder, PORTOLAN_SANDBOX: process.env.PORTOLAN_SANDBOX },
    stdio: ["ignore", "ignore", "pipe"],
    detached: true,
  });
  let lastWords = "";
  child.stderr.setEncoding("utf8").on("data", (text) => (lastWords = (lastWords + text).slice(-2000)));
  child.on("error", (error) => (lastWords = error.message));
  const gateway = {
    ...manage(child, folder, keepsFolder),
    lastWords: () => lastWords && firstLine(lastWords),
  };
  running.add(gateway);
  return gateway;
}

function manage(child, folder, keepsFolder) {
  const isOver = () => child.exitCode !== null || child.signalCode !== null || child.pid === undefined;
  return {
    pid: child.pid,
    isOver,
    /** All of its processes together; `{cpuMs, rssMb}` are undefined where the system does not tell. */
    read() {
      const pids = listGatewayProcesses(child.pid);
      return { cpuMs: readCpuMs(pids), rssMb: readRssMb(pids) };
    },
    countServers: () => countServers(child.pid),
    async stop() {
      // Some start a detached process that would outlive them: taken down by its id, as long as it can be found.
      const tree = isOver() ? [] : listTree(child.pid);
      if (!isOver()) {
        child.kill("SIGTERM");
        await Promise.race([once(child, "exit"), sleep(POLITE_MS)]);
      }
      this.kill(tree);
    },
    kill(tree = isOver() ? [] : listTree(child.pid)) {
      running.delete(this);
      for (const pid of tree) end(pid);
      if (!keepsFolder) rmSync(folder, { recursive: true, force: true, maxRetries: 3 });
    },
  };
}

function end(pid) {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // It has ended already.
  }
}

async function retry(gateway, attempt) {
  const giveUp = performance.now() + PATIENCE_MS;
  for (;;) {
    try {
      return await attempt();
    } catch (error) {
      if (gateway.isOver() || performance.now() > giveUp) throw error;
    }
    await sleep(100);
  }
}

async function expectOk(url) {
  const { statusCode, body } = await request(url);
  await body.dump();
  if (statusCode !== 200) throw new Error(`${new URL(url).pathname} answers HTTP ${statusCode}`);
}

export async function findPort() {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address();
  server.close();
  await once(server, "close");
  return port;
}

/** The line of its last words that says most; a command may have said it in JSON. */
function firstLine(text) {
  const message = /"message":\s*"([^"]*)"/.exec(text)?.[1];
  if (message) return message;
  const lines = text.split("\n").filter((line) => line.trim() !== "");
  return (lines.find((line) => /error/i.test(line)) ?? lines[0] ?? "it ended without a word").trim();
}
