// The rules of hand-over between versions of drivers, as tables.

import { expect, test } from "vitest";
import {
  addVersion,
  type DriverVersion,
  finishVerification,
  type HandOver,
  type HandOverStep,
  releaseAll,
  releaseUnneeded,
  removeDriver,
  serving,
  servingAs,
  startHandOver,
} from "./hand-over.ts";

interface Version extends DriverVersion {
  readonly name: string;
}

/** `name` is the id and the version, such as `a1`. */
const version = (
  name: string,
  contracts: string,
  more: Partial<Pick<DriverVersion, "status" | "isBroken">> = {},
): Version => ({
  name,
  driver: { id: name.slice(0, 1) },
  bound: new Map(contracts.split(" ").map((contract) => [contract, undefined])),
  isBroken: false,
  status: "verified",
  ...more,
});
const names = (all: Iterable<Version>): string => Array.from(all, ({ name }) => name).join(" ");
const EMPTY = startHandOver<Version>([]);

/** Adds versions one after the other, as a reload does. */
function reload(before: readonly Version[], after: readonly Version[]): HandOverStep<Version> {
  let state = startHandOver(before);
  const released: Version[] = [];
  for (const one of after) {
    const [next, more] = addVersion(state, one, true);
    state = next;
    released.push(...more);
  }
  const [next, more] = releaseUnneeded(state);
  return [next, [...released, ...more]];
}

const a1 = version("a1", "read");
const a2 = version("a2", "read", { status: "unknown" });
const b1 = version("b1", "read list", { status: "unknown" });

test("the first version of a driver serves immediately", () => {
  const [state, released] = addVersion(EMPTY, a2, true);
  expect([names(serving(state)), names(released)]).toEqual(["a2", ""]);
});

test.each<[string, readonly Version[], readonly Version[], { serving: string; released: string }]>([
  ["a new version waits for its verification", [a1], [a2], { serving: "a1", released: "" }],
  ["a removed driver is released", [a1, version("c1", "write")], [a2], { serving: "a1", released: "c1" }],
  [
    "a removed driver serves while another waits for its contract",
    [a1],
    [b1],
    { serving: "a1", released: "" },
  ],
  [
    "a driver that never worked is replaced at once",
    [version("a1", "read", { status: "refused" })],
    [a2],
    { serving: "a2", released: "a1" },
  ],
  [
    "a broken version takes over at once",
    [a1],
    [version("a2", "read", { isBroken: true, status: "refused" })],
    { serving: "a2", released: "a1" },
  ],
  [
    "a driver of other contracts serves at once",
    [a1],
    [version("c1", "write", { status: "unknown" })],
    { serving: "c1", released: "a1" },
  ],
])("reload: %s", (_, before, after, expected) => {
  const [state, released] = reload(before, after);
  expect({ serving: names(serving(state)), released: names(released) }).toEqual(expected);
});

test("a new version serves after its verification, whatever the result", () => {
  const [state] = reload([a1], [a2]);
  const [next, released] = finishVerification(state, a2);
  expect([names(serving(next)), names(released)]).toEqual(["a2", "a1"]);
  expect(finishVerification(next, a2)).toEqual([next, []]);
});

test("an old version with a contract that its successor drops serves until another driver serves the contract", () => {
  const both = version("a1", "read list");
  const c1 = version("c1", "list", { status: "unknown" });
  const [state] = reload([both], [a2, c1]);
  const [afterFirst, none] = finishVerification(state, a2);
  expect([names(serving(afterFirst)), names(none)]).toEqual(["a1", ""]);
  const [afterBoth, released] = finishVerification(afterFirst, c1);
  expect([names(serving(afterBoth)), names(released)]).toEqual(["a2 c1", "a1"]);
});

test("of two changes the last one wins, and the old version serves until then", () => {
  const [first] = reload([], [a1]);
  const [second] = addVersion(first, a2, true);
  const a3 = version("a3", "read", { status: "unknown" });
  const [third, released] = addVersion(second, a3, true);
  expect([names(serving(third)), names(released)]).toEqual(["a1", "a2"]);
  expect(servingAs(third, "a")).toBe(a1);
});

test("removing a driver also releases its predecessor", () => {
  const [state] = reload([a1], [a2]);
  const [next, released] = removeDriver(state, "a");
  expect([names(serving(next)), names(released)]).toEqual(["", "a2 a1"]);
});

test("when the predecessors are released, the current versions serve", () => {
  const [state]: readonly [HandOver<Version>, unknown] = reload([a1], [a2]);
  const [next, released] = releaseAll(state);
  expect([names(serving(next)), names(released)]).toEqual(["a2", "a1"]);
});
