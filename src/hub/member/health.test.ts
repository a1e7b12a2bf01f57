// The error of a lost server, as its health shows it to an operator.

import { expect, test } from "vitest";
import { CALL_TIMEOUT_HINT, PortolanError } from "../../errors/index.ts";
import { createRedactor } from "../../secrets/index.ts";
import { healthOf } from "./health.ts";
import { LastError } from "./last-error.ts";
import type { Member } from "./member.ts";

function memberWith(
  state: string,
  error: PortolanError,
  unavailable?: PortolanError,
  isOfProgram = false,
): Member {
  const lastError = new LastError("files", createRedactor());
  lastError.wrote("starting\nError: the disk is full\n");
  lastError.note(error);
  return {
    ...{ alias: "files", state, unavailable, lastError, since: new Date(0), inventory: { tools: [] } },
    isOfProgram,
    config: { origin: {}, endpoint: { transport: "stdio" } },
    processes: { restarts: 4, dedicatedCount: 0 },
    pins: { state: { mode: "off" } },
  } as unknown as Member;
}

const CRASH = new PortolanError("SERVER_CRASHED", "files ended with exit code 1", { data: { exitCode: 1 } });

test("a crash has the last line of stderr, the next try and the command that shows the output", () => {
  const unavailable = new PortolanError("SERVER_UNAVAILABLE", "files is not running", {
    data: { retryAfterMs: 7_200 },
  });
  expect(healthOf(memberWith("failed", CRASH, unavailable)).error).toMatchObject({
    message: "files ended with exit code 1: Error: the disk is full",
    hint: "Portolan tries to start the server again in 8 s. See the output of the server: portolan logs files",
  });
  expect(healthOf(memberWith("reconnecting", CRASH)).error?.hint).toBe(
    "Portolan is starting the server again. See the output of the server: portolan logs files",
  );
});

test("a process that was stopped because it did not answer has no line of stderr as its reason", () => {
  const message = "Portolan stopped files: 3 requests in a row timed out";
  const silent = new PortolanError("SERVER_CRASHED", message, { data: { timeouts: 3 } });
  expect(healthOf(memberWith("reconnecting", silent)).error?.message).toBe(message);
});

test("a ping without an answer names the command that restarts the server, and no limit of calls", () => {
  const late = new PortolanError("TIMEOUT", "files did not answer", { hint: CALL_TIMEOUT_HINT });
  const member = { ...memberWith("ready", late), probeError: late } as Member;
  expect(healthOf(member).error?.hint).toBe(
    "The server may be busy. If it stays silent, start a new process: portolan restart files",
  );
});

test("a field without a value is absent", () => {
  const health = healthOf(memberWith("failed", CRASH));
  expect(Object.entries(health).filter(([, value]) => value === undefined)).toEqual([]);
});

test("a program gets the place of the output, not a command", () => {
  expect(healthOf(memberWith("reconnecting", CRASH, undefined, true)).error?.hint).toBe(
    "Portolan is starting the server again. See the output of the server: the field stderr in workspace.health()",
  );
});

test("hints about the server itself stay", () => {
  const denied = new PortolanError("SERVER_CRASHED", "files ended", {
    hint: `${CRASH.hint} The sandbox hides /data.`,
  });
  expect(healthOf(memberWith("stopped", denied)).error?.hint).toBe(
    "The sandbox hides /data. See the output of the server: portolan logs files",
  );
  const missing = new PortolanError("SERVER_START_FAILED", "no program", { hint: "Install it." });
  expect(healthOf(memberWith("failed", missing)).error?.hint).toBe("Install it.");
});
