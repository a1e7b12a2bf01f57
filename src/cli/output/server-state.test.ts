// The line about one server after a restart or a reload.

import { expect, test } from "vitest";
import type { ServerHealth } from "../../hub/index.ts";
import { createColors } from "../terminal/colors.ts";
import { nextCommand, serverLine } from "./server-state.ts";

const HEALTH: ServerHealth = {
  ...{ alias: "files", state: "ready", since: "2026-11-17T09:21:14.302Z", transport: "stdio", restarts: 0 },
  origin: { file: "/w/portolan.yaml", line: 1, column: 1, format: "workspace" },
  tools: 3,
};

test.each([
  [HEALTH, "files ready: 3 tools", undefined],
  [
    { ...HEALTH, tools: 0, withheld: 17 },
    "files ready: 0 tools, 17 withheld",
    "See the withheld tools: portolan pins diff files",
  ],
  [
    { ...HEALTH, state: "failed", error: { code: "TIMEOUT", message: "too slow", hint: "" } },
    "files failed: too slow [TIMEOUT]",
    "More about this error: portolan why files",
  ],
] satisfies [ServerHealth, string, string | undefined][])(
  "serverLine and nextCommand describe the server of case %#",
  (health, line, next) => {
    expect(serverLine(health, createColors(false))).toBe(line);
    expect(nextCommand(health)).toBe(next);
  },
);
