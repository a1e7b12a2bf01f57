// Lookups share the resolver: no server uses all of it, concurrent lookups of a name are one, and every lookup has a timeout.

import { expect, test } from "vitest";
import { createLookups, TooManyLookups } from "./lookup-queue.ts";

const never = (): Promise<never> => new Promise(() => {});

test("concurrent lookups of one name share one query, and a later lookup queries again", async () => {
  let asked = 0;
  const lookups = createLookups(async () => [`10.0.0.${(asked += 1)}`]);
  const found = await Promise.all([1, 2, 3].map(() => lookups.find("a.test")));
  expect(found.flat()).toEqual(["10.0.0.1", "10.0.0.1", "10.0.0.1"]);
  expect(await lookups.find("a.test")).toEqual(["10.0.0.2"]);
});

test("a lookup without an answer times out, and the next lookup starts", async () => {
  const aborted: string[] = [];
  const lookups = createLookups(
    (host, signal) => {
      if (host === "good.test") return Promise.resolve(["10.0.0.1"]);
      signal.addEventListener("abort", () => aborted.push(host));
      return never();
    },
    // The second lookup gives up after twice this time, which a busy machine must not exceed.
    { atOnce: 1, timeoutMs: 1_000 },
  );
  const [silent, good] = await Promise.allSettled([lookups.find("silent.test"), lookups.find("good.test")]);
  expect([silent?.status, good?.status]).toEqual(["rejected", "fulfilled"]);
  expect(aborted).toEqual(["silent.test"]);
});

test("a cancelled lookup returns the addresses that it found before", async () => {
  const lookups = createLookups(
    (_host, signal) =>
      new Promise((resolve) => signal.addEventListener("abort", () => resolve(["10.0.0.9"]))),
    { timeoutMs: 10 },
  );
  expect(await lookups.find("half.test")).toEqual(["10.0.0.9"]);
});

test("a lookup above the queue limit is refused, and close cancels all lookups", async () => {
  const lookups = createLookups(never, { atOnce: 2, waiting: 3 });
  const waiting = [1, 2, 3, 4, 5].map((number) => lookups.find(`${number}.test`).catch((error) => error));
  await expect(lookups.find("6.test")).rejects.toThrow(TooManyLookups);
  lookups.close();
  for (const error of await Promise.all(waiting)) expect(error).not.toBeInstanceOf(TooManyLookups);
  await expect(lookups.find("7.test")).rejects.toThrow("closed");
});

test("all servers together have a limit, and each server gets a share", async () => {
  let running = 0;
  const order: number[] = [];
  const release: (() => void)[] = [];
  const proxyFolders = Array.from({ length: 20 }, (_, proxy) =>
    createLookups(() => {
      running += 1;
      order.push(proxy);
      return new Promise((resolve) =>
        release.push(() => {
          running -= 1;
          resolve([]);
        }),
      );
    }),
  );
  const all = proxyFolders.flatMap((proxy) =>
    [1, 2, 3, 4, 5, 6].map((number) => proxy.find(`${number}.test`)),
  );
  expect(running).toBe(32);
  // The first servers used their maximum while there was room; the servers that came later are next.
  const first = order.length;
  while (release.length > 0) {
    for (const one of release.splice(0)) one();
    await new Promise((resolve) => setImmediate(resolve));
    expect(running).toBeLessThanOrEqual(32);
  }
  await Promise.all(all);
  expect(order).toHaveLength(120);
  expect(new Set(order.slice(first, first + 32)).size).toBeGreaterThanOrEqual(12);
});
