// Connections to fixture servers for tests: made in one line, closed when the test ends.

import { onTestFinished } from "vitest";
import {
  connectMcp,
  isPortolanError,
  type McpConnection,
  type McpOptions,
  type PortolanError,
} from "../../src/index.ts";
import { startHttpServer } from "../fixtures/http-server.mjs";
import { stdioCommand } from "../fixtures/processes.mjs";
import { startSseServer } from "../fixtures/sse-server.mjs";
import { startWsServer } from "../fixtures/ws-server.mjs";

export type Way = "stdio" | "http (json)" | "http (sse)" | "sse" | "websocket";
export type FixtureEra = "legacy" | "modern";

/** Every transport with every era that it can carry. */
export const MATRIX: readonly (readonly [Way, FixtureEra])[] = [
  ["stdio", "legacy"],
  ["stdio", "modern"],
  ["http (json)", "legacy"],
  ["http (json)", "modern"],
  ["http (sse)", "legacy"],
  ["http (sse)", "modern"],
  ["sse", "legacy"],
  ["websocket", "legacy"],
  ["websocket", "modern"],
];

const quiet = (): void => {};

/** A stdio fixture with these flags. */
export function connectStdio(
  flags: string[],
  options: McpOptions & { env?: Record<string, string> } = {},
): Promise<McpConnection> {
  return kept(
    connectMcp({
      transport: "stdio",
      ...stdioCommand(...flags),
      onDiagnostic: quiet,
      name: "fixture",
      ...options,
    }),
  );
}

export function connectUrl(
  url: string,
  options: McpOptions & { headers?: Record<string, string> } = {},
): Promise<McpConnection> {
  const transport = url.startsWith("ws") ? "websocket" : "http";
  return kept(connectMcp({ transport, url, onDiagnostic: quiet, name: "fixture", ...options }));
}

/** A healthy server of the era, reached this way. */
export async function connectFixture(
  way: Way,
  era: FixtureEra,
  options: McpOptions = {},
): Promise<McpConnection> {
  switch (way) {
    case "stdio":
      return connectStdio([`--era=${era}`, "--ttl=60000"], options);
    case "http (json)":
    case "http (sse)":
      return connectUrl(
        (await started(startHttpServer({ era, ttl: 60_000, answer: way === "http (json)" ? "json" : "sse" })))
          .url,
        options,
      );
    case "sse":
      return connectUrl((await started(startSseServer({}))).url, options);
    case "websocket":
      return connectUrl((await started(startWsServer({ era, ttl: 60_000 }))).url, options);
  }
}

export async function started<T extends { close(): Promise<void> }>(starting: Promise<T>): Promise<T> {
  const server = await starting;
  onTestFinished(() => server.close());
  return server;
}

async function kept(connecting: Promise<McpConnection>): Promise<McpConnection> {
  const mcp = await connecting;
  onTestFinished(() => mcp.close());
  return mcp;
}

/** The PortolanError that a promise fails with; anything else fails the test. */
export async function failure(promise: Promise<unknown>): Promise<PortolanError> {
  try {
    await promise;
  } catch (error) {
    if (isPortolanError(error)) return error;
    throw error;
  }
  throw new Error("expected a failure, got a result");
}

/** Resolves with the arguments of the next such event. */
export function nextEvent(mcp: McpConnection, event: Parameters<McpConnection["on"]>[0]): Promise<unknown[]> {
  return new Promise((resolve) => {
    const off = mcp.on(event, (...args: unknown[]) => {
      off();
      resolve(args);
    });
  });
}

/** Resolves when the condition holds; a test's own time limit is the only other end. */
export async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await condition())) await new Promise((resolve) => setTimeout(resolve, 5));
}

/** What the fixture has seen so far. */
export async function serverStats(mcp: McpConnection): Promise<{
  pid: number;
  requests: Record<string, number>;
  calls: Record<string, number>;
  cancelled: unknown[];
  violations: string[];
  initialize?: Record<string, unknown>;
  lastMeta?: Record<string, unknown>;
  thisMeta?: Record<string, unknown>;
}> {
  return JSON.parse((await mcp.callTool("stats")).text) as never;
}
