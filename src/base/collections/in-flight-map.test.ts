import { describe, expect, it } from "vitest";
import { removeFrom } from "./in-flight-list.ts";
import { InFlightMap } from "./in-flight-map.ts";

describe("InFlightMap", () => {
  it("get() returns an entry until take() removes it", () => {
    const map = new InFlightMap<number | string, { name: string }>();
    const entry = { name: "first" };
    map.set(1, entry);
    expect(map.get(1)).toBe(entry);
    expect(map.has(1)).toBe(true);
    expect(map.take(1)).toBe(entry);
    expect(map.take(1)).toBeUndefined();
    expect(map.get(1)).toBeUndefined();
    expect(map.has(1)).toBe(false);
    expect(map.size).toBe(0);
  });

  it("keeps the number 1 and the text 1 apart", () => {
    const map = new InFlightMap<number | string, { name: string }>();
    map.set(1, { name: "number" });
    map.set("1", { name: "text" });
    expect(map.take("1")).toEqual({ name: "text" });
    expect(map.get(1)).toEqual({ name: "number" });
  });

  it("lists keys and values in insertion order, also while entries are removed", () => {
    const map = new InFlightMap<number, { id: number }>();
    for (const id of [3, 1, 2]) map.set(id, { id });
    expect(map.keys()).toEqual([3, 1, 2]);
    const seen: number[] = [];
    for (const { id } of map.values()) {
      map.take(id);
      seen.push(id);
    }
    expect(seen).toEqual([3, 1, 2]);
    expect(map.size).toBe(0);
  });
});

describe("removeFrom", () => {
  it("removes one object, and returns whether the list contained it", () => {
    const [a, b, c] = [{ name: "a" }, { name: "b" }, { name: "c" }];
    const list = [a, b, c];
    expect(removeFrom(list, a)).toBe(true);
    expect(new Set(list)).toEqual(new Set([b, c]));
    expect(removeFrom(list, a)).toBe(false);
    expect(removeFrom(list, c)).toBe(true);
    expect(list).toEqual([b]);
  });
});
