import { expect, test } from "vitest";
import type { JsonObject } from "../../model/index.ts";
import { LoopBreaker } from "./loop-breaker.ts";

const LOOPS = { identical: 3, withinMs: 60_000 };
const CALL = { caller: "agent", tool: "mcp_one_echo", digest: "d" };
const text = (words: string): JsonObject => ({ content: [{ type: "text", text: words }] });

function setUp() {
  const clock = { now: 5_000_000 };
  const breaker = new LoopBreaker(() => clock.now);
  /** True if the call was sent. */
  const send = (result: JsonObject | undefined, isReadOnly: boolean, call = CALL): boolean => {
    const found = breaker.begin(call, isReadOnly, LOOPS);
    if (!("ended" in found)) return false;
    found.ended(result);
    return true;
  };
  return { clock, breaker, send };
}

test("the fourth identical call is refused until the period ends", () => {
  const { clock, breaker, send } = setUp();
  expect([1, 2, 3, 4].map(() => send(text("same"), true))).toEqual([true, true, true, false]);
  expect(breaker.begin(CALL, true, LOOPS)).toEqual({ calls: 3, until: 5_060_000, isFirst: false });
  clock.now += 60_000;
  expect(send(text("same"), true)).toBe(true);
});

test("calls with other arguments, tools or callers are counted separately", () => {
  const { send } = setUp();
  for (const other of [{ digest: "e" }, { tool: "mcp_one_add" }, { caller: "other" }])
    expect([1, 2, 3].map(() => send(text("same"), true, { ...CALL, ...other }))).toEqual([true, true, true]);
  expect(send(text("same"), true)).toBe(true);
});

test("polling a read-only tool with changing results is allowed", () => {
  const { send } = setUp();
  for (let step = 0; step < 20; step += 1) expect(send(text(`step ${step}`), true)).toBe(true);
  expect([1, 2, 3].map(() => send(text("step 19"), true))).toEqual([true, true, false]);
});

test("repeated calls of a tool that is not read-only are refused, also with changing results", () => {
  const { send } = setUp();
  expect([1, 2, 3, 4].map((id) => send(text(`message ${id}`), false))).toEqual([true, true, true, false]);
});

test("failed calls count, and calls that return input_required do not", () => {
  const { send } = setUp();
  expect([1, 2, 3, 4].map(() => send(undefined, true))).toEqual([true, true, true, false]);
  const asks = { ...CALL, digest: "asks" };
  for (let step = 0; step < 10; step += 1)
    expect(send({ resultType: "input_required" }, false, asks)).toBe(true);
});

test("calls that run at the same time count before they end", () => {
  const { breaker } = setUp();
  const begun = [1, 2, 3, 4].map(() => "ended" in breaker.begin(CALL, true, LOOPS));
  expect(begun).toEqual([true, true, true, false]);
});
