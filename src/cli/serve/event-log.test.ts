// The log of a gateway: which events it shows, and with which level.

import { expect, it } from "vitest";
import type { HubEvent } from "../../hub/index.ts";
import type { Cli } from "../context.ts";
import { createColors } from "../terminal/colors.ts";
import { createServeEvents } from "./event-log.ts";
import { openServeLog } from "./log.ts";
import type { ServeOptions } from "./options.ts";

function setUp(logFormat: "json" | "text") {
  const lines: string[] = [];
  const output = { note: (line: string) => void lines.push(line), noteColors: createColors(false) };
  const cli = { io: { stderr: { isTTY: false } }, output, options: { verbose: false } } as unknown as Cli;
  const log = openServeLog(cli, { stdio: false, logFormat } as ServeOptions);
  return { lines, events: createServeEvents(log, cli, false) };
}

const time = "2026-01-02T03:04:05.000Z";
const compared = (more: Partial<HubEvent & { type: "mcp.pins_compared" }> = {}): HubEvent => ({
  ...{ type: "mcp.pins_compared", time, server: "files", mode: "enforce", changed: ["read"] },
  ...{ added: [], removed: [], withheld: 1, hint: "Review the differences: portolan pins diff files" },
  ...more,
});
const same = compared({ changed: [], withheld: 0, hint: undefined });

it("withheld tools are logged as a warning with the review command, also at the start", () => {
  const { lines, events } = setUp("json");
  events.record(compared({ server: "approved" }));
  events.record({ ...same, server: "approved" });
  events.record(compared());
  expect(lines).toEqual([]);
  events.begin([]);
  events.record(compared({ mode: "warn", withheld: 0 }));
  events.record(same);
  expect(lines.map((line) => JSON.parse(line) as object)).toMatchObject([
    {
      level: "warning",
      server: "files",
      withheld: 1,
      hint: "Review the differences: portolan pins diff files",
    },
    { level: "warning", mode: "warn" },
    { level: "info" },
  ]);
  const text = setUp("text");
  text.events.begin([]);
  text.events.record(compared());
  text.events.record(same);
  expect(text.lines.map((line) => line.slice(20))).toEqual([
    "files pins compared ~read (1 tool withheld). Review the differences: portolan pins diff files",
    "files pins compared: all tool definitions are approved",
  ]);
});

it("calls that a budget or the loop breaker stopped are logged as warnings", () => {
  const { lines, events } = setUp("json");
  events.begin([]);
  const call = { time, server: "files", tool: "read", caller: "agent", until: time };
  events.record({
    ...{ type: "gateway.budget_exceeded", ...call, budget: "day", kind: "calls" },
    ...{ used: 2, amount: 2, periodMs: 1_000 },
  });
  events.record({ type: "gateway.loop_stopped", ...call, calls: 3, withinMs: 1_000 });
  expect(lines.map((line) => (JSON.parse(line) as { level: string }).level)).toEqual(["warning", "warning"]);
});
