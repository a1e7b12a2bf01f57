// Failover: calls that move to the next driver when the first one fails.

import { expect, test } from "vitest";
import { contract, driver, serve, text, tool } from "../../../test/helpers/contracts.ts";
import { PortolanError } from "../../errors/index.ts";
import type { Upstream } from "../../upstream/index.ts";
import { type Contracts, openContracts, type OpenContractsOptions } from "../contracts-upstream.ts";
import type { Dispatched } from "./contract-call.ts";

test("a call that was never sent moves to the next driver, whatever the policy", async () => {
  const good = await serve({ tools: [tool()], call: () => text("good") });
  const open = (policy: OpenContractsOptions["policy"], failure: PortolanError): Promise<Contracts> =>
    openContracts({
      contracts: [contract()],
      drivers: ["a-bad", "b-good"].map((id) => ({ driver: driver({ id }) })),
      acquire: ({ id }) => (id === "a-bad" ? overrides(good.upstream, failure) : good.upstream),
      policy,
      checkUri: () => undefined,
    });
  const call = async (failure: PortolanError): Promise<Dispatched> =>
    (await open({ fallback: false }, failure)).call({ tool: "fs-read", input: { path: "a" } });
  const lost = new PortolanError("SERVER_CRASHED", "it crashed");
  const unsent = new PortolanError("SERVER_CRASHED", "it crashed", { data: { neverRan: true } });
  expect(await call(unsent)).toMatchObject({ driver: "b-good", result: { ok: true } });
  expect(await call(new PortolanError("SERVER_UNAVAILABLE", "it is down"))).toMatchObject({
    driver: "b-good",
  });
  // This call may have run.
  expect(await call(lost)).toMatchObject({
    driver: "a-bad",
    result: { error: { code: "upstream_error" } },
  });
});

test("a preferred driver that starts slowly does not delay calls if another driver is verified", async () => {
  const good = await serve({ tools: [tool()], call: () => text("good") });
  let start: (upstream: Upstream) => void = () => {};
  let starts = 0;
  const starting = new Promise<Upstream>((resolve) => (start = resolve));
  const reasons: (string | undefined)[] = [];
  const contracts = await openContracts({
    audit: (event) => {
      if (event.type === "driver.resolved") reasons.push(event.rejected[0]?.reason);
    },
    contracts: [contract()],
    drivers: ["a-slow", "b-good"].map((id) => ({ driver: driver({ id }) })),
    acquire: ({ id }) => {
      if (id === "b-good") return good.upstream;
      starts += 1;
      return starting;
    },
    checkUri: () => undefined,
  });
  const call = async (): Promise<string | undefined> =>
    (await contracts.call({ tool: "fs-read", input: { path: "a" } })).driver;
  // The first call waits a few seconds, because most servers start in that time. The next ones do not wait.
  expect(await call()).toBe("b-good");
  const before = performance.now();
  const waiting = starts;
  const still = "its server is still being installed or verified";
  expect(reasons).toEqual([still]);
  expect(contracts.status()[0]).toMatchObject({ id: "a-slow", server: "unverified", reason: still });
  expect([await call(), await call()]).toEqual(["b-good", "b-good"]);
  expect(performance.now() - before).toBeLessThan(4_000);
  expect(starts).toBe(waiting);
  start(good.upstream);
  await contracts.settled();
  expect(contracts.status()[0]?.reason).toBeUndefined();
  expect(await call()).toBe("a-slow");
});

/** The same server, with failing tool calls. */
function overrides(upstream: Upstream, failure: PortolanError): Upstream {
  return {
    name: upstream.name,
    describe: () => upstream.describe(),
    request: (call) => (call.method === "tools/call" ? Promise.reject(failure) : upstream.request(call)),
    notify: () => {},
    subscribe: (uri) => upstream.subscribe(uri),
    setLogLevel: async () => {},
    on: (event, listener) => upstream.on(event, listener),
    stats: () => upstream.stats(),
    close: async () => {},
    [Symbol.asyncDispose]: async () => {},
  };
}
