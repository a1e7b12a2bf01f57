// The line below the table of servers: how many are up, and how many tools are withheld.

import { expect, it } from "vitest";
import type { ServerHealth } from "../../hub/index.ts";
import { summarize } from "./server-table.ts";

const server = (alias: string, more: Partial<ServerHealth> = {}): ServerHealth => ({
  alias,
  state: "ready",
  since: "2026-01-02T03:04:05.000Z",
  origin: { format: "workspace", file: "/w/portolan.yaml", line: 1, column: 1 },
  transport: "stdio",
  tools: 3,
  restarts: 0,
  ...more,
});
const unpinned = {
  mode: "enforce",
  problem: { kind: "unpinned", message: "", hint: "" },
  ...{ differences: [], removed: [] },
} as const;

it.each<[string, ServerHealth[]]>([
  ["The server is up.", [server("a")]],
  [
    "The server is up. 1 tool is withheld (not offered). Review: portolan pins diff a",
    [server("a", { withheld: 1 })],
  ],
  ["0 of 1 server is up. See why: portolan why a", [server("a", { state: "blocked" })]],
  [
    "All 2 servers are up. 3 tools are withheld (not offered). Review: portolan pins",
    [server("a", { withheld: 1 }), server("b", { withheld: 2 })],
  ],
  [
    "1 of 2 servers are up. See why: portolan why b. 2 tools are withheld (not offered). Review: portolan pin a",
    [server("a", { withheld: 2, pins: unpinned }), server("b", { state: "failed" })],
  ],
])("%s", (line, servers) => {
  expect(summarize(servers)).toBe(line);
});
