// Time budget: stops work that does not end by itself, and leaves no global variable behind.

import { afterEach, expect, test } from "vitest";
import { withinBudget } from "./budget.ts";

const bomb = (): boolean => /^(a+)+$/.test(`${"a".repeat(60)}!`);
const overflow = (): number => overflow() + 1;
const slots = (): symbol[] =>
  Object.getOwnPropertySymbols(globalThis).filter((symbol) => String(symbol).includes("portolan"));

afterEach(() => expect(slots()).toEqual([]));

test("withinBudget() returns the value of work that ends in time", () => {
  expect(withinBudget(1000, () => 42)).toEqual({ ok: true, value: 42 });
  expect(withinBudget(1000, () => undefined)).toEqual({ ok: true, value: undefined });
});

test("withinBudget() stops an endless loop and a running regular expression", () => {
  expect(withinBudget(20, bomb)).toEqual({ ok: false, reason: "budget" });
  expect(
    withinBudget(20, () => {
      for (;;);
    }),
  ).toEqual({ ok: false, reason: "budget" });
});

test("withinBudget() reports a stack overflow as a reason, and throws other errors", () => {
  expect(withinBudget(1000, overflow)).toEqual({ ok: false, reason: "stack" });
  const error = new TypeError("mine");
  expect(() =>
    withinBudget(1000, () => {
      throw error;
    }),
  ).toThrow(error);
});

test("withinBudget() can be nested", () => {
  expect(withinBudget(1000, () => [withinBudget(10, bomb), 1])).toEqual({
    ok: true,
    value: [{ ok: false, reason: "budget" }, 1],
  });
  expect(withinBudget(20, () => withinBudget(10_000, bomb))).toEqual({ ok: false, reason: "budget" });
  expect(withinBudget(1000, () => "again")).toEqual({ ok: true, value: "again" });
});
