import { expect, it } from "vitest";
import { readYaml } from "./yaml-document.ts";

it.each(["{".repeat(1_000_000), "[".repeat(1_000_000)])("survives a text without end", (text) => {
  expect(readYaml(text).problems.length).toBeGreaterThan(0);
});
