// Table of servers with running installations, and its summary line: servers that are up, and withheld tools.

import { expect, it } from "vitest";
import type { ServerHealth } from "../../hub/index.ts";
import { createColors } from "../terminal/colors.ts";
import { describeStatus, summarize } from "./server-table.ts";

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
const FAILED = { change: "config", code: "SERVER_START_FAILED", message: "it failed", hint: "" } as const;
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
  [
    "All 2 servers are up. 1 server runs with an earlier configuration, process or secret. See why: portolan why b. 1 tool is withheld (not offered). Review: portolan pins diff a",
    [server("a", { withheld: 1 }), server("b", { failedReplacement: FAILED })],
  ],
  ["0 of 1 server is up. See why: portolan why a", [server("a", { state: "blocked" })]],
  ["0 of 1 server is up.", [server("a", { error: { code: "TIMEOUT", message: "no answer", hint: "" } })]],
  [
    "All 2 servers are up. 3 tools are withheld (not offered). Review: portolan pins",
    [server("a", { withheld: 1 }), server("b", { withheld: 2 })],
  ],
  [
    "1 of 2 servers are up. See why: portolan why b. 2 tools are withheld (not offered). Review: portolan pin a",
    [server("a", { withheld: 2, pins: unpinned }), server("b", { state: "failed" })],
  ],
])("the summary line is: %s", (line, servers) => {
  expect(summarize(servers)).toBe(line);
});

it("status says that Portolan starts a failed server again", () => {
  const view = { colors: createColors(false), width: undefined, now: 0, label: (file: string) => file };
  const error = { code: "SERVER_START_FAILED", message: "no such program", hint: "" } as const;
  const shown = describeStatus([server("a", { state: "failed", retrying: true, error })], view);
  expect(shown).toContain("    Portolan is trying to start the server again.");
  const later = describeStatus([server("a", { state: "failed", error })], view);
  expect(later).not.toContain("again");
});

it("status says what Portolan installs for a server, and since when", () => {
  const installing = { what: "installing weather@^2", since: "2026-01-02T03:04:05.000Z" };
  const now = Date.parse(installing.since) + 200_000;
  const shown = (more: Partial<ServerHealth>): string =>
    describeStatus([server("a", { state: "starting", ...more })], {
      ...{ colors: createColors(false), width: undefined, now, label: (file: string) => file },
    });
  expect(shown({ installing })).toContain(
    "The server is not ready yet: installing weather@^2 (began 3m ago). This can take minutes. Run portolan status again.",
  );
  expect(shown({})).toContain("    The server is not ready yet. Run portolan status again.");
});
