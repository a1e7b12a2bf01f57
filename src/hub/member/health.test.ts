// The error of a failed server in its health report.

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

test("the error of a crash names the last stderr line, the next restart and the command for the output", () => {
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

test("the error of a process that was stopped after timeouts contains no stderr line", () => {
  const message = "Portolan stopped files: 3 requests in a row timed out";
  const silent = new PortolanError("SERVER_CRASHED", message, { data: { timeouts: 3 } });
  expect(healthOf(memberWith("reconnecting", silent)).error?.message).toBe(message);
});

test("the hint after an unanswered ping names the restart command, not the call timeout", () => {
  const late = new PortolanError("TIMEOUT", "files did not answer", { hint: CALL_TIMEOUT_HINT });
  const member = { ...memberWith("ready", late), probeError: late } as Member;
  expect(healthOf(member).error?.hint).toBe(
    "The server may be busy. If it stays silent, start a new process: portolan restart files",
  );
});

test("the hint about a silent process says that it is replaced, and how to do this at once", () => {
  const late = new PortolanError("TIMEOUT", "files did not answer", { hint: CALL_TIMEOUT_HINT });
  expect(healthOf(memberWith("reconnecting", late)).error?.hint).toBe(
    "If it stays silent, Portolan starts a new process. To start one now: portolan restart files",
  );
  expect(healthOf(memberWith("reconnecting", late, undefined, true)).error?.hint).toBe(
    "If it stays silent, Portolan starts a new process.",
  );
});

test("the health report omits fields without a value", () => {
  const health = healthOf(memberWith("failed", CRASH));
  expect(Object.entries(health).filter(([, value]) => value === undefined)).toEqual([]);
});

test("inside a program, the hint names the field with the output instead of a command", () => {
  expect(healthOf(memberWith("reconnecting", CRASH, undefined, true)).error?.hint).toBe(
    "Portolan is starting the server again. See the output of the server: the field stderr in workspace.health()",
  );
});

test("the hint keeps the hint of the original error", () => {
  const denied = new PortolanError("SERVER_CRASHED", "files ended", {
    hint: `${CRASH.hint} The sandbox hides /data.`,
  });
  expect(healthOf(memberWith("stopped", denied)).error?.hint).toBe(
    "The sandbox hides /data. See the output of the server: portolan logs files",
  );
  const missing = new PortolanError("SERVER_START_FAILED", "no program", { hint: "Install it." });
  expect(healthOf(memberWith("failed", missing)).error?.hint).toBe("Install it.");
});
