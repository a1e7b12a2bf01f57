import { EventEmitter } from "node:events";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { isPortolanError } from "../../errors/index.ts";
import { createInterrupt } from "./interrupt.ts";

class Source extends EventEmitter {
  readonly exits: number[] = [];
  exit(code: number): void {
    this.exits.push(code);
  }
}

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

test("the first signal aborts the command, the second exits the process", () => {
  const source = new Source();
  const seen: string[] = [];
  const interrupt = createInterrupt(source, (signal) => seen.push(signal));
  expect(interrupt.exitCode).toBeUndefined();
  source.emit("SIGINT");
  expect(interrupt.signal.aborted).toBe(true);
  expect(isPortolanError(interrupt.signal.reason) && interrupt.signal.reason.code).toBe("CANCELLED");
  expect(interrupt.exitCode).toBe(130);
  expect(source.exits).toEqual([]);
  source.emit("SIGINT");
  expect(source.exits).toEqual([130]);
  expect(seen).toEqual(["SIGINT"]);
  interrupt.dispose();
});

test.each([
  ["SIGTERM", 143],
  ["SIGHUP", 129],
] as const)("%s exits with code %i after at most five seconds", (signal, code) => {
  const source = new Source();
  const interrupt = createInterrupt(source);
  source.emit(signal);
  expect(interrupt.exitCode).toBe(code);
  vi.advanceTimersByTime(4_999);
  expect(source.exits).toEqual([]);
  vi.advanceTimersByTime(1);
  expect(source.exits).toEqual([code]);
  interrupt.dispose();
});

test("dispose() removes listeners and timers", () => {
  const source = new Source();
  const interrupt = createInterrupt(source);
  source.emit("SIGINT");
  interrupt.dispose();
  vi.advanceTimersByTime(10_000);
  expect(source.exits).toEqual([]);
  expect(source.eventNames()).toEqual([]);
});
