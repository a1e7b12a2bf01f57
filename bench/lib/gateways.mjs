// The gateways that take part: how each is started, where it listens, and what it cannot do.

import { execFile } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { installOnce } from "../../scripts/lib/install-once.mjs";
import { findNode24 } from "../../scripts/lib/node24.mjs";

const RIVALS = {
  "@modelcontextprotocol/client": "2.4.0",
  "@modelcontextprotocol/node": "2.1.2",
  "@modelcontextprotocol/server": "2.4.0",
  "mcp-hub": "4.2.1",
  "mcp-proxy": "6.7.19",
  mcporter: "0.12.3",
  supergateway: "4.0.0",
};

const run = promisify(execFile);
const RELAY = fileURLToPath(import.meta.resolve("../contestants/gateways/bare-relay.mjs"));
const SDK_BRIDGE = fileURLToPath(import.meta.resolve("../contestants/gateways/sdk-v2-bridge.mjs"));

const here = (path) => fileURLToPath(new URL(path, import.meta.url));
const PORTOLAN = here("../../dist/cli/main.js");

/** Where the gateways' calls go. All upstreams speak the legacy era, which every gateway understands. */
export const UPSTREAMS = [
  {
    id: "stdio",
    title: "HTTP client -> gateway -> stdio server",
    list: () => [
      { alias: "echo", command: process.execPath, args: [here("../servers/own-session.mjs"), "legacy"] },
    ],
  },
  {
    id: "http",
    title: "HTTP client -> gateway -> HTTP server",
    list: (port) => [{ alias: "echo", url: `http://127.0.0.1:${port}/legacy/json` }],
  },
];

/** One echo server and others with 20 tools each, which nobody calls. No two are alike: a gateway may share those that are. */
export function listIdleUpstreams(count) {
  const stdio = (alias, file) => ({ alias, command: process.execPath, args: [here(file), "legacy", alias] });
  const idle = Array.from({ length: count - 1 }, (_, index) => stdio(`idle${index}`, "../servers/tools.mjs"));
  return [stdio("echo", "../servers/stdio.mjs"), ...idle];
}

/**
 * `start({port, folder, upstreams})` returns or promises the arguments for Node (and another Node, where needed), `path` is that of
 * its MCP endpoint. `folder` is the gateway's own and also its home. `cannot` names upstreams and says why. `quick` rows take part
 * in a quick look, `many` rows are also started with many upstreams.
 */
const ROWS = [
  { name: "direct (no gateway)", role: "direct", era: "legacy", quick: true },
  {
    name: "bare relay (the limit)",
    role: "limit",
    era: "legacy",
    quick: true,
    many: true,
    start: ({ port, upstreams }) => ({ args: [RELAY, JSON.stringify({ port, upstreams })] }),
  },
  { name: "portolan, modern client", role: "ours", era: "modern", quick: true, many: true, ...portolan() },
  // Takes part with --pins, so that the comparison with the lock file can be measured in one run.
  {
    name: "portolan with pins, modern client",
    role: "pinned",
    era: "modern",
    quick: true,
    ...portolan({ isPinned: true }),
  },
  // Take part with --observe: what metrics and the audit log cost, without and with an open console.
  {
    name: "portolan observed, modern client",
    role: "observed",
    era: "modern",
    quick: true,
    ...portolan({ isObserved: true }),
  },
  {
    name: "portolan observed and console open, modern client",
    role: "observed",
    era: "modern",
    quick: true,
    opened: watchConsole,
    ...portolan({ isObserved: true }),
  },
  { name: "portolan, legacy client", role: "ours", era: "legacy", quick: true, ...portolan() },
  {
    name: "mcp-hub",
    role: "rival",
    era: "legacy",
    wire: "sse", // the only transport it offers to clients
    quick: true,
    many: true,
    start: ({ port, folder, upstreams }) => {
      const config = writeJson(folder, "hub.json", { mcpServers: asServers(upstreams) });
      return { args: [bin("mcp-hub/dist/cli.js"), "--port", `${port}`, "--config", config] };
    },
  },
  { name: "SDK v2 bridge, modern client", role: "rival", era: "modern", quick: true, ...sdkBridge() },
  { name: "SDK v2 bridge, legacy client", role: "rival", era: "legacy", many: true, ...sdkBridge() },
  { name: "mcp-proxy, modern client", role: "rival", era: "modern", ...mcpProxy() },
  { name: "mcp-proxy, legacy client", role: "rival", era: "legacy", ...mcpProxy() },
  {
    name: "supergateway",
    role: "rival",
    era: "legacy", // for a modern request it starts a process
    cannot: { http: "it offers an HTTP upstream only on stdio" },
    start: ({ port, upstreams: [{ command, args }] }) => ({
      args: [
        bin("supergateway/dist/index.js"),
        ...["--stdio", [command, ...args].map((word) => JSON.stringify(word)).join(" ")],
        ...["--outputTransport", "streamableHttp", "--stateful", "--port", `${port}`, "--logLevel", "none"],
      ],
    }),
  },
  {
    name: "mcporter serve",
    role: "rival",
    era: "legacy",
    many: true,
    path: "/mcp/echo",
    start: ({ port, folder, upstreams }) => {
      const config = writeJson(folder, "mcporter.json", {
        mcpServers: asServers(upstreams, { lifecycle: "keep-alive" }),
        imports: [],
      });
      return {
        node: onStderr(findNode24),
        args: [bin("mcporter/dist/cli.js"), "--config", config, "serve", "--http", `${port}`],
      };
    },
  },
];

/** The rows for an upstream transport; `filter` keeps the direct calls, the limit, and the names that contain it. */
export function listGateways({ filter = "", quick = false, pins = false, observe = false }) {
  const asked = ({ name, role }) =>
    role === "direct" || role === "limit" || name.toLowerCase().includes(filter.toLowerCase());
  // With a filter, even a quick look has whoever was asked for.
  return ROWS.filter(
    (row) =>
      (pins || row.role !== "pinned") &&
      (observe || row.role !== "observed") &&
      asked(row) &&
      (!quick || filter !== "" || row.quick),
  );
}

function portolan({ isPinned = false, isObserved = false } = {}) {
  return {
    readyPath: "/readyz",
    start: async ({ port, folder, upstreams }) => {
      const workspace = join(folder, "workspace");
      mkdirSync(workspace, { recursive: true });
      // JSON is YAML. With several upstreams the same tools occur several times.
      writeJson(workspace, "portolan.yaml", {
        version: 1,
        naming: upstreams.length === 1 ? "{tool}" : "{alias}_{tool}",
        defaults: { start: "eager" },
        gateway: { max_result_bytes: 0 },
        servers: asServers(upstreams),
        ...(isObserved ? { telemetry: { prometheus: true }, audit: { folder: "audit" } } : {}),
      });
      const aliases = upstreams.map(({ alias }) => alias);
      if (isPinned) await run(process.execPath, [PORTOLAN, "pin", ...aliases, "-w", workspace]);
      return { args: [PORTOLAN, "serve", workspace, "--port", `${port}`, "--no-auth"] };
    },
  };
}

/** Signs in to the console, as its page does, and reads its event stream until the gateway ends. */
async function watchConsole({ origin, folder }) {
  const env = { PATH: process.env.PATH, HOME: folder };
  const { stdout } = await run(process.execPath, [PORTOLAN, "console", "-w", join(folder, "workspace")], {
    env,
  });
  const [, code] = /#code=([\w-]+)/.exec(stdout) ?? [];
  const headers = { origin, "sec-fetch-site": "same-origin", "content-type": "application/json" };
  const signIn = await fetch(`${origin}/console/api/sign-in`, {
    method: "POST",
    headers,
    body: JSON.stringify({ code }),
  });
  const [cookie] = signIn.headers.getSetCookie();
  const stream = await fetch(`${origin}/console/api/stream`, { headers: { ...headers, cookie } });
  if (!stream.ok) throw new Error(`the console refused the stream: HTTP ${stream.status}`);
  void stream.body.pipeTo(new WritableStream()).catch(() => {});
}

function sdkBridge() {
  return {
    start: ({ port, upstreams }) => ({
      args: [SDK_BRIDGE, JSON.stringify({ port, upstreams, modules: installRivals() })],
    }),
  };
}

function mcpProxy() {
  return {
    cannot: { http: "it only fronts stdio servers" },
    start: ({ port, upstreams: [{ command, args }] }) => ({
      args: [
        bin("mcp-proxy/dist/bin/mcp-proxy.mjs"),
        ...["--server", "stream", "--host", "127.0.0.1", "--port", `${port}`, "--", command, ...args],
      ],
    }),
  };
}

function asServers(upstreams, more = {}) {
  return Object.fromEntries(upstreams.map(({ alias, ...server }) => [alias, { ...server, ...more }]));
}

function writeJson(folder, name, value) {
  const file = join(folder, name);
  writeFileSync(file, JSON.stringify(value, null, 2));
  return file;
}

/** The arguments and options of a Node process that makes one call with mcporter, to a server that it starts for it. */
export function onceWithMcporter(command) {
  const args = ["call", "--stdio", command, "echo", "text=once"];
  return [[bin("mcporter/dist/cli.js"), ...args], { node: onStderr(findNode24) }];
}

function bin(path) {
  return join(installRivals(), path);
}

function installRivals() {
  return onStderr(() => installOnce("bench-gateways", RIVALS, { anyNode: true }));
}

/** Installing says so; with `--json`, stdout is for the figures alone. */
function onStderr(work) {
  const print = console.log;
  console.log = console.error;
  try {
    return work();
  } finally {
    console.log = print;
  }
}
