// How what happens to a server's sandbox reads.

import { expect, test } from "vitest";
import type { HubEvent } from "../hub/index.ts";
import { createColors } from "./colors.ts";
import { describeEvent } from "./describe-event.ts";
import { createServeEvents } from "./serve-events.ts";

const time = new Date(2026, 0, 2, 3, 4, 5).toISOString();
const denied = (host: string): HubEvent => ({
  type: "mcp.sandbox_denied",
  time,
  server: "a",
  host,
  port: 443,
  reason: "not on its list",
});
const relaxed = (server: string, by: string, missing: string[] = []): HubEvent => ({
  type: "mcp.sandbox_relaxed",
  time,
  server,
  mode: "warn",
  by,
  missing,
});

test("one line each", () => {
  const colors = createColors(false);
  expect(describeEvent(denied("x.com"), colors)).toBe("03:04:05 a sandbox denied x.com:443 not on its list");
  expect(describeEvent(relaxed("a", "declaration", ["network: x", "limits"]), colors)).toBe(
    "03:04:05 a sandbox relaxed to warn (declaration); not held: network: x, limits",
  );
});

function serve(troubleOnly: boolean) {
  const notes: string[] = [];
  const output = { note: (text: string) => notes.push(text), noteColors: createColors(false) };
  const cli = { output, options: { verbose: false } } as unknown as Parameters<typeof createServeEvents>[0];
  return { notes, events: createServeEvents(cli, troubleOnly) };
}

test("a gateway says at its start what is relaxed, and each denial once", () => {
  const { notes, events } = serve(false);
  for (const event of [
    relaxed("a", "declaration"),
    relaxed("b", "PORTOLAN_SANDBOX"),
    relaxed("a", "declaration"),
  ])
    events.heard(event);
  events.begin([]);
  expect(notes).toEqual([
    "PORTOLAN_SANDBOX is warn: what cannot be held is only said for b.",
    "03:04:05 a sandbox relaxed to warn (declaration)",
  ]);
  for (const event of [denied("x.com"), denied("x.com"), denied("y.com"), relaxed("a", "declaration")])
    events.heard(event);
  expect(notes.slice(2).map((line) => line.slice(9))).toEqual([
    "a sandbox denied x.com:443 not on its list",
    "a sandbox denied y.com:443 not on its list",
  ]);
});

test("on stdio only what went wrong is said", () => {
  const { notes, events } = serve(true);
  events.heard(relaxed("a", "declaration"));
  events.begin([]);
  events.heard(denied("x.com"));
  expect(notes).toEqual(["03:04:05 a sandbox denied x.com:443 not on its list"]);
});
