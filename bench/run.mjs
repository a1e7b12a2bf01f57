// The benchmarks: `node bench/run.mjs scorecard|client|leak|start|hub|gateway|mcpfile|sandbox|contracts|registry|console|scale [options]`. README.md says what they measure.

import { parseArgs } from "node:util";

const USAGE = `Usage: npm run bench -- scorecard|client|leak|start|hub|gateway|mcpfile|sandbox|contracts|registry|console|scale [options]

scorecard  every goal of the project in one table: limit, rivals, ours (under ten minutes on a quiet machine)
  --quick              fewer and shorter rounds
  --only starts,calls,memory,client,contracts,sandbox
  --node24             under Node 24 instead of the Node that runs this
client   calls per second, latency and CPU per call, against the bare loop and the SDK clients
  --quick              a first look: 32 bytes, 16 in flight, short rounds
  --rounds N           rounds over all clients (7)
  --duration MS        length of one measurement (200)
  --in-flight 1,16,64  calls in flight
  --payload small,large
leak     what a client still holds after many calls
  --calls N            calls per client (100000)
start    what importing and one-shot use cost
  --rounds N           fresh processes per row (15)
hub      how long 50 servers take to be ready together
  --rounds N           fresh processes per row (5)
gateway  calls through the gateway, against a bare relay, direct calls and other gateways
  --quick, --rounds N (5), --duration MS (250), --in-flight, --payload   as for client
  --pins               also a gateway whose tools are compared with a lock file
  --observe            also a gateway with metrics and the audit log
  --calls N            instead: what it holds after N calls and 10,000 abandoned sessions (try 100000)
mcpfile  HTTP and CLI tools of a mcpfile, against the same done directly
  --quick, --rounds N (9), --duration MS (400)   as for client
sandbox  what the box adds to a start and to a call
  --rounds N (25)
contracts  what a contract costs over a bridged tool
  --quick, --rounds N (15)
registry  searches in a registry of 10,000 packages, and reading its index
  --quick, --rounds N (100)
console  what the page of the console costs a browser: 50 servers, 1,000 tools, 500 calls a second
  --quick, --rounds N (5), --duration MS (5000)

scale    one gateway with many servers, tools, clients and sessions
  --quick, --rounds N (7)

For all:
  --only stdio|http    one transport (client, leak), one kind of upstream (gateway);
                       --only http|cli|node for one kind of tool (mcpfile)
  --client TEXT        only those whose name contains TEXT, beside the limit (client, leak, gateway)
  --json               figures as JSON`;

const BENCHMARKS = {
  scorecard: async (options) => (await import("./lib/scorecard/scorecard-bench.mjs")).runScorecard(options),
  console: async (options) => (await import("./lib/console-bench.mjs")).runConsoleBench(options),
  contracts: async (options) => (await import("./lib/contracts-bench.mjs")).runContractsBench(options),
  client: async (options) => (await import("./lib/client-bench.mjs")).runClientBench(options),
  leak: async (options) => (await import("./lib/leak-bench.mjs")).runLeakBench(options),
  gateway: async (options) => (await import("./lib/gateway-bench.mjs")).runGatewayBench(options),
  hub: async (options) => (await import("./lib/hub-bench.mjs")).runHubBench(options),
  mcpfile: async (options) => (await import("./lib/mcpfile-bench.mjs")).runMcpfileBench(options),
  registry: async (options) => (await import("./lib/registry-bench.mjs")).runRegistryBench(options),
  sandbox: async (options) => (await import("./lib/sandbox-bench.mjs")).runSandboxBench(options),
  scale: async (options) => (await import("./lib/scale-bench.mjs")).runScaleBench(options),
  start: async (options) => (await import("./lib/start-bench.mjs")).runStartBench(options),
};

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: {
    quick: { type: "boolean" },
    json: { type: "boolean" },
    pins: { type: "boolean" },
    observe: { type: "boolean" },
    node24: { type: "boolean" },
    only: { type: "string" },
    client: { type: "string" },
    rounds: { type: "string" },
    duration: { type: "string" },
    calls: { type: "string" },
    "in-flight": { type: "string" },
    payload: { type: "string" },
    help: { type: "boolean" },
  },
});

const benchmark = BENCHMARKS[positionals[0]];
if (!benchmark || values.help) {
  console.log(USAGE);
  process.exitCode = values.help ? 0 : 2;
} else {
  // Rivals have no box; ours is measured by itself.
  if (positionals[0] !== "sandbox") process.env.PORTOLAN_SANDBOX ??= "off";
  const { rounds, duration, calls, "in-flight": inFlight, payload, ...rest } = values;
  await benchmark({
    ...rest,
    rounds: rounds && Number(rounds),
    durationMs: duration && Number(duration),
    calls: calls && Number(calls),
    inFlight: inFlight?.split(",").map(Number),
    payloads: payload?.split(","),
  });
}
