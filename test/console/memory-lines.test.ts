// The lines of the console's memory chart: no server is missing, however many there are.

import { expect, test } from "vitest";
import { memoryLines, type MemorySample, type Point } from "../../console/src/state/memory-lines.ts";

const GATEWAY: readonly Point[] = [
  [10, 50],
  [12, 51],
  [14, 52],
];

/** A server with one process at each of the times. */
const server = (pid: number, memory: number, times: readonly number[] = [10, 12, 14]) =>
  times.map((time) => ({ time, memory, processes: [{ pid, memory }] }));

test("up to three servers have a line each, the largest first, also if one started later", () => {
  const samples = new Map<string, readonly MemorySample[]>([
    ["late", server(1, 30, [12, 14])],
    ["small", server(2, 10)],
    ["large", server(3, 90)],
    ["stopped", [{ time: 10, processes: [] }]],
  ]);
  const lines = memoryLines(samples, GATEWAY, "");
  expect(lines.map(({ name }) => name)).toEqual(["gateway", "large", "late", "small"]);
  // The line of the gateway has its own times, whichever server is first.
  expect(lines[0]?.points).toEqual(GATEWAY);
  expect(lines[2]?.points).toEqual([
    [12, 30],
    [14, 30],
  ]);
  expect(memoryLines(samples, GATEWAY, "small").map(({ name }) => name)).toEqual(["small"]);
});

test("with more servers, the small ones share one line, in which a shared process counts once", () => {
  const samples = new Map([
    ["a", server(1, 90)],
    ["b", server(2, 80)],
    ["c", server(3, 20)],
    ["d", server(3, 20)],
    ["e", server(4, 7, [14])],
  ]);
  const lines = memoryLines(samples, GATEWAY, "");
  expect(lines.map(({ name }) => name)).toEqual(["gateway", "a", "b", "3 other servers"]);
  expect(lines[3]?.points).toEqual([
    [10, 20],
    [12, 20],
    [14, 27],
  ]);
});
