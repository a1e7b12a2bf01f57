import { expect, it } from "vitest";
import { ListCache } from "./list-cache.ts";

function counting(ttlMs: number): { cache: ListCache<number>; loads: () => number } {
  let loads = 0;
  const cache = new ListCache(async () => {
    loads += 1;
    return { value: loads, ttlMs };
  });
  return { cache, loads: () => loads };
}

it("the list cache fetches once while its value is fresh, and once for simultaneous requests", async () => {
  const { cache, loads } = counting(Infinity);
  expect(await Promise.all([cache.get({}), cache.get({}), cache.get({})])).toEqual([1, 1, 1]);
  expect(await cache.get({})).toBe(1);
  expect(loads()).toBe(1);
});

it("the list cache fetches again on refresh, after invalidate(), and if the TTL is 0", async () => {
  const { cache } = counting(Infinity);
  await cache.get({});
  expect(await cache.get({ refresh: true })).toBe(2);
  cache.invalidate();
  expect(cache.fresh).toBeUndefined();
  expect(await cache.get({})).toBe(3);
  const none = counting(0);
  await none.cache.get({});
  expect(await none.cache.get({})).toBe(2);
});

it("the list cache does not keep a value that was invalidated during its fetch", async () => {
  let finish: (() => void) | undefined;
  let loads = 0;
  const cache = new ListCache(async () => {
    loads += 1;
    const value = loads;
    if (value === 1) await new Promise<void>((resolve) => (finish = resolve));
    return { value, ttlMs: Infinity };
  });
  const first = cache.get({});
  cache.invalidate();
  finish?.();
  expect(await first).toBe(1);
  expect(await cache.get({})).toBe(2);
});

it("the list cache does not keep a failure", async () => {
  let fail = true;
  const cache = new ListCache(async () => {
    if (fail) throw new Error("no");
    return { value: 1, ttlMs: Infinity };
  });
  await expect(cache.get({})).rejects.toThrow("no");
  fail = false;
  expect(await cache.get({})).toBe(1);
});
