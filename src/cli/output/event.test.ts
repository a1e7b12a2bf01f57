// The text of sandbox events, and the event log of a gateway.

import { expect, test } from "vitest";
import { ERROR_CODES } from "../../errors/index.ts";
import type { HubEvent } from "../../hub/index.ts";
import { createServeEvents } from "../serve/event-log.ts";
import { createColors } from "../terminal/colors.ts";
import { describeEvent } from "./event.ts";

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

test("describeEvent writes each sandbox event as one line", () => {
  const colors = createColors(false);
  expect(describeEvent(denied("x.com"), colors)).toBe(
    "2026-01-02 03:04:05 a sandbox denied x.com:443 not on its list",
  );
  const unreachable = { ...denied("x.com"), kind: "unreachable", reason: "is granted, but no" } as HubEvent;
  expect(describeEvent(unreachable, colors)).toBe(
    "2026-01-02 03:04:05 a host unreachable x.com:443 is granted, but no",
  );
  expect(describeEvent(relaxed("a", "config", ["network: x", "limits"]), colors)).toBe(
    "2026-01-02 03:04:05 a sandbox relaxed to warn (config); not enforced: network: x, limits",
  );
});

test.each([
  [["terminal", "console"], "Decide: portolan approve k7m2xq4p"],
  [["console"], "To approve: in the console (portolan console). To deny: portolan approve k7m2xq4p --deny"],
  [["caller"], "To approve: in the client that sent the call. To deny: portolan approve k7m2xq4p --deny"],
] as const)("an approval request for %s contains the command or place to decide", (ways, next) => {
  const event: HubEvent = {
    ...{ type: "gateway.approval_requested", time, server: "a", tool: "give", caller: "dev" },
    ...{ id: "k7m2xq4p", rule: "gateway.approval[0]", ways },
  };
  expect(describeEvent(event, createColors(false))).toContain(`give for dev. ${next}`);
});

test("a failed server is shown with its own hint, without the usual hint of the error code", () => {
  const failed = (code: "SECRET_STORE_FAILED" | "SERVER_CRASHED", hint: string): HubEvent => ({
    ...{ type: "mcp.server_failed", time, server: "a", code, reason: "it ended", hint },
  });
  const shown = (event: HubEvent): string => describeEvent(event, createColors(false)).slice(20);
  expect(shown(failed("SECRET_STORE_FAILED", "Unlock it: portolan secrets unlock"))).toBe(
    "a failed it ended [SECRET_STORE_FAILED] Unlock it: portolan secrets unlock",
  );
  const usual = ERROR_CODES.SERVER_CRASHED.hint;
  expect(shown(failed("SERVER_CRASHED", usual))).toBe("a failed it ended [SERVER_CRASHED]");
  expect(shown(failed("SERVER_CRASHED", `${usual} Grant it.`))).toBe(
    "a failed it ended [SERVER_CRASHED] Grant it.",
  );
});

test("a reload event names the changed servers and the failures", () => {
  const event: HubEvent = {
    ...{ type: "mcp.config_reloaded", time, server: "workspace" },
    ...{ added: ["b"], changed: ["a"], removed: ["c"] },
    failed: [{ server: "b", reason: "no such program" }],
    problems: ["portolan.yaml: no such field"],
  };
  expect(describeEvent(event, createColors(false))).toBe(
    "2026-01-02 03:04:05 workspace config reloaded +b ~a -c; b failed: no such program; portolan.yaml: no such field",
  );
});

const installing = (reason: string, bytes?: { received: number; total?: number }): HubEvent => ({
  type: "mcp.server_installing",
  time,
  server: "a",
  reason,
  ...(bytes === undefined ? {} : { bytes }),
});

test("an installation event names the download and its progress", () => {
  const shown = (event: HubEvent): string => describeEvent(event, createColors(false)).slice(20);
  expect(shown(installing("installing x@^1"))).toBe("a installing x@^1");
  expect(shown(installing("downloading h/f", { received: 3_140_000, total: 12_400_000 }))).toBe(
    "a downloading h/f: 3.1 of 12.4 MB",
  );
  expect(shown(installing("downloading h/f", { received: 3_140_000 }))).toBe("a downloading h/f: 3.1 MB");
});

test("a gateway reports the start and the end of a download, also before it listens", () => {
  const downloads = [
    installing("downloading f"),
    installing("downloading f", { received: 1 }),
    installing("downloaded f"),
  ];
  const { notes, events } = serve(false);
  for (const event of downloads) events.record(event);
  expect(notes.map((line) => line.slice(20))).toEqual(["a downloading f", "a downloaded f"]);
  events.begin([]);
  for (const event of downloads) events.record(event);
  expect(notes).toHaveLength(4);
  const quiet = serve(true);
  for (const event of downloads) quiet.events.record(event);
  expect(quiet.notes).toEqual([]);
});

function serve(troubleOnly: boolean) {
  const notes: string[] = [];
  const output = { note: (text: string) => notes.push(text), noteColors: createColors(false) };
  const cli = { output, options: { verbose: false } } as unknown as Parameters<typeof createServeEvents>[1];
  const event = (one: HubEvent): void => void notes.push(describeEvent(one, createColors(false)));
  const note = (text: string): void => void notes.push(text);
  return { notes, events: createServeEvents({ event, note }, cli, troubleOnly) };
}

test("a gateway reports relaxed sandboxes at its start, and each denial once", () => {
  const { notes, events } = serve(false);
  const a = relaxed("a", "config", ["limits"]);
  const enforced = relaxed("c", "config");
  for (const event of [a, relaxed("b", "PORTOLAN_SANDBOX"), a, enforced]) events.record(event);
  events.begin([]);
  expect(notes).toEqual([
    "PORTOLAN_SANDBOX is warn, so these servers start even if sandbox rules cannot be enforced: b.",
    "2026-01-02 03:04:05 a sandbox relaxed to warn (config); not enforced: limits",
  ]);
  for (const event of [denied("x.com"), denied("x.com"), denied("y.com"), a]) events.record(event);
  expect(notes.slice(2).map((line) => line.slice(20))).toEqual([
    "a sandbox denied x.com:443 not on its list",
    "a sandbox denied y.com:443 not on its list",
  ]);
});

test("on stdio, a gateway reports denials, but not relaxed sandboxes", () => {
  const { notes, events } = serve(true);
  events.record(relaxed("a", "config", ["limits"]));
  events.begin([]);
  events.record(denied("x.com"));
  expect(notes).toEqual(["2026-01-02 03:04:05 a sandbox denied x.com:443 not on its list"]);
});
