// The six phases of routing with their rejections, the errors without a route, and the cache of routes.

import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { contract } from "../../../test/helpers/contracts.ts";
import type { DriverKind } from "../../model/index.ts";
import type { DriverStatus } from "./tier.ts";
import type { ContractPolicy } from "./policy.ts";
import { type Candidate, type PhaseName, resolve, type RouteRequest, type Service } from "./route.ts";
import { RouteCache } from "./route-cache.ts";
import type { CallContext } from "../contract/call-context.ts";
import type { ServerFault, SettledState } from "../verification/verification.ts";

const VERIFIED: SettledState = { kind: "verified", isCurrent: true };
const refused = (reason: string): SettledState => ({ kind: "refused", reason, isPaused: false });
const unavailable = (reason: string, code: ServerFault["code"] = "tool_unavailable"): SettledState => ({
  kind: "unavailable",
  fault: { reason, code, isFinal: false, blame: "server" },
});

const RETRY_DUE: SettledState = {
  kind: "retryDue",
  fault: { reason: "it crashed", code: "tool_unavailable", isFinal: false, blame: "server" },
};

function candidate(
  id: string,
  more: Partial<Omit<Candidate, "status" | "serves">> & {
    status?: Partial<DriverStatus>;
    serves?: Partial<Service>;
  } = {},
): Candidate {
  return {
    id,
    version: "1.0.0",
    kind: "mcp",
    region: ["global"],
    policyTags: [],
    ...more,
    status: { server: VERIFIED, auth: "authed", health: "unknown", isHealthChecked: true, ...more.status },
    serves: [{ tool: "fs-read", range: "^1.0.0", dropInputs: [], ...more.serves }],
  };
}

const run = (drivers: Candidate[], request: Partial<RouteRequest> = {}, policy: ContractPolicy = {}) =>
  resolve({ contract: contract(), inputs: ["path"], ...request }, { drivers, policy });

const rejected = (resolution: ReturnType<typeof run>, phase: PhaseName): Record<string, string> =>
  Object.fromEntries(
    (resolution.phases.find((one) => one.phase === phase)?.rejected ?? []).map(({ driver, reason }) => [
      driver,
      reason,
    ]),
  );

test("a single driver passes all phases", () => {
  const found = run([candidate("a")]);
  expect(found.selected).toBe("a");
  expect(found.phases.map(({ phase, kept }) => [phase, kept])).toEqual(
    ["candidates", "capability", "policy", "pin", "rank", "bind"].map((phase) => [phase, ["a"]]),
  );
});

describe("1 candidates", () => {
  test("reports no_route if no driver serves the contract", () => {
    const other = candidate("a", { serves: { tool: "fs-write" } });
    expect(run([other]).error).toMatchObject({ code: "no_route", nearest: [] });
    expect(run([other]).phases[0]).toEqual({ phase: "candidates", kept: [], rejected: [] });
  });

  test("rejects a wrong contract version, a forbidden kind and a driver that drops a given input", () => {
    const one = contract({ driverConstraints: { forbid: ["cli"], requireKind: ["mcp", "http"] } });
    const found = run(
      [
        candidate("old", { serves: { range: "^2.0.0" } }),
        candidate("cli", { kind: "cli" }),
        candidate("sdk", { kind: "sdk" }),
        candidate("narrow", { serves: { dropInputs: ["tail", "other"] } }),
        candidate("fits"),
      ],
      { contract: one, inputs: ["path", "tail"] },
    );
    expect(found.selected).toBe("fits");
    expect(rejected(found, "candidates")).toEqual({
      old: "it serves the versions ^2.0.0, but the contract has the version 1.2.0",
      cli: "the contract forbids drivers of the kind cli",
      sdk: "the contract requires a driver of the kind mcp or http",
      narrow: "it does not support the inputs tail",
    });
  });

  test("names the inputs if all drivers are rejected because of them (D17)", () => {
    const narrow = candidate("a", { serves: { dropInputs: ["tail"] } });
    expect(run([narrow], { inputs: ["path", "tail"] }).error).toMatchObject({
      code: "input_unsupported",
      fields: ["tail"],
    });
    expect(run([narrow]).selected).toBe("a");
  });
});

describe("2 capability", () => {
  test.each<[string, Partial<DriverStatus>, string, string]>([
    [
      "refused",
      { server: refused("no such tool") },
      "tool_unavailable",
      "it does not match its contracts: no such tool",
    ],
    ["unreachable", { server: unavailable("it crashed") }, "tool_unavailable", "it crashed"],
    [
      "not installed",
      { server: unavailable("no package", "install_failed") },
      "install_failed",
      "no package",
    ],
    ["of the wrong version", { server: unavailable("0.4", "version_mismatch") }, "version_mismatch", "0.4"],
    ["not logged in", { auth: "unauthed" }, "auth_required", "the user is not logged in"],
    ["expired", { auth: "expired" }, "auth_required", "its login has expired"],
    ["unhealthy", { health: "failed" }, "tool_unavailable", "its health check failed"],
    [
      "with a last health check that is too old",
      { health: "stale" },
      "tool_unavailable",
      "its last health check is too old",
    ],
  ])("rejects a driver: %s", (_, status, code, reason) => {
    const found = run([candidate("a", { status })]);
    expect(found.error).toMatchObject({ code, nearest: [{ driver: "a", phase: "capability", reason }] });
    expect(run([candidate("a", { status }), candidate("b")]).selected).toBe("b");
  });

  test.each(["unknown", "logging-in", "authed"] as const)(
    "does not reject a driver with the login state %s",
    (auth) => {
      expect(run([candidate("a", { status: { auth } })]).selected).toBe("a");
    },
  );

  test.each<[string, Partial<DriverStatus>, { alone: string; verifyFirst?: true; beside: string }]>([
    ["verified", {}, { alone: "a", beside: "a" }],
    [
      "verified, then stopped",
      { server: { kind: "verified", isCurrent: false } },
      { alone: "a", beside: "a" },
    ],
    ["unverified", { server: { kind: "unverified" } }, { alone: "a", verifyFirst: true, beside: "a" }],
    ["not health-checked", { isHealthChecked: false }, { alone: "a", verifyFirst: true, beside: "a" }],
    ["retry due", { server: RETRY_DUE }, { alone: "a", beside: "z" }],
  ])("ranks a driver that is %s", (_, status, { alone, verifyFirst, beside }) => {
    const one = candidate("a", { status });
    expect(run([one])).toMatchObject({ selected: alone });
    expect(run([one]).verifyFirst).toBe(undefined);
    const two = run([one, candidate("z")]);
    expect([two.selected, two.verifyFirst]).toEqual([beside, verifyFirst]);
    const isRetried = rejected(two, "capability").a !== undefined;
    expect(isRetried).toBe(beside === "z");
  });

  test("does not reject a driver without a login if the request is only a login", () => {
    expect(run([candidate("a", { status: { auth: "unauthed" } })], { loginOnly: true }).selected).toBe("a");
  });

  test("of several reasons, reports the one that a user can correct", () => {
    const found = run([
      candidate("a", { status: { auth: "unauthed" } }),
      candidate("b", { status: { server: refused("no such tool") } }),
    ]);
    expect(found.error?.code).toBe("auth_required");
  });
});

describe("3 policy", () => {
  const tagged = [
    candidate("a", { policyTags: ["pii-safe", "eu"] }),
    candidate("b", { policyTags: ["cloud"] }),
    candidate("none"),
  ];
  test("one tag of the allowlist is enough, and drivers without tags are rejected (D22)", () => {
    const found = run(tagged, {}, { allowTags: ["pii-safe"] });
    expect(found.phases[2]?.kept).toEqual(["a"]);
    expect(rejected(found, "policy")).toEqual({
      b: "the policy requires the tag pii-safe, and the driver is tagged cloud",
      none: "the policy requires the tag pii-safe, and the driver has no tags",
    });
  });

  test("a denied tag wins over an allowed tag, and tags are case-sensitive", () => {
    expect(run(tagged, {}, { allowTags: ["pii-safe"], denyTags: ["eu"] }).error?.code).toBe(
      "policy_violation",
    );
    expect(run(tagged, {}, { allowTags: ["PII-safe"] }).error?.code).toBe("policy_violation");
  });

  test("a driver needs the region of the request, or global (D19)", () => {
    const drivers = [
      candidate("eu", { region: ["eu-west-1"] }),
      candidate("us", { region: ["us"] }),
      candidate("all"),
    ];
    expect(run(drivers, { region: "eu-west-1" }).phases[2]?.kept).toEqual(["eu", "all"]);
    expect(run(drivers, { region: "eu-west-1" }, { strictRegion: true }).phases[2]?.kept).toEqual(["eu"]);
    expect(run(drivers, { region: "us" }, { strictRegion: true, region: "eu-west-1" }).error?.code).toBe(
      "region_mismatch",
    );
    expect(run([drivers[1] as Candidate], { region: "eu-west-1" }).error).toMatchObject({
      code: "region_mismatch",
      message: expect.stringContaining("us: the driver is in the region us, not in eu-west-1") as string,
    });
  });

  test("tags and regions together leave no route", () => {
    const drivers = [candidate("a", { policyTags: ["cloud"] }), candidate("b", { region: ["us"] })];
    expect(run(drivers, { region: "eu" }, { denyTags: ["cloud"] }).error?.code).toBe("no_route");
  });
});

describe("4 pin", () => {
  test("selects the pinned driver, although it has a lower rank", () => {
    expect(run([candidate("a"), candidate("b")], { pin: "b" }).selected).toBe("b");
  });

  test("reports the phase that rejected the pinned driver", () => {
    const found = run(
      [candidate("a"), candidate("b", { policyTags: ["cloud"] })],
      { pin: "b" },
      { denyTags: ["cloud"] },
    );
    expect(found.error).toMatchObject({
      code: "pinned_provider_unavailable",
      message: expect.stringContaining("the policy denies drivers tagged cloud") as string,
    });
    expect(run([candidate("a")], { pin: "c" }).error?.message).toContain(
      "no such driver serves this contract",
    );
  });
});

describe("5 rank", () => {
  const order = (...drivers: Candidate[]): readonly string[] => run(drivers).phases[4]?.kept ?? [];
  test("defaultImplementation of the contract comes first, unless it was rejected", () => {
    const one = contract({ defaultImplementation: "z" });
    const drivers = [candidate("a", { serves: { cost: { unitsPerCall: 0 } } }), candidate("z")];
    expect(run(drivers, { contract: one }).selected).toBe("z");
    expect(
      run([candidate("a"), candidate("z", { status: { health: "failed" } })], { contract: one }).selected,
    ).toBe("a");
  });

  test("then the lowest price, and a price before a cost class (D18)", () => {
    expect(
      order(
        candidate("dear", { serves: { cost: { costClass: "expensive" } } }),
        candidate("free"),
        candidate("metered", { serves: { cost: { costClass: "metered" } } }),
        candidate("nine", { serves: { cost: { unitsPerCall: 9, costClass: "expensive" } } }),
        candidate("two", { serves: { cost: { unitsPerCall: 2 } } }),
      ),
    ).toEqual(["two", "nine", "free", "metered", "dear"]);
  });

  test("then the kind of the driver", () => {
    const kinds: DriverKind[] = ["cli", "mcp", "http", "sdk", "builtin"];
    expect(order(...kinds.map((kind) => candidate(kind, { kind })))).toEqual([
      "builtin",
      "sdk",
      "http",
      "mcp",
      "cli",
    ]);
  });

  test("then the most recently healthy driver, then alphabetical order", () => {
    expect(
      order(
        candidate("c"),
        candidate("b", { status: { healthyAt: 5 } }),
        candidate("d", { status: { healthyAt: 9 } }),
        candidate("a"),
      ),
    ).toEqual(["d", "b", "a", "c"]);
  });

  test("does not depend on the order of the drivers", () => {
    const drivers = ["a", "b", "c", "d"].map((id, index) =>
      candidate(id, {
        serves: { cost: index % 2 === 0 ? { unitsPerCall: index } : {} },
        status: { healthyAt: index % 3 },
      }),
    );
    const expected = order(...drivers);
    fc.assert(
      fc.property(fc.shuffledSubarray(drivers, { minLength: 4 }), (shuffled) => {
        expect(order(...shuffled)).toEqual(expected);
      }),
    );
  });
});

test("every driver that serves the contract is kept or rejected with a reason, in every phase", () => {
  const some = fc.record({
    region: fc.constantFrom<string[]>(["global"], ["eu"], []),
    policyTags: fc.subarray(["x", "y"]),
    auth: fc.constantFrom<DriverStatus["auth"]>("authed", "unauthed"),
    server: fc.constantFrom<DriverStatus["server"]>(VERIFIED, refused("no such tool")),
  });
  fc.assert(
    fc.property(
      fc.array(some, { maxLength: 5 }),
      fc.option(fc.constantFrom("d0", "d9"), { nil: undefined }),
      (all, pin) => {
        const drivers = all.map(({ region, policyTags, auth, server }, index) =>
          candidate(`d${index}`, { region, policyTags, status: { auth, server } }),
        );
        const found = run(drivers, { region: "eu", pin }, { allowTags: ["x"] });
        let alive = drivers.map(({ id }) => id);
        for (const { kept, rejected: out, phase } of found.phases.slice(0, 4)) {
          expect([...kept, ...out.map(({ driver }) => driver)].toSorted(), phase).toEqual(alive.toSorted());
          expect(out.every(({ reason }) => reason !== "")).toBe(true);
          alive = [...kept];
        }
        expect(found.selected === undefined).toBe(found.error !== undefined);
      },
    ),
  );
});

describe("the route cache", () => {
  test("has an entry for each contract, pin, region, caller and set of relevant inputs", () => {
    let asked = 0;
    const drivers = [candidate("a", { serves: { dropInputs: ["tail"] } }), candidate("b")];
    const [one, other] = [contract(), contract({ version: "2.0.0" })];
    const plain = contract({ id: "fs-list" });
    const routes = new RouteCache({
      policy: {},
      candidates: () => drivers,
      narrowed: () => new Map([[one.id, new Set(["tail"])]]),
    });
    const seen = new Set<unknown>();
    const ask = (request: Partial<RouteRequest>, context: CallContext = {}) => {
      const found = routes.resolve({ contract: one, inputs: ["path"], ...request }, context);
      asked = seen.size;
      return seen.add(found).size > asked ? "anew" : "kept";
    };
    expect(ask({})).toBe("anew");
    expect(ask({})).toBe("kept");
    expect(ask({ inputs: ["path", "other"] })).toBe("kept");
    expect(ask({ inputs: ["path", "tail"] })).toBe("anew");
    expect(ask({ pin: "b" })).toBe("anew");
    expect(ask({ region: "eu" })).toBe("anew");
    expect(ask({}, { userId: "ann" })).toBe("anew");
    expect(ask({}, { workspaceId: "ann" })).toBe("anew");
    expect(ask({}, { userId: "ann" })).toBe("kept");
    expect(ask({ contract: other })).toBe("anew");
    expect(ask({ contract: plain })).toBe("anew");
    expect(ask({ contract: plain, inputs: ["tail"] })).toBe("kept");
    expect(ask({ exclude: ["a"] })).toBe("anew");
    routes.invalidate();
    expect(ask({})).toBe("anew");
  });

  test("removes old callers before it needs too much memory", () => {
    let asked = 0;
    const routes = new RouteCache({
      policy: {},
      candidates: () => {
        asked += 1;
        return [];
      },
      narrowed: () => new Map(),
    });
    const request = { contract: contract(), inputs: [] };
    for (let user = 0; user < 1_001; user += 1) routes.resolve(request, { userId: `${user}` });
    routes.resolve(request, { userId: "0" });
    expect(asked).toBe(1_002);
  });
});
