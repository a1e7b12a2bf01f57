// Drivers and the protocol: negotiated revisions, and retries of servers that are busy.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeEach, expect, onTestFinished, test, vi } from "vitest";
import type { Contracts } from "../../src/contracts/index.ts";
import type { Diagnostic } from "../../src/errors/index.ts";
import { type HubEvent, openWorkspace } from "../../src/hub/index.ts";
import { driverWorkspace, type DriverWorkspace } from "../helpers/driver-workspaces.ts";
import { DISCOVER, INITIALIZE, type RouteServer, type Routes, serve } from "../helpers/http.ts";
import { until } from "../helpers/connect.ts";

beforeEach(() => {
  const home = mkdtempSync(join(tmpdir(), "portolan-home-"));
  vi.stubEnv("XDG_DATA_HOME", join(home, "data"));
  vi.stubEnv("XDG_CACHE_HOME", join(home, "cache"));
  return () => {
    vi.unstubAllEnvs();
    rmSync(home, { recursive: true, force: true });
  };
});

interface Opened {
  readonly contracts: Contracts;
  readonly events: HubEvent[];
  readonly diagnostics: () => readonly Diagnostic[];
}

async function open({ folder }: DriverWorkspace): Promise<Opened> {
  const events: HubEvent[] = [];
  const onEvent = (event: HubEvent): unknown => events.push(event);
  const workspace = await openWorkspace(folder, { snapshots: false, watchFiles: false, onEvent });
  onTestFinished(() => workspace.close());
  const contracts = (await workspace.contracts()) as Contracts;
  await until(() => contracts.status()[0]?.server !== "unverified");
  return { contracts, events, diagnostics: () => workspace.diagnostics };
}

const WHOAMI = { tools: [{ name: "whoami", inputSchema: { type: "object" } }] };

async function remote(routes: Routes, era: "legacy" | "modern" = "legacy"): Promise<RouteServer> {
  const server = await serve(era, { "tools/list": ({ json }) => json(WHOAMI), ...routes });
  onTestFinished(() => server.close());
  return server;
}

const at = ({ url }: RouteServer): string =>
  `server: { kind: remote, url: ${JSON.stringify(url)} }\ntransport: http\nnetwork: { egress: ["${new URL(url).host}"] }`;

const contract = (more: string): string => `name: Who
id: who-am-i
description: D.
version: 1.0.0
inputs: { type: object, properties: {} }
outputs: { type: object }
${more}`;

/** A legacy server that supports only these revisions. */
async function speaking(...revisions: string[]): Promise<{ server: RouteServer; offered: unknown[] }> {
  const offered: unknown[] = [];
  const server = await remote({
    initialize: ({ json, params: { protocolVersion } }) => {
      offered.push(protocolVersion);
      const own = revisions.includes(String(protocolVersion)) ? protocolVersion : revisions[0];
      json({ ...INITIALIZE, protocolVersion: own });
    },
  });
  return { server, offered };
}

test.each([
  ["2025-03", "2025-03-26"],
  ["2024-11-05", "2024-11-05"],
  ["2025-11-25", "2025-11-25"],
])(
  "protocol_version %s: Portolan offers this revision to the server, and uses it",
  async (written, revision) => {
    const { server, offered } = await speaking("2025-11-25", "2025-03-26", "2024-11-05");
    const { contracts } = await open(
      driverWorkspace({ server: at(server), driver: `protocol_version: "${written}"` }),
    );
    expect(contracts.status()).toMatchObject([
      { server: "verified", protocolVersion: revision, problems: [] },
    ]);
    expect(offered).toEqual([revision]);
  },
);

test("a server that uses another revision than its driver declares is served, with a warning", async () => {
  const { server, offered } = await speaking("2024-11-05");
  const { contracts } = await open(
    driverWorkspace({ server: at(server), driver: 'protocol_version: "2025-06-18"' }),
  );
  expect(offered).toEqual(["2025-06-18"]);
  expect(contracts.status()).toMatchObject([
    {
      server: "verified",
      protocolVersion: "2024-11-05",
      problems: [
        {
          severity: "warning",
          path: "/protocol_version",
          message: "who-mcp: protocol_version is 2025-06-18, but its server uses 2024-11-05",
        },
      ],
    },
  ]);
});

test("a legacy server cannot serve a driver that declares a modern protocol_version; the hint names the key", async () => {
  const { server } = await speaking("2025-11-25");
  const { contracts, diagnostics } = await open(
    driverWorkspace({ server: at(server), driver: 'protocol_version: "2026-07-28"' }),
  );
  const { result } = await contracts.call({ tool: "who-am-i" });
  expect(result).toMatchObject({ ok: false, error: { code: "tool_unavailable" } });
  expect(diagnostics()).toContainEqual(
    expect.objectContaining({ hint: expect.stringContaining("Remove protocol_version") }),
  );
  expect(contracts.status()[0]?.reason).toContain("does not support 2026-07-28");
});

test("a modern server without protocol_version in its driver uses the modern protocol", async () => {
  const server = await remote({ "server/discover": ({ json }) => json(DISCOVER) }, "modern");
  const { contracts } = await open(driverWorkspace({ server: at(server) }));
  expect(contracts.status()).toMatchObject([{ server: "verified", protocolVersion: "2026-07-28" }]);
});

const busy = (times: number): Promise<RouteServer> =>
  remote({
    "tools/call": ({ response, json }) => {
      times -= 1;
      if (times >= 0) response.writeHead(429, { "retry-after": "0" }).end();
      else json({ content: [], structuredContent: {} });
    },
  });

test.each([
  ["is called once without a retry rule", "", 1],
  [
    "is called as often as the retry rule says",
    "retry: { max_attempts: 4, backoff: fixed, initial_ms: 1 }",
    4,
  ],
])("a server that answers 429 %s", async (_, rule, calls) => {
  const server = await busy(99);
  const { contracts, events } = await open(driverWorkspace({ server: at(server), contract: contract(rule) }));
  const { result } = await contracts.call({ tool: "who-am-i" });
  expect(result).toMatchObject({ ok: false, error: { code: "rate_limited", retryable: true } });
  expect(server.count("tools/call")).toBe(calls);
  expect(events.at(-1)).toMatchObject({ type: "driver.invoked", retries: calls - 1 });
});

test("a retry waits for the time in Retry-After", async () => {
  let first = 0;
  let second = 0;
  const server = await remote({
    "tools/call": ({ response, json }) => {
      if (first === 0) {
        first = performance.now();
        response.writeHead(429, { "retry-after": "1" }).end();
      } else {
        second = performance.now();
        json({ content: [], structuredContent: {} });
      }
    },
  });
  const rule = "retry: { max_attempts: 2, backoff: fixed, initial_ms: 1 }";
  const { contracts } = await open(driverWorkspace({ server: at(server), contract: contract(rule) }));
  expect((await contracts.call({ tool: "who-am-i" })).result.ok).toBe(true);
  expect(second - first).toBeGreaterThan(900);
});
