// The exports of the room, and that importing them loads nothing heavy.

import { readdirSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import * as room from "./index.ts";

test("the schema module exports exactly the listed names", () => {
  expect(Object.keys(room).sort()).toEqual([
    "INSTANCE_LIMITS",
    "SCHEMA_LIMITS",
    "boundSchema",
    "closedSchema",
    "compareSchemas",
    "createValidator",
    "declaredPaths",
    "describeField",
    "describeView",
    "dialectOf",
    "fieldNames",
    "fieldOf",
    "followReference",
    "formatProblem",
    "isSafePattern",
    "isWellFormed",
    "meant",
    "measureInstance",
    "requiredOf",
    "toZodView",
    "typesOf",
    "viewAtPath",
    "viewOf",
    "viewSchema",
    "withinBudget",
  ]);
});

test("zod, cfworker, re2js and built-in modules are imported only as types or dynamically", () => {
  const folder = new URL(".", import.meta.url);
  for (const file of readdirSync(folder).filter(
    (name) => name.endsWith(".ts") && !name.endsWith(".test.ts"),
  )) {
    const text = readFileSync(new URL(file, folder), "utf8");
    for (const [line] of text.matchAll(/^(?:import|export)\b[^;]*?from "(?!\.)[^"]*"/gm))
      expect(line, file).toMatch(/^import type /);
  }
});
