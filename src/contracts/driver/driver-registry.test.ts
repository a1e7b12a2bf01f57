// Drivers whose servers hang, change, fail or end: the state for each caller, and the pauses.

import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import {
  binding,
  contract,
  driver,
  type FakeServer,
  object,
  type OpenedServer,
  serve,
  TEXT,
  text,
  tool,
} from "../../../test/helpers/contracts.ts";
import { type Diagnostic, PortolanError } from "../../errors/index.ts";
import type { Call, Upstream } from "../../upstream/index.ts";
import { type Contracts, openContracts, type OpenContractsOptions } from "../contracts-upstream.ts";
import type { Dispatched } from "../dispatch/contract-call.ts";

const OTHER = tool({ inputSchema: object({ other: TEXT }) });

async function open(options: Partial<OpenContractsOptions> & Pick<OpenContractsOptions, "acquire">): Promise<{
  contracts: Contracts;
  diagnostics: Diagnostic[];
}> {
  const diagnostics: Diagnostic[] = [];
  const contracts = await openContracts({
    contracts: [contract()],
    drivers: [{ driver: driver() }],
    checkUri: () => undefined,
    report: (diagnostic) => diagnostics.push(diagnostic),
    ...options,
  });
  onTestFinished(() => contracts.close());
  return { contracts, diagnostics };
}

const call = (contracts: Contracts, userId?: string): Promise<Dispatched> =>
  contracts.call({ tool: "fs-read", input: { path: "a" }, context: { userId } });

/** The same server, with some of its requests answered by the test. */
function watched(upstream: Upstream, answer: (one: Call) => ReturnType<Upstream["request"]> | undefined) {
  const request = (one: Call): ReturnType<Upstream["request"]> => answer(one) ?? upstream.request(one);
  return Object.create(upstream, {
    request: { value: request },
    on: { value: upstream.on.bind(upstream) },
    describe: { value: upstream.describe.bind(upstream) },
  }) as Upstream;
}

describe("a server that does not finish its start", () => {
  const both = [
    { driver: driver() },
    { driver: driver({ id: "hung", implements: [binding({ tool: "fs-hang" })] }) },
  ];
  const contracts = [contract(), contract({ id: "fs-hang" })];

  test("does not affect other drivers, and its failure is reported", async () => {
    const { upstream } = await serve({ tools: [tool()], call: () => text("x") });
    let end: (error: Error) => void = () => {};
    const hangs = new Promise<never>((_, reject) => (end = reject));
    const begun = performance.now();
    const opened = await open({
      contracts,
      drivers: both,
      acquire: ({ id }) => (id === "hung" ? hangs : upstream),
    });
    expect(performance.now() - begun).toBeLessThan(15_000);
    expect(opened.contracts.status()).toMatchObject([{ server: "verified" }, { server: "unverified" }]);
    expect((await call(opened.contracts)).result.ok).toBe(true);
    let settled = false;
    const settling = opened.contracts.settled().then(() => (settled = true));
    await sleep(20);
    expect(settled).toBe(false);
    end(new PortolanError("SERVER_START_FAILED", "too late"));
    await settling;
    expect(opened.diagnostics).toMatchObject([{ severity: "warning", server: "hung" }]);
    expect(opened.contracts.status()).toMatchObject([{ server: "verified" }, { server: "unreachable" }]);
  });

  test("does not delay close, and its failure is not reported after close", async () => {
    let end: (error: Error) => void = () => {};
    const hangs = new Promise<never>((_, reject) => (end = reject));
    const opened = await open({ acquire: () => hangs });
    const settling = opened.contracts.settled();
    await opened.contracts.close();
    await settling;
    end(new PortolanError("SERVER_START_FAILED", "too late"));
    await sleep(5);
    expect(opened.diagnostics).toEqual([]);
  });

  test("is waited for only for a short time; a later start sends toolsChanged", async () => {
    const { upstream } = await serve({ tools: [OTHER], call: () => text("x") });
    const quick = await open({ acquire: () => sleep(50, upstream) });
    expect((await quick.contracts.request({ method: "tools/list" })).tools).toEqual([]);
    const late = await open({ acquire: () => sleep(1_200, upstream) });
    expect((await late.contracts.request({ method: "tools/list" })).tools).toHaveLength(1);
    const news = vi.fn();
    late.contracts.on("toolsChanged", news);
    await late.contracts.settled();
    expect(news).toHaveBeenCalledTimes(1);
    expect((await late.contracts.request({ method: "tools/list" })).tools).toEqual([]);
  });
});

describe("users with their own processes", () => {
  const env = { K: "${secrets.API_KEY}" };
  const own = { driver: driver({ endpoint: { transport: "stdio", command: "x", env } }) };
  type One = OpenedServer & { server: FakeServer };
  const one = async (who: string): Promise<One> => {
    const server: FakeServer = { tools: [tool()], call: () => text(who) };
    return { server, ...(await serve(server)) };
  };
  const servers = async (): Promise<{ ann: One; bob: One }> => ({
    ann: await one("ann"),
    bob: await one("bob"),
  });
  const of = (all: { ann: One; bob: One }, who: string | undefined): Upstream =>
    who === "ann" ? all.ann.upstream : all.bob.upstream;

  test("a process that no longer matches its contract is not used, and the processes of others are", async () => {
    const all = await servers();
    const { contracts } = await open({
      drivers: [own],
      probe: "lazy",
      acquire: (_, { context }) => of(all, context.userId),
    });
    for (const who of ["ann", "bob"])
      expect((await call(contracts, who)).result).toMatchObject({ value: who });
    all.ann.server.tools = [OTHER];
    all.ann.changed();
    await vi.waitFor(() =>
      expect(contracts.status({ userId: "ann" })).toMatchObject([{ server: "refused" }]),
    );
    expect(contracts.status({ userId: "bob" })).toMatchObject([{ server: "verified" }]);
    expect((await call(contracts, "bob")).result).toMatchObject({ value: "bob" });
    // A successful verification of one process does not change the state of the other one.
    await sleep(250);
    all.bob.changed();
    await sleep(50);
    expect((await call(contracts, "bob")).result).toMatchObject({ value: "bob" });
    expect((await call(contracts, "ann")).result).toMatchObject({ error: { code: "tool_unavailable" } });
    expect(all.ann.calls).toHaveLength(1);
    const { phases } = contracts.explain("fs-read", { userId: "ann" }) ?? {};
    expect(phases?.[1]?.rejected).toMatchObject([{ driver: "files-mcp" }]);
    expect(contracts.explain("fs-read", { userId: "bob" })?.selected).toBe("files-mcp");
  });

  test("a process that does not start does not affect the calls of other users", async () => {
    const all = await servers();
    const starts = vi.fn();
    const { contracts } = await open({
      drivers: [own],
      probe: "lazy",
      acquire: (_, { context: { userId } }) => {
        if (userId !== "eve") return of(all, userId);
        starts();
        throw new PortolanError("SERVER_START_FAILED", "no such key");
      },
    });
    expect((await call(contracts, "ann")).result).toMatchObject({ value: "ann" });
    for (const _ of [1, 2])
      expect((await call(contracts, "eve")).result).toMatchObject({ error: { code: "tool_unavailable" } });
    expect(starts).toHaveBeenCalledTimes(1);
    expect((await call(contracts, "ann")).result).toMatchObject({ value: "ann" });
    // A user without a process may try.
    expect((await call(contracts, "bob")).result).toMatchObject({ value: "bob" });
    expect(contracts.status({ userId: "eve" })).toMatchObject([{ server: "unreachable" }]);
  });
});

test("many calls that wait for one failed start count as one failure", async () => {
  const { upstream } = await serve({ tools: [tool()], call: () => text("x") });
  let broken = true;
  const { contracts } = await open({
    probe: "lazy",
    acquire: async () => {
      await sleep(20);
      if (broken) throw new PortolanError("SERVER_START_FAILED", "no such program");
      return upstream;
    },
  });
  await Promise.all(Array.from({ length: 8 }, () => call(contracts)));
  expect(contracts.status()).toMatchObject([{ server: "unreachable" }]);
  broken = false;
  await sleep(1_100);
  expect((await call(contracts)).result).toMatchObject({ ok: true });
});

test("a server that ends during its verification is not restarted by each call", async () => {
  const starts = vi.fn();
  const { contracts } = await open({
    acquire: async () => {
      starts();
      const { upstream } = await serve({ tools: [tool()], call: () => text("x") });
      return watched(upstream, ({ method }) => {
        if (method !== "tools/list") return undefined;
        return upstream.close().then(() => upstream.request({ method }));
      });
    },
  });
  expect(contracts.status()).toMatchObject([{ server: "unreachable" }]);
  expect((await call(contracts)).result).toMatchObject({ error: { code: "tool_unavailable" } });
  expect(starts).toHaveBeenCalledTimes(1);
});

describe("a running server", () => {
  test("is verified again by the next call if one tools/list fails", async () => {
    const { upstream, changed } = await serve({ tools: [tool()], call: () => text("x") });
    let failing = false;
    const lists = vi.fn();
    const flaky = watched(upstream, ({ method }) => {
      if (method !== "tools/list") return undefined;
      lists();
      return failing ? Promise.reject(new PortolanError("TIMEOUT", "no answer")) : undefined;
    });
    const { contracts } = await open({ acquire: () => flaky });
    failing = true;
    changed();
    await vi.waitFor(() => expect(lists).toHaveBeenCalledTimes(2));
    await sleep(5);
    failing = false;
    expect((await call(contracts)).result).toMatchObject({ ok: true });
    expect((await call(contracts)).result).toMatchObject({ ok: true });
    expect(lists).toHaveBeenCalledTimes(3);
  });

  test("is used again after a failed list when it sends tools/list_changed", async () => {
    const { upstream, changed } = await serve({ tools: [tool()], call: () => text("x") });
    let failing = false;
    const flaky = watched(upstream, ({ method }) =>
      failing && method === "tools/list"
        ? Promise.reject(new PortolanError("CONNECTION_LOST", "broke"))
        : undefined,
    );
    const { contracts } = await open({ acquire: () => flaky });
    failing = true;
    changed();
    await vi.waitFor(() => expect(contracts.status()).toMatchObject([{ server: "unreachable" }]));
    failing = false;
    await sleep(250);
    changed();
    await vi.waitFor(() => expect(contracts.status()).toMatchObject([{ server: "verified" }]));
    expect((await call(contracts)).result).toMatchObject({ ok: true });
  });

  test("that lists its tools slowly does not delay a call beyond its timeout", async () => {
    const { upstream, changed } = await serve({ tools: [tool()], call: () => text("x") });
    let hangs = false;
    const slow = watched(upstream, ({ method }) =>
      hangs && method === "tools/list" ? new Promise(() => {}) : undefined,
    );
    const { contracts } = await open({ acquire: () => slow, contracts: [contract({ timeoutMs: 100 })] });
    hangs = true;
    changed();
    await sleep(5);
    const begun = performance.now();
    expect((await call(contracts)).result).toMatchObject({ error: { code: "timeout" } });
    expect(performance.now() - begun).toBeLessThan(15_000);
  });

  test("that was refused is tried again after it ended, after a pause", async () => {
    const bad = await serve({ tools: [OTHER], call: () => text("bad") });
    const good = await serve({ tools: [tool()], call: () => text("good") });
    let upstream = bad.upstream;
    const { contracts } = await open({ acquire: () => upstream });
    expect(contracts.status()).toMatchObject([{ server: "refused" }]);
    upstream = good.upstream;
    await bad.upstream.close();
    expect(contracts.status()).toMatchObject([{ server: "refused" }]);
    await vi.waitFor(() => expect(contracts.status()).toMatchObject([{ server: "unverified" }]), 3_000);
    expect((await call(contracts)).result).toMatchObject({ value: "good" });
    expect(contracts.status()).toMatchObject([{ server: "verified", problems: [] }]);
  });
});

test("the reason of a mismatch names the driver once, with the hint", async () => {
  const { upstream } = await serve({ tools: [tool({ name: "read_files" })], call: () => text("x") });
  const { contracts } = await open({ acquire: () => upstream });
  const { result } = await call(contracts);
  const { id } = driver();
  const [{ reason = "" } = {}] = contracts.status();
  expect(reason).toMatch(/: the server has no tool "\w+"\. Did you mean "read_files"\?/);
  expect(reason.split(id)).toHaveLength(2);
  expect(result).toMatchObject({ ok: false, error: { message: expect.stringContaining(reason) as string } });
});

test("the status of a refused driver contains the contracts of its file", async () => {
  const { upstream } = await serve({ tools: [tool()], call: () => text("x") });
  const refused = driver({ implements: [binding({ range: "^9.0.0" })] });
  const { contracts } = await open({ drivers: [{ driver: refused }], acquire: () => upstream });
  expect(contracts.status()).toMatchObject([{ server: "refused", contracts: [contract().id] }]);
});
