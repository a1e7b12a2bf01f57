// A cheap driver that cannot serve next to an expensive one that can: no call fails because of the cheap one.

import { describe, expect, onTestFinished, test, vi } from "vitest";
import {
  contract,
  driver,
  object,
  secret,
  serve,
  TEXT,
  text,
  tool,
} from "../../../test/helpers/contracts.ts";
import { PortolanError } from "../../errors/index.ts";
import type { Driver } from "../../model/index.ts";
import type { Upstream } from "../../upstream/index.ts";
import { type Contracts, openContracts, type OpenContractsOptions } from "../contracts-upstream.ts";
import { SecretGrants } from "../auth/secret-grants.ts";

const cost = (unitsPerCall: number): Pick<Driver, "cost"> => ({ cost: { unitsPerCall } });
const dear = driver({ id: "dear-mcp", ...cost(9) });
const cheap = (more: Partial<Driver> = {}): Driver => driver({ id: "cheap-mcp", ...cost(1), ...more });

async function open(
  drivers: readonly Driver[],
  acquire: OpenContractsOptions["acquire"],
  more: Partial<OpenContractsOptions> = {},
): Promise<Contracts> {
  const contracts = await openContracts({
    contracts: [contract()],
    drivers: drivers.map((one) => ({ driver: one })),
    acquire,
    checkUri: () => undefined,
    ...more,
  });
  onTestFinished(() => contracts.close());
  return contracts;
}

const server = async (says: string): Promise<Upstream> =>
  (await serve({ tools: [tool()], call: () => text(says) })).upstream;

const ask = async (contracts: Contracts): Promise<unknown> => {
  const { result } = await contracts.call({ tool: "fs-read", input: { path: "a" } });
  return result.ok ? result.value : result.error.code;
};

/** Repeats a call until something has happened; returns the distinct answers. */
async function askUntil(contracts: Contracts, happened: () => void): Promise<unknown[]> {
  const answers: unknown[] = [];
  await vi.waitFor(
    async () => {
      answers.push(await ask(contracts));
      happened();
    },
    { interval: 50 },
  );
  return [...new Set(answers)];
}

describe("a cheaper driver that failed", () => {
  test.each(["eager", "lazy"] as const)("is verified again in the background, %s", async (probe) => {
    const good = await server("dear");
    const mended = await server("cheap");
    const starts = vi.fn();
    let broken = true;
    const contracts = await open(
      [cheap(), dear],
      async ({ id }) => {
        if (id === dear.id) return good;
        starts();
        if (broken) throw new PortolanError("SERVER_START_FAILED", "broken");
        return mended;
      },
      { probe },
    );
    const during = await askUntil(contracts, () => expect(starts.mock.calls.length).toBeGreaterThan(2));
    expect(during).toEqual(["dear"]);
    broken = false;
    const after = await askUntil(contracts, () =>
      expect(contracts.explain("fs-read")?.selected).toBe(cheap().id),
    );
    expect(["dear", "cheap"]).toEqual(expect.arrayContaining(after));
    expect(await ask(contracts)).toBe("cheap");
  });

  test("is tried by the call if it is the only driver", async () => {
    const mended = await server("cheap");
    let broken = true;
    const contracts = await open([cheap()], async () => {
      if (broken) throw new PortolanError("SERVER_START_FAILED", "broken");
      return mended;
    });
    expect(await ask(contracts)).toBe("tool_unavailable");
    broken = false;
    await vi.waitFor(() => expect(contracts.status()).toMatchObject([{ server: "unverified" }]), 5_000);
    expect(await ask(contracts)).toBe("cheap");
  });

  test.each(["VERSION_MISMATCH", "PLATFORM_UNSUPPORTED"] as const)(
    "with %s is never tried again until it is registered again",
    async (code) => {
      vi.useFakeTimers({ toFake: ["setTimeout"] });
      onTestFinished(() => void vi.useRealTimers());
      const starts = vi.fn();
      const good = await server("cheap");
      let broken = true;
      const acquire = async (): Promise<Upstream> => {
        starts();
        if (broken) throw new PortolanError(code, "not for this machine");
        return good;
      };
      const contracts = await open([cheap()], acquire);
      await vi.advanceTimersByTimeAsync(600_000);
      expect(await ask(contracts)).toBe(
        code === "VERSION_MISMATCH" ? "version_mismatch" : "tool_unavailable",
      );
      expect(contracts.status()).toMatchObject([{ server: "unreachable" }]);
      expect(starts).toHaveBeenCalledTimes(1);
      broken = false;
      await contracts.register(cheap({ version: "1.0.1" }));
      expect(await ask(contracts)).toBe("cheap");
    },
  );

  test("because of a timeout of tools/list gets no calls, either", async () => {
    const good = await server("dear");
    const bad = await serve({
      tools: [tool({ inputSchema: object({ other: TEXT }) })],
      call: () => text(""),
    });
    const hangs = Object.create(bad.upstream, {
      request: { value: () => Promise.reject(new PortolanError("TIMEOUT", "no answer")) },
      on: { value: bad.upstream.on.bind(bad.upstream) },
      describe: { value: bad.upstream.describe.bind(bad.upstream) },
    }) as Upstream;
    const contracts = await open([cheap(), dear], ({ id }) => (id === dear.id ? good : hangs), {
      probe: "lazy",
    });
    expect(await ask(contracts)).toBe("dear");
    expect(contracts.status()).toMatchObject([{ server: "unreachable" }, { server: "verified" }]);
  });
});

describe("a cheaper driver without its secret", () => {
  const endpoint = { transport: "stdio", command: "x", env: { K: "${secrets.API_KEY}" } } as const;
  const needy = cheap({ endpoint });
  const secretsOf = (tool_: string | undefined, value: () => string | undefined): SecretGrants =>
    new SecretGrants(
      tool_ === undefined ? [] : [secret({ access: { reveal: [], bind: [{ tool: tool_ }], rotate: [] } })],
      async () => value(),
    );
  const openWith = async (secrets: SecretGrants, drivers: readonly Driver[]): Promise<Contracts> => {
    const [good, own] = [await server("dear"), await server("cheap")];
    const acquire: OpenContractsOptions["acquire"] = async (one, { tool: called, context }) => {
      if (one.id === dear.id) return good;
      await secrets.bind(one, called, context);
      return own;
    };
    return open(drivers, acquire, { secrets });
  };

  test.each([
    ["no value", "fs-read", "auth_required"],
    ["no entry", undefined, "unauthorised"],
    ["no grant", "another-tool", "unauthorised"],
  ])("(%s) is rejected with the reason, and another driver serves the call", async (_, granted, code) => {
    const secrets = secretsOf(granted, () => undefined);
    const contracts = await openWith(secrets, [needy, dear]);
    const { selected, phases } = contracts.explain("fs-read") ?? {};
    expect(selected).toBe(dear.id);
    expect(phases?.[1]).toMatchObject({ phase: "capability", rejected: [{ driver: needy.id, code }] });
    expect(await ask(contracts)).toBe("dear");
    const alone = await openWith(secrets, [needy]);
    expect(alone.explain("fs-read")?.error).toMatchObject({ code });
    expect(await ask(alone)).toBe(code);
  });

  test("serves after the value is set: immediately if it is the only driver, else soon", async () => {
    const values: string[] = [];
    const secrets = secretsOf("fs-read", () => values[0]);
    const contracts = await openWith(secrets, [needy, dear]);
    const alone = await openWith(secrets, [needy]);
    expect([await ask(contracts), await ask(alone)]).toEqual(["dear", "auth_required"]);
    values.push("v");
    expect(await ask(alone)).toBe("cheap");
    const selected = (): void => expect(contracts.explain("fs-read")?.selected).toBe(needy.id);
    expect(["dear", "cheap"]).toEqual(expect.arrayContaining(await askUntil(contracts, selected)));
    expect(await ask(contracts)).toBe("cheap");
  });

  test("is selected only for callers whose role has the grant", async () => {
    const access = { reveal: [], bind: [{ role: "admin" }], rotate: [] };
    const secrets = new SecretGrants([secret({ access })], async () => "v");
    const contracts = await openWith(secrets, [needy, dear]);
    expect(contracts.explain("fs-read", { userId: "ann" })?.selected).toBe(dear.id);
    expect(contracts.explain("fs-read", { userId: "ann", roles: ["admin"] })?.selected).toBe(needy.id);
  });
});

describe("a cheaper driver that is unhealthy", () => {
  const healthCheck = { method: "exec", command: "check", timeoutMs: 500 } as const;

  test.each(["eager", "lazy"] as const)("is health-checked before its first call, %s", async (probe) => {
    const both = { "cheap-mcp": await server("cheap"), "dear-mcp": await server("dear") };
    const run = vi.fn(async () => ({ exitCode: 1 }));
    const contracts = await open([cheap({ healthCheck }), dear], ({ id }) => both[id as keyof typeof both], {
      probe,
      auth: { run },
    });
    expect(await ask(contracts)).toBe("dear");
    expect(run).toHaveBeenCalledTimes(1);
    expect(contracts.status()).toMatchObject([
      { server: "verified", health: "failed" },
      { server: "verified" },
    ]);
    const { phases } = contracts.explain("fs-read") ?? {};
    expect(phases?.[1]).toMatchObject({ rejected: [{ driver: cheap().id, code: "tool_unavailable" }] });
  });

  test("and the only driver is health-checked again after a while", async () => {
    vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
    onTestFinished(() => void vi.useRealTimers());
    const own = await server("cheap");
    let exitCode = 1;
    const contracts = await open([cheap({ healthCheck })], () => own, {
      auth: { run: async () => ({ exitCode }) },
    });
    expect(await ask(contracts)).toBe("tool_unavailable");
    exitCode = 0;
    await vi.advanceTimersByTimeAsync(60_000);
    await vi.waitFor(() => expect(contracts.status()).toMatchObject([{ health: "healthy" }]));
    expect(await ask(contracts)).toBe("cheap");
  });
});
