// Take-over after a reload or a registration: which version of a driver serves, and until when.

import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import {
  binding,
  contract,
  driver,
  object,
  serve,
  TEXT,
  text,
  tool,
} from "../../../test/helpers/contracts.ts";
import { PortolanError } from "../../errors/index.ts";
import type { Driver } from "../../model/index.ts";
import type { Upstream } from "../../upstream/index.ts";
import { type Contracts, openContracts, type OpenContractsOptions } from "../contracts-upstream.ts";

type Starts = (driver: Driver) => Upstream | Promise<Upstream>;

async function open(
  drivers: readonly Driver[],
  acquire: Starts,
  { before, ...more }: Partial<OpenContractsOptions> & { before?: Contracts } = {},
): Promise<Contracts> {
  const contracts = await openContracts(
    {
      contracts: [contract(), contract({ id: "fs-list" })],
      drivers: drivers.map((one) => ({ driver: one })),
      acquire,
      checkUri: () => undefined,
      ...more,
    },
    before,
  );
  onTestFinished(() => contracts.close());
  return contracts;
}

const server = async (says: string, tools = [tool()]): Promise<Upstream> =>
  (await serve({ tools, call: () => text(says) })).upstream;
const ask = async (contracts: Contracts, id = "fs-read"): Promise<unknown> => {
  const { result } = await contracts.call({ tool: id, input: { path: "a" } });
  return result.ok ? result.value : result.error.code;
};
const serving = (contracts: Contracts): string[] =>
  contracts.status().map(({ id, version, server: state }) => `${id}@${version} ${state}`);

/** A server that starts when the test says so. */
function later(): {
  coming: Promise<Upstream>;
  come: (upstream: Upstream) => void;
  fail: (e: Error) => void;
} {
  let come: (upstream: Upstream) => void = () => {};
  let fail: (error: Error) => void = () => {};
  const coming = new Promise<Upstream>((resolve, reject) => {
    come = resolve;
    fail = reject;
  });
  coming.catch(() => {});
  return { coming, come, fail };
}

const next = driver({ version: "1.1.0" });
const lists = driver({ id: "lists-mcp", implements: [binding({ tool: "fs-list" })] });

describe("a take-over by new contracts", () => {
  test("a new driver serves after its verification, and its earlier version until then", async () => {
    const old = await server("old");
    const before = await open([driver(), lists], () => old);
    const { coming, come } = later();
    const quick = await server("quick");
    const begun = performance.now();
    const after = await open([next, lists], ({ id }) => (id === next.id ? coming : quick), { before });
    expect(performance.now() - begun).toBeLessThan(15_000);
    await vi.waitFor(async () => expect(await ask(after, "fs-list")).toBe("quick"));
    expect(await ask(after)).toBe("old");
    expect(serving(after)).toEqual(["files-mcp@1.0.0 verified", "lists-mcp@1.0.0 verified"]);
    expect(before.isHandingOver).toBe(true);
    come(await server("new"));
    await after.settled();
    expect(await ask(after)).toBe("new");
    expect(serving(after)).toEqual(["files-mcp@1.1.0 verified", "lists-mcp@1.0.0 verified"]);
    await vi.waitFor(() => expect(before.isHandingOver).toBe(false));
  });

  test.each([
    ["does not fit", [tool({ inputSchema: object({ other: TEXT }) })], "refused"],
    ["does not start", undefined, "unreachable"],
  ])(
    "a new driver that %s replaces the earlier version once the failure is known",
    async (_, tools, state) => {
      const before = await open([driver()], async () => server("old"));
      const { coming, come, fail } = later();
      const after = await open([next], () => coming, { before });
      expect(await ask(after)).toBe("old");
      if (tools === undefined) fail(new PortolanError("SERVER_START_FAILED", "no"));
      else come(await server("new", tools));
      await after.settled();
      expect(serving(after)).toEqual([`files-mcp@1.1.0 ${state}`]);
      expect(await ask(after)).toBe("tool_unavailable");
    },
  );

  test("a removed driver serves until the driver that now implements its contract is verified", async () => {
    const before = await open([driver(), lists], async () => server("old"));
    const { coming, come } = later();
    const successor = driver({ id: "successor-mcp" });
    const after = await open([successor], () => coming, { before });
    expect(await ask(after)).toBe("old");
    // No new driver serves this contract.
    expect(await ask(after, "fs-list")).toBe("no_route");
    expect(serving(after)).toEqual(["files-mcp@1.0.0 verified", "successor-mcp@1.0.0 unverified"]);
    come(await server("new"));
    await after.settled();
    expect(await ask(after)).toBe("new");
    expect(serving(after)).toEqual(["successor-mcp@1.0.0 verified"]);
  });

  test("a driver that drops a contract serves until the other driver for this contract is verified", async () => {
    const both = driver({ implements: [binding(), binding({ tool: "fs-list" })] });
    const before = await open([both], async () => server("old"));
    const { coming, come } = later();
    const quick = await server("quick");
    const after = await open([next, lists], ({ id }) => (id === lists.id ? coming : quick), { before });
    await sleep(20);
    expect([await ask(after), await ask(after, "fs-list")]).toEqual(["old", "old"]);
    come(await server("new"));
    await after.settled();
    expect([await ask(after), await ask(after, "fs-list")]).toEqual(["quick", "new"]);
  });

  test("a changed contract applies once a verified driver serves it, and a removed contract is gone immediately", async () => {
    const before = await open([driver(), lists], async () => server("old"));
    const { coming, come } = later();
    const promised = contract({ version: "1.3.0", inputs: object({ path: TEXT, depth: TEXT }) });
    const has = [tool({ inputSchema: object({ path: TEXT, depth: TEXT }) })];
    const after = await open([driver()], () => coming, { before, contracts: [promised] });
    expect(await ask(after)).toBe("old");
    expect(await ask(after, "fs-list")).toBe("not_found");
    come(await server("new", has));
    await after.settled();
    expect(await ask(after)).toBe("input_invalid");
    const { result } = await after.call({ tool: "fs-read", input: { path: "a", depth: "1" } });
    expect(result).toMatchObject({ value: "new" });
  });

  test("policy rules apply immediately", async () => {
    const tagged = { policyTags: ["beta"] };
    const before = await open([driver(tagged)], async () => server("old"));
    const after = await open([driver({ ...next, ...tagged })], () => later().coming, {
      before,
      policy: { denyTags: ["beta"] },
    });
    expect(await ask(after)).toBe("policy_violation");
  });

  test("of two changes the last one wins, and the first driver serves until then", async () => {
    const old = await server("old");
    const first = await open([driver()], () => old);
    const [two, three] = [later(), later()];
    const second = await open([next], () => two.coming, { before: first });
    const third = await open([driver({ version: "1.2.0" })], () => three.coming, { before: second });
    two.come(await server("second"));
    await second.settled();
    expect(await ask(third)).toBe("old");
    expect([first.isHandingOver, second.isHandingOver]).toEqual([true, true]);
    three.come(await server("third"));
    await third.settled();
    expect(await ask(third)).toBe("third");
    await vi.waitFor(() => expect([first.isHandingOver, second.isHandingOver]).toEqual([false, false]));
  });

  test("a call that waits for approval is executed by the driver that it was approved for", async () => {
    const old = await server("old");
    const before = await open([driver()], () => old);
    const { coming, come } = later();
    const approval = later();
    const after = await open([next], () => coming, {
      before,
      policy: { approval: "always" },
      approve: async () => (await approval.coming, true),
    });
    const answer = ask(after);
    come(await server("new"));
    await after.settled();
    expect(before.isHandingOver).toBe(true);
    approval.come(old);
    expect(await answer).toBe("old");
    await vi.waitFor(() => expect(before.isHandingOver).toBe(false));
  });

  test("after the earlier contracts close, the new drivers serve, verified or not", async () => {
    const before = await open([driver()], async () => server("old"));
    const { coming, come } = later();
    const after = await open([next], () => coming, { before });
    await before.close();
    const answer = ask(after);
    come(await server("new"));
    expect(await answer).toBe("new");
  });
});

test("registering a driver does not delay calls while other drivers serve its contract", async () => {
  const { coming, come } = later();
  const old = await server("old");
  const contracts = await open([driver()], ({ version, id }) =>
    version === "1.1.0" || id === "cheap-mcp" ? coming : old,
  );
  const cheap = driver({ id: "cheap-mcp", cost: { unitsPerCall: 0 } });
  const registered = [contracts.register(next), contracts.register(cheap)];
  expect(await ask(contracts)).toBe("old");
  come(await server("new"));
  await Promise.all(registered);
  expect(await ask(contracts)).toBe("new");
  contracts.unregister(next.id);
  contracts.unregister(cheap.id);
  expect(serving(contracts)).toEqual([]);
});
