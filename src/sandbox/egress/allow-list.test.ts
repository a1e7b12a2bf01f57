// Names and addresses of one server: the latest lookup counts, and no number of lookups fills the memory.

import { expect, test } from "vitest";
import { createKnownAddresses } from "./allow-list.ts";

test("an address keeps its names when the name has moved on", () => {
  const known = createKnownAddresses();
  known.add("a.test", ["192.0.2.1", "192.0.2.2"]);
  known.add("b.test", ["192.0.2.2"]);
  known.add("a.test", ["192.0.2.3"]);
  expect(known.namesOf("192.0.2.2")).toEqual(["b.test", "a.test"]);
  expect([known.addressesOf("a.test"), known.namesOf("192.0.2.9")]).toEqual([["192.0.2.3"], []]);
});

test("the oldest make way, and one address has few names", () => {
  const known = createKnownAddresses(3);
  for (const number of [1, 2, 3, 1, 4]) known.add(`n${number}.test`, [`192.0.2.${number}`]);
  expect([1, 2, 3, 4].map((number) => known.namesOf(`192.0.2.${number}`).length)).toEqual([1, 0, 1, 1]);
  expect(known.addressesOf("n2.test")).toEqual([]);
  for (let number = 0; number < 100; number += 1) known.add(`m${number}.test`, ["192.0.2.1"]);
  expect(known.namesOf("192.0.2.1")).toHaveLength(16);
});
