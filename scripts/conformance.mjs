// Runs the official MCP conformance suite at both protocol revisions: its servers against test/conformance/client.mjs,
// and its clients against the gateway in front of test/conformance/server.mjs, and with test/conformance/mcpfile.yaml.
//
//   node scripts/conformance.mjs [--client] [--server] [--set 2026-07-28] [--scenario tools_call]
//                                [--upstream modern|legacy|mcpfile] [--transport stdio|http] [--direct]
//
// --client and --server run only that half; --upstream and --transport narrow the server half to what stands behind the
// gateway and how it is reached; --direct tests the fixture itself, without a gateway.
//
// Exit code 1: a required scenario failed or did not run. Failing optional scenarios are always printed.

import { parseArgs } from "node:util";
import { runClient } from "./lib/conformance-client.mjs";
import { runMcpfile } from "./lib/conformance-mcpfile.mjs";
import { ERAS, runServer, TRANSPORTS } from "./lib/conformance-server.mjs";
import { readAll, SETS } from "./lib/conformance-suite.mjs";

const { values: options } = parseArgs({
  options: {
    client: { type: "boolean" },
    server: { type: "boolean" },
    direct: { type: "boolean" },
    set: { type: "string" },
    scenario: { type: "string" },
    upstream: { type: "string" },
    transport: { type: "string" },
  },
});

const sets = choose("set", SETS);
const upstreams = choose("upstream", [...ERAS, "mcpfile"]);
const eras = upstreams.filter((upstream) => ERAS.includes(upstream));
const transports = choose("transport", TRANSPORTS);
const { scenario: only, direct = false } = options;

const broken = [];
if (wants("client")) broken.push(...(await runClient(sets, only)));
if (wants("server") && eras.length > 0)
  broken.push(...(await runServer({ sets, eras, transports, only, direct })));
// A mcpfile is reached in one way only.
const withMcpfile =
  wants("server") && upstreams.includes("mcpfile") && !direct && options.transport === undefined;
if (withMcpfile) broken.push(...(await runMcpfile(sets, only)));

if (broken.length > 0) {
  console.log("\nConformance: failed");
  for (const line of broken) console.log(`  ${line}`);
  process.exitCode = 1;
} else {
  const apart = withMcpfile ? ", apart from what a mcpfile cannot express, listed above" : "";
  console.log(`\nConformance: every required scenario passes${apart}.`);
}

function choose(option, known) {
  const value = options[option];
  if (value === undefined) return known;
  if (known.includes(value)) return [value];
  console.error(`Unknown ${option} "${value}". There are ${known.join(" and ")}.`);
  process.exit(2);
}

/** Both halves, unless one is named, by its option, by an option that only it has, or by a scenario that only it has. */
function wants(half) {
  if (options.client || options.server) return options[half] === true;
  if (direct || options.upstream !== undefined || options.transport !== undefined) return half === "server";
  if (only === undefined) return true;
  const isOfServer = SETS.some((set) => readAll(set, "server").has(only));
  return isOfServer === (half === "server");
}
