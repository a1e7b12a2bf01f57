// Settings that apply without a restart, and events about refused requests.

import { expect, test } from "vitest";
import { EventBus, type HubEvent } from "../hub/index.ts";
import { createRefusalEvents } from "./access/refusal-events.ts";
import { badToken } from "./access/refusals.ts";
import { createLiveSettings, withoutRestart } from "./settings.ts";

test("a change of the address needs a restart; the other settings apply at once", () => {
  const old = { host: "127.0.0.1", port: 7420, pageSize: 10, callers: [{ name: "a", token: "x" }] };
  const next = { host: "0.0.0.0", port: 7420, maxResultBytes: 5, callers: [{ name: "b", token: "y" }] };
  expect(withoutRestart(old, next)).toEqual({
    settings: { ...next, host: "127.0.0.1", tls: undefined, transports: undefined },
    changed: ["callers", "max_result_bytes", "page_size"],
    restart: ["host"],
  });
  expect(withoutRestart(old, { ...old })).toMatchObject({ changed: [], restart: [] });
});

test("live settings return the current value at every access", () => {
  const { live, replace } = createLiveSettings({ limits: { sessions: 5 } });
  expect(live.sessions).toBe(5);
  const usual = live.bodyBytes;
  replace({ limits: { bodyBytes: 7 } });
  expect(live.bodyBytes).toBe(7);
  expect(live.sessions).not.toBe(5);
  expect(usual).toBeGreaterThan(7);
});

test("a flood of refused requests causes few events, which count the remaining requests", () => {
  const bus = new EventBus(() => {});
  const events: HubEvent[] = [];
  bus.on((event) => events.push(event));
  let now = 0;
  const note = createRefusalEvents(bus, () => now);
  const request = {
    url: "/mcp?token=secret",
    socket: { remoteAddress: "10.0.0.1" },
  } as unknown as Parameters<typeof note>[0];
  const refusal = badToken({ scopes: [] }, "no caller of this gateway has this token");
  for (let sent = 0; sent < 1_000; sent += 1) note(request, refusal);
  expect(events).toHaveLength(20);
  expect(events[0]).toMatchObject({ type: "gateway.refused", address: "10.0.0.1", path: "/mcp" });
  now += 1_000;
  note(request, refusal);
  expect(events).toHaveLength(21);
  expect(events[20]).toMatchObject({ more: 980 });
  // An exceeded limit has a budget of its own; other statuses are not reported.
  note(request, { ...refusal, status: 429 }, "agent");
  expect(events[21]).toMatchObject({ caller: "agent", more: undefined });
  note(request, { ...refusal, status: 413 });
  expect(events).toHaveLength(22);
});
