// State files: valid and invalid files.

import fc from "fast-check";
import { expect, test } from "vitest";
import { parseState } from "./state-file.ts";

const STATE = {
  version: 1,
  process: { pid: 4711, started: "1234", host: "here", boot: null, namespace: null },
  path: "/home/me/project",
  kind: "http",
  url: "http://127.0.0.1:7420/mcp",
  socket: "/run/user/1000/portolan-abc123/s",
  token: "x".repeat(43),
  startedAt: "2026-01-02T03:04:05.000Z",
  portolan: "0.1.0",
};

test("parseState parses a state file that a gateway wrote", () => {
  expect(parseState(JSON.stringify(STATE))).toEqual(STATE);
});

test.each([
  ["another version", { version: 2 }],
  ["no process", { process: undefined }],
  ["a process group in place of a process", { process: { ...STATE.process, pid: -1 } }],
  ["a short token", { token: "x" }],
  ["no socket", { socket: "" }],
  ["an unknown kind", { kind: "pipe" }],
  ["a wrong time", { startedAt: "yesterday" }],
  ["a long path", { path: "/x".repeat(4_000) }],
])("parseState refuses %s", (_, change) => {
  expect(parseState(JSON.stringify({ ...STATE, ...change }))).toBeUndefined();
});

test("parseState never throws, and returns no state without a process id", () => {
  const keys = Object.keys(STATE) as (keyof typeof STATE)[];
  fc.assert(fc.property(fc.string(), (text) => parseState(text) === undefined));
  fc.assert(
    fc.property(fc.constantFrom(...keys), fc.jsonValue(), (key, value) => {
      const parsed = parseState(JSON.stringify({ ...STATE, [key]: value }));
      if (parsed !== undefined) expect(parsed.process.pid).toBeGreaterThan(0);
    }),
  );
});
