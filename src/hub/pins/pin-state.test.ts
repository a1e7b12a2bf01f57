import { expect, test } from "vitest";
import type { PinMode } from "../../model/index.ts";
import { PinBook } from "./pin-book.ts";
import {
  comparePins,
  explainWithheld,
  type HashedTool,
  isWithheld,
  type LockState,
  withheldError,
} from "./pin-state.ts";

const PINNED: LockState = { kind: "read", pins: new Map([["s", { a: "1", gone: "2" }]]) };
const ABSENT: LockState = { kind: "absent" };
const BROKEN: LockState = { kind: "broken", reason: "portolan.lock:3:1: no", hint: "Restore it." };
const OTHER: LockState = { kind: "read", pins: new Map([["other", { a: "1" }]]) };
const SAME: readonly HashedTool[] = [["a", "1"]];
const CHANGED: readonly HashedTool[] = [["a", "9"]];

test.each<[PinMode | undefined, LockState, readonly HashedTool[] | undefined, string, boolean]>([
  [undefined, ABSENT, SAME, "off", false],
  [undefined, OTHER, SAME, "off", false],
  [undefined, PINNED, SAME, "enforce", false],
  [undefined, PINNED, CHANGED, "enforce", true],
  [undefined, PINNED, undefined, "enforce unlisted", true],
  [undefined, BROKEN, SAME, "enforce unreadable", true],
  ["enforce", ABSENT, SAME, "enforce unpinned", true],
  ["enforce", OTHER, SAME, "enforce unpinned", true],
  ["enforce", PINNED, SAME, "enforce", false],
  ["enforce", PINNED, [["a", null]], "enforce", true],
  [
    "enforce",
    PINNED,
    [
      ["a", "9"],
      ["a", "1"],
    ],
    "enforce",
    true,
  ],
  ["warn", ABSENT, SAME, "warn unpinned", false],
  ["warn", PINNED, CHANGED, "warn", false],
  ["warn", BROKEN, CHANGED, "warn unreadable", false],
  ["off", PINNED, CHANGED, "off", false],
  ["off", BROKEN, CHANGED, "off", false],
])(
  "comparePins with mode %s, lock file %j and tools %j returns %s",
  (mode, lock, tools, expected, withheld) => {
    const state = comparePins("s", mode, lock, tools);
    expect([state.mode, ...(state.obstacle === undefined ? [] : [state.obstacle.kind])].join(" ")).toBe(
      expected,
    );
    expect(isWithheld(state, "a")).toBe(withheld);
  },
);

test("unlisted tools, and tools with names such as toString, are withheld", () => {
  const state = comparePins("s", undefined, PINNED, [...SAME, ["toString", "1"]]);
  expect(["a", "toString", "unknown"].map((name) => isWithheld(state, name))).toEqual([false, true, true]);
  expect(state.removed).toEqual(["gone"]);
});

test("a colon in a tool name does not truncate the reason", () => {
  const state = comparePins("s", undefined, PINNED, [["a: b", "1"]]);
  expect(explainWithheld("s", "a: b", state).reason).toBe("nobody has approved this tool of s");
});

test.each([
  [{ problem: "EACCES" }, /^Make portolan\.lock a file that Portolan can read\.$/],
  [{ text: "{{" }, /^Restore portolan\.lock from version control, or resolve/],
])("the error of a withheld tool says how to repair a lock file with %j", async (lock, how) => {
  const reported: (string | undefined)[] = [];
  const book = new PinBook({ report: ({ hint }) => void reported.push(hint) });
  await book.read({ file: "/w/portolan.lock", ...lock });
  const state = await book.compareDriver("driver:s", undefined, []);
  expect(withheldError("s", "a", state).hint).toMatch(how);
  expect(reported[0]).toContain("Portolan withholds the tools of all servers, except of servers with pins:");
});

test("the hint for a withheld tool quotes the tool name for the shell", () => {
  const state = comparePins("s", undefined, PINNED, [["it's", "1"]]);
  const { message, hint } = withheldError("s", "it's", state);
  expect(message).toBe(`Portolan withholds the tool "it's": nobody has approved this tool of s`);
  expect(hint).toContain(String.raw`portolan pins approve s 'it'\''s'`);
});
