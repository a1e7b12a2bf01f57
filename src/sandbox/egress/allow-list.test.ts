// Names and addresses of one server: the latest lookup is used, and the memory is limited for any number of lookups.

import { expect, test } from "vitest";
import { createKnownAddresses } from "./allow-list.ts";

test("an address keeps its names when a name gets another address", () => {
  const known = createKnownAddresses();
  known.add("a.test", ["192.0.2.1", "192.0.2.2"]);
  known.add("b.test", ["192.0.2.2"]);
  known.add("a.test", ["192.0.2.3"]);
  expect(known.namesOf("192.0.2.2")).toEqual(["b.test", "a.test"]);
  expect([known.addressesOf("a.test"), known.namesOf("192.0.2.9")]).toEqual([["192.0.2.3"], []]);
});

test("removes the oldest names at the limit, and keeps at most 16 names for each address", () => {
  const known = createKnownAddresses(3);
  for (const number of [1, 2, 3, 1, 4]) known.add(`n${number}.test`, [`192.0.2.${number}`]);
  expect([1, 2, 3, 4].map((number) => known.namesOf(`192.0.2.${number}`).length)).toEqual([1, 0, 1, 1]);
  expect(known.addressesOf("n2.test")).toEqual([]);
  for (let number = 0; number < 100; number += 1) known.add(`m${number}.test`, ["192.0.2.1"]);
  expect(known.namesOf("192.0.2.1")).toHaveLength(16);
});
