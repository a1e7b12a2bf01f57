import { expect, test } from "vitest";
import { createColors, wantsColor } from "./colors.ts";

test("colour follows the flag, FORCE_COLOR, NO_COLOR and the terminal, in this order", () => {
  expect(wantsColor(true, {})).toBe(true);
  expect(wantsColor(false, {})).toBe(false);
  expect(wantsColor(true, { NO_COLOR: "1" })).toBe(false);
  expect(wantsColor(true, { NO_COLOR: "" })).toBe(true);
  expect(wantsColor(false, { FORCE_COLOR: "1", NO_COLOR: "1" })).toBe(true);
  expect(wantsColor(true, { FORCE_COLOR: "0" })).toBe(false);
  expect(wantsColor(true, { TERM: "dumb" })).toBe(false);
  expect(wantsColor(true, { FORCE_COLOR: "1" }, false)).toBe(false);
});

test("disabled colours leave the text unchanged", () => {
  expect(createColors(false).red("x")).toBe("x");
  expect(createColors(true).red("x")).toBe("\u001b[31mx\u001b[39m");
});
