// Servers under test for the server half of the suite: the fixture of test/conformance, alone or behind the gateway, or the gateway with an mcpfile.

import { spawn } from "node:child_process";
import { createWriteStream, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { root } from "./install-once.mjs";

const FIXTURE = fileURLToPath(new URL("../../test/conformance/server.mjs", import.meta.url));
const MCPFILE = fileURLToPath(new URL("../../test/conformance/mcpfile.yaml", import.meta.url));
const BACKEND = fileURLToPath(new URL("../../test/conformance/mcpfile-backend.mjs", import.meta.url));
const READY_MS = 30_000;
const STOP_MS = 10_000;

const fixtureArgs = (era, transport) => [FIXTURE, "--era", era, "--transport", transport];

/** The fixture over HTTP: `{ url, stop }`. */
export function startFixture(era, logFile) {
  return startServer("The fixture", fixtureArgs(era, "http"), logFile);
}

/** The gateway with the fixture as its only server, under the fixture's own names: `{ url, stop }`. */
export function startGateway(era, transport, logFolder) {
  return startWorkspace(logFolder, async (cleanUp) => {
    let server = { command: process.execPath, args: fixtureArgs(era, "stdio") };
    if (transport === "http") {
      const fixture = await startFixture(era, join(logFolder, "fixture.log"));
      cleanUp.push(() => fixture.stop());
      server = { url: fixture.url };
    }
    return { declaration: { servers: { fixture: { ...server, start: "eager" } } } };
  });
}

/** The gateway with the mcpfile of test/conformance and the HTTP server that its tools call: `{ url, stop }`. */
export function startMcpfileGateway(logFolder) {
  return startWorkspace(logFolder, async (cleanUp) => {
    const backend = await startServer("The backend", [BACKEND], join(logFolder, "backend.log"));
    cleanUp.push(() => backend.stop());
    return {
      declaration: { sources: [MCPFILE] },
      env: { CONFORMANCE_BACKEND: backend.url },
    };
  });
}

/** A program that says where it listens. */
async function startServer(name, args, logFile) {
  const server = start(name, args, { logFile });
  const url = await server.waitFor(() => /^listening on (\S+)$/m.exec(server.output())?.[1]);
  return { url, stop: () => server.stop() };
}

/** `prepare` starts what the workspace needs, and gives what it declares and the environment of the gateway. */
async function startWorkspace(logFolder, prepare) {
  const home = mkdtempSync(join(tmpdir(), "portolan-conformance-"));
  const cleanUp = [async () => rmSync(home, { recursive: true, force: true })];
  const stop = async () => {
    const problems = [];
    for (const step of cleanUp.toReversed()) problems.push(await step());
    return problems.filter(Boolean);
  };
  try {
    const { declaration, env = {} } = await prepare(cleanUp);
    const workspace = join(home, "workspace");
    mkdirSync(workspace);
    const whole = { version: 1, naming: "{tool}", ...declaration };
    // JSON is YAML.
    writeFileSync(join(workspace, "portolan.yaml"), `${JSON.stringify(whole, null, 2)}\n`);

    const port = await findFreePort();
    const program = join(root, "dist", "cli", "main.js");
    const gateway = start("The gateway", [program, "serve", workspace, "--port", String(port), "--no-auth"], {
      logFile: join(logFolder, "gateway.log"),
      // Data of earlier runs, or of the user of this computer, must not influence the result.
      env: {
        // In a box where this machine can hold one.
        PORTOLAN_SANDBOX: "warn",
        XDG_CACHE_HOME: join(home, "cache"),
        XDG_DATA_HOME: join(home, "data"),
        XDG_CONFIG_HOME: join(home, "config"),
        ...env,
      },
    });
    cleanUp.push(() => gateway.stop());
    await gateway.waitFor(() => isReady(`http://127.0.0.1:${port}/readyz`));
    return { url: `http://127.0.0.1:${port}/mcp`, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function isReady(url) {
  try {
    return (await fetch(url, { signal: AbortSignal.timeout(5000) })).status === 200;
  } catch {
    return false;
  }
}

/** A node process whose words go to `logFile`. */
function start(name, args, { logFile, env = {} }) {
  const log = createWriteStream(logFile);
  const child = spawn(process.execPath, args, {
    cwd: root,
    env: { ...process.env, ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (text) => {
      log.write(text);
      // Only its first words are looked at.
      if (output.length < 100_000) output += text;
    });
  }
  const ended = new Promise((resolve) => {
    child.on("error", (error) => resolve(String(error)));
    child.on("close", (code, signal) => {
      log.end();
      resolve(signal ?? `exit code ${code}`);
    });
  });
  let end;
  void ended.then((how) => (end = how));

  return {
    output: () => output,
    async waitFor(condition) {
      for (const limit = Date.now() + READY_MS; Date.now() < limit; await delay(50)) {
        const found = await condition();
        if (found) return found;
        if (end !== undefined)
          throw new Error(`${name} ended before it was ready (${end}):\n${output.trim()}`);
      }
      throw new Error(`${name} was not ready within ${READY_MS / 1000} s:\n${output.trim()}`);
    },
    /** Returns what was wrong with how it ended, if anything. */
    async stop() {
      if (end !== undefined) return `${name} ended by itself: ${end}`;
      child.kill("SIGTERM");
      const timeout = new AbortController();
      const late = delay(STOP_MS, "late", { signal: timeout.signal }).catch(() => undefined);
      const how = await Promise.race([ended, late]);
      timeout.abort();
      if (how !== "late") return undefined;
      child.kill("SIGKILL");
      await ended;
      return `${name} did not end within ${STOP_MS / 1000} s after SIGTERM`;
    },
  };
}

function findFreePort() {
  return new Promise((resolve, reject) => {
    const probe = createServer();
    probe.once("error", reject);
    probe.listen(0, "127.0.0.1", () => {
      const { port } = probe.address();
      probe.close(() => resolve(port));
    });
  });
}
