// Contract calls against live servers: checks, arguments, retries, and the result of every failure.

import { describe, expect, test } from "vitest";
import {
  binding,
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
import { type Answers, invoke, make, type Made } from "../../../test/helpers/one-driver.ts";
import type { Contract } from "../../model/index.ts";
import type { Upstream } from "../../upstream/index.ts";
import type { AuditEvent } from "./audit.ts";
import { openContracts, type OpenContractsOptions } from "../contracts-upstream.ts";
import { SecretGrants } from "../auth/secret-grants.ts";
import type { DriverHooks } from "../driver/bound-tool.ts";

test("a call validates the input, maps the arguments, and extracts and validates the output", async () => {
  const made = await make(
    (_, args) => ({ content: [], structuredContent: { contents: `<${String(args.file)}>` } }),
    {
      driver: { implements: [binding({ argumentMapping: { path: "file" }, resultExtract: "$.contents" })] },
      tools: [{ inputSchema: object({ file: TEXT }), outputSchema: object({ contents: TEXT }) }],
    },
  );
  const { result, driver: served } = await invoke(made);
  expect(result).toEqual({ ok: true, value: "<a>", ms: expect.any(Number) as number });
  expect(served).toBe("files-mcp");
  expect(made.calls).toEqual([{ name: "read_file", arguments: { file: "a" } }]);
});

test("invalid input is refused before any server gets it", async () => {
  const made = await make(() => text("x"));
  expect((await invoke(made, { path: 1 })).result).toMatchObject({
    ok: false,
    error: { code: "input_invalid", field: "path" },
  });
  expect((await made.contracts.call({ tool: "fs-raed" })).result).toMatchObject({
    error: { code: "not_found", message: expect.stringContaining('"fs-read"') as string },
  });
  expect(made.calls).toEqual([]);
});

test("an input that no driver supports fails the call and is named", async () => {
  const inputs = object({ path: TEXT, tail: { type: "integer", default: 3 } }, ["path"]);
  const made = await make(() => text("x"), {
    contract: { inputs },
    driver: { implements: [binding({ dropInputs: ["tail"] })] },
  });
  expect((await invoke(made, { path: "a", tail: 1 })).result).toMatchObject({
    error: { code: "input_unsupported", field: "tail" },
  });
  // A default is not an input of the caller.
  expect((await invoke(made)).result).toMatchObject({ ok: true });
  expect(made.calls).toEqual([{ name: "read_file", arguments: { path: "a" } }]);
});

test("an error result of the tool is an upstream_error that is not retried (D27)", async () => {
  const made = await make(() => text("disk full", { isError: true }), {
    contract: { idempotent: true, retry: { maxAttempts: 3, backoff: "fixed", initialMs: 0 } },
  });
  expect((await invoke(made)).result).toMatchObject({
    error: { code: "upstream_error", message: "disk full", retryable: false },
  });
  expect(made.calls).toHaveLength(1);
});

test("an output that does not match the contract is refused", async () => {
  const made = await make(() => text('{"n":"one"}'), {
    contract: { outputs: object({ n: { type: "integer" } }) },
  });
  expect((await invoke(made)).result).toMatchObject({
    error: { code: "output_parse_failed", message: expect.stringContaining("/n") as string },
  });
});

describe("approval of calls", () => {
  const mutates = ["workspace:files"];
  test("is refused if no approver exists", async () => {
    const made = await make(() => text("x"), { contract: { approval: "on-mutate", mutates } });
    expect((await invoke(made)).result).toMatchObject({
      error: { code: "unauthorised", message: expect.stringContaining("changes workspace:files") as string },
    });
    expect(made.calls).toEqual([]);
  });

  test.each([
    ["auto", undefined, [], false],
    ["auto", "always", [], true],
    ["auto", "on-mutate", mutates, true],
    ["on-mutate", "auto", mutates, true],
    ["on-mutate", "auto", [], false],
    ["always", "auto", [], true],
    ["policy:two-people", undefined, [], true],
  ] as const)(
    "uses the stricter of the contract (%s) and the host (%s)",
    async (approval, host, changes, asked) => {
      const reasons: string[] = [];
      const approve = async ({ reason }: { reason: string }): Promise<boolean> => reasons.push(reason) > 0;
      const made = await make(() => text("x"), {
        contract: { approval, mutates: changes },
        options: { approve, policy: { approval: host } },
      });
      expect((await invoke(made)).result.ok).toBe(true);
      expect(reasons.length > 0).toBe(asked);
    },
  );

  test("that is denied fails the call with the reason of the denial", async () => {
    const made = await make(() => text("x"), {
      contract: { approval: "always" },
      options: { approve: async () => "not on Fridays" },
    });
    expect((await invoke(made)).result).toMatchObject({
      error: { code: "unauthorised", message: expect.stringContaining("not on Fridays") as string },
    });
  });

  test("that is missing or denied is written to the audit log", async () => {
    const made = await make(() => text("x"), { contract: { approval: "always" } });
    await invoke(made, undefined, { context: { userId: "ann", workspaceId: "w" } });
    expect(made.events).toMatchObject([
      { type: "driver.resolved", selected: "files-mcp", user: "ann", workspace: "w" },
      { type: "driver.invoked", tool_id: "fs-read", user: "ann", ok: false, code: "unauthorised" },
    ]);
    const asked = await make(() => text("x"), {
      contract: { approval: "always" },
      options: { approve: async () => "not on Fridays" },
    });
    await invoke(asked);
    expect(asked.events.at(-1)).toMatchObject({ type: "driver.invoked", ok: false, code: "unauthorised" });
    expect(asked.calls).toEqual([]);
  });

  test("is not needed if the policy allows unattended calls, and is needed for risky calls", async () => {
    const free = await make(() => text("x"), {
      contract: { approval: "always" },
      options: { policy: { unattended: "allow" } },
    });
    expect((await invoke(free)).result.ok).toBe(true);
    const risky = await make(() => text("x"), {
      contract: { riskLevel: 2 },
      options: { policy: { approveFromRisk: 2 } },
    });
    expect((await invoke(risky)).result).toMatchObject({ error: { code: "unauthorised" } });
  });
});

describe("timeouts", () => {
  const slow: Answers = () => new Promise(() => {});
  test("the timeout of the contract ends a call", async () => {
    const made = await make(slow, { contract: { timeoutMs: 60 } });
    expect((await invoke(made)).result).toMatchObject({ error: { code: "timeout" } });
  });

  test("a shorter timeout of the driver or of the caller ends a call", async () => {
    const made = await make(slow, { contract: { timeoutMs: 60_000 }, driver: { timeoutMs: 50 } });
    expect((await invoke(made)).result).toMatchObject({ error: { code: "timeout" } });
    const patient = await make(slow, { contract: { timeoutMs: 60_000 } });
    expect((await invoke(patient, undefined, { timeoutMs: 50 })).result).toMatchObject({
      error: { code: "timeout" },
    });
  });

  test("the timeout of the connection also ends a call", async () => {
    const made = await make(slow, {
      contract: { timeoutMs: 60_000 },
      driver: { connection: { timeoutMs: 50 } },
    });
    expect((await invoke(made)).result).toMatchObject({ error: { code: "timeout" } });
  });

  test("one timeout includes all drivers and attempts of a call", async () => {
    const retry = { maxAttempts: 5, backoff: "fixed", initialMs: 1 } as const;
    const { upstream, calls } = await serve({ tools: [tool()], call: slow });
    const contracts = await openContracts({
      contracts: [contract({ timeoutMs: 300, idempotent: true, retry })],
      drivers: ["a", "b", "c"].map((id) => ({ driver: driver({ id, timeoutMs: 200 }) })),
      acquire: async () => upstream,
      checkUri: () => undefined,
      policy: { fallback: true },
    });
    expect(await contracts.call({ tool: "fs-read", input: { path: "a" } })).toMatchObject({
      result: { error: { code: "timeout" } },
    });
    // Each driver alone has 200 ms of the 300: the third would be called only if each had the whole time.
    expect(calls.length).toBeLessThan(3);
  });

  test("a cancelled call ends immediately", async () => {
    const made = await make(slow);
    const leaving = AbortSignal.timeout(30);
    expect((await invoke(made, undefined, { signal: leaving })).result).toMatchObject({
      error: { code: "cancelled" },
    });
  });
});

test("a failed call says that it never ran, if no attempt reached a server", async () => {
  const refused = await make(() => text("x"), { contract: { approval: "always" } });
  expect(await invoke(refused)).toMatchObject({
    neverRan: true,
    result: { error: { code: "unauthorised" } },
  });
  expect(await invoke(refused, { path: 1 })).toMatchObject({ neverRan: true });
  const over = { charge: () => ({ message: "too little left", retryAfterMs: 5 }) };
  expect(await invoke(await make(() => text("x")), undefined, over)).toMatchObject({ neverRan: true });
  const failed = await make(() => text("no", { isError: true }));
  expect((await invoke(failed)).neverRan).toBeUndefined();
});

describe("retries (D16)", () => {
  const retry = { maxAttempts: 3, backoff: "exponential", initialMs: 1 } as const;
  /** Fails this number of times, then answers. */
  const failing = async (
    times: number,
    error: PortolanError,
    one: Partial<Contract>,
  ): Promise<{ made: Made; tries: () => number }> => {
    let tries = 0;
    const made = await make(() => text("x"), { contract: { retry, ...one } });
    const { upstream } = await serve({ tools: [tool()], call: () => text("x") });
    const flaky = Object.create(upstream, {
      request: {
        value: (call: Parameters<Upstream["request"]>[0]) =>
          call.method === "tools/call" && (tries += 1) <= times
            ? Promise.reject(error)
            : upstream.request(call),
      },
      on: { value: upstream.on.bind(upstream) },
      describe: { value: upstream.describe.bind(upstream) },
    }) as Upstream;
    const contracts = await openContracts({
      contracts: [contract({ retry, ...one })],
      drivers: [{ driver: driver() }],
      acquire: async () => flaky,
      checkUri: () => undefined,
      audit: (event) => made.events.push(event),
    });
    return { made: { ...made, contracts }, tries: () => tries };
  };
  const lost = new PortolanError("CONNECTION_LOST", "gone");

  test("an idempotent call is retried up to maxAttempts", async () => {
    const { made, tries } = await failing(2, lost, { idempotent: true });
    expect((await invoke(made)).result).toMatchObject({ ok: true });
    expect(tries()).toBe(3);
    expect(made.events.at(-1)).toMatchObject({ type: "driver.invoked", retries: 2, ok: true });
    const more = await failing(3, lost, { idempotent: true });
    expect((await invoke(more.made)).result).toMatchObject({
      error: { code: "upstream_error", retryable: true },
    });
    expect(more.tries()).toBe(3);
  });

  test("a call that may have run is not retried", async () => {
    const { made, tries } = await failing(1, lost, {});
    expect((await invoke(made)).result).toMatchObject({ error: { code: "upstream_error" } });
    expect(tries()).toBe(1);
  });

  test("a call that cannot have run is retried, although it is not idempotent", async () => {
    const never = new PortolanError("CONNECTION_LOST", "gone", { data: { neverRan: true } });
    const { made, tries } = await failing(1, never, {});
    expect((await invoke(made)).result).toMatchObject({ ok: true });
    expect(tries()).toBe(2);
  });

  test("a call without a retry rule is not retried", async () => {
    const { made, tries } = await failing(1, lost, { idempotent: true, retry: undefined });
    expect((await invoke(made)).result.ok).toBe(false);
    expect(tries()).toBe(1);
  });

  test.each([
    [401, "auth_required", false],
    [403, "auth_required", false],
    [429, "rate_limited", true],
    [500, "upstream_error", true],
    [404, "upstream_error", false],
  ])("HTTP %i is reported as %s", async (status, code, retryable) => {
    const { made } = await failing(9, new PortolanError("HTTP_ERROR", "no", { data: { status } }), {
      retry: undefined,
    });
    expect((await invoke(made)).result).toMatchObject({ error: { code, retryable } });
  });
});

describe("fallback to another driver (D15)", () => {
  async function two(policy: OpenContractsOptions["policy"], idempotent: boolean) {
    const bad = await serve({ tools: [tool()], call: () => Promise.reject(new Error("no")) });
    const good = await serve({ tools: [tool()], call: () => text("good") });
    const contracts = await openContracts({
      contracts: [contract({ idempotent })],
      drivers: ["a-bad", "b-good"].map((id) => ({
        driver: driver({ id }),
        hooks:
          id === "a-bad"
            ? {
                parseToolResult: () =>
                  ({
                    ok: false,
                    ms: 0,
                    error: { code: "rate_limited", message: "later", retryable: true },
                  }) as const,
              }
            : {},
      })),
      acquire: async ({ id }) => (id === "a-bad" ? good : good).upstream,
      policy,
      checkUri: () => undefined,
    });
    void bad;
    return contracts.call({ tool: "fs-read", input: { path: "a" } });
  }

  test("does not happen by default", async () => {
    expect(await two({}, true)).toMatchObject({
      driver: "a-bad",
      result: { error: { code: "rate_limited" } },
    });
  });
  test("happens if the policy allows it, for idempotent contracts only", async () => {
    expect(await two({ fallback: true }, true)).toMatchObject({
      driver: "b-good",
      result: { ok: true, value: "good" },
    });
    expect(await two({ fallback: true }, false)).toMatchObject({ driver: "a-bad" });
  });
});

test("the audit log contains the names of inputs, not their values", async () => {
  const made = await make(() => text("the content"), { driver: { cost: { unitsPerCall: 4 } } });
  await invoke(made, { path: "/private/file" }, { context: { userId: "ann", pinnedProvider: "files-mcp" } });
  expect(made.events).toMatchObject([
    {
      type: "driver.resolved",
      tool: "fs-read",
      afterCapability: 1,
      afterPolicy: 1,
      pin: "files-mcp",
      rejected: [],
      selected: "files-mcp",
    },
    {
      type: "driver.invoked",
      provider_id: "files-mcp",
      provider_version: "1.0.0",
      tool_id: "fs-read",
      user: "ann",
      input_keys: ["path"],
      ok: true,
      cost_units_charged: 4,
      auth_state: "authed",
      kind: "mcp",
      mcp_tool_name: "read_file",
      transport: "stdio",
      server_kind: "binary",
    },
  ]);
  expect(JSON.stringify(made.events)).not.toMatch(/private|the content/);
});

describe("hooks of an entry module", () => {
  test("build the arguments and parse the result", async () => {
    const hooks: DriverHooks = {
      buildArguments: ({ arguments: args, input, tool: id }) => ({
        ...args,
        path: `${String(input.path)}?${id}`,
      }),
      parseToolResult: ({ result }) => ({ ok: true, value: JSON.stringify(result.content), ms: 0 }),
    };
    const made = await make(() => text("x"), { hooks });
    expect((await invoke(made)).result).toMatchObject({ ok: true, value: '[{"type":"text","text":"x"}]' });
    expect(made.calls[0]?.arguments).toEqual({ path: "a?fs-read" });
  });

  test("can execute the whole call, within the timeout of the contract", async () => {
    const made = await make(() => text("x"), {
      hooks: { execute: { "fs-read": async ({ input }) => `read ${String(input.path)}` } },
    });
    expect((await invoke(made)).result).toMatchObject({ ok: true, value: "read a" });
    expect(made.calls).toEqual([]);
    const slow = await make(() => text("x"), {
      contract: { timeoutMs: 30 },
      hooks: { execute: { "fs-read": () => new Promise(() => {}) } },
    });
    expect((await invoke(slow)).result).toMatchObject({ error: { code: "timeout" } });
  });
});

test("refuses arguments that the sandbox does not allow before the call is sent", async () => {
  const made = await make(() => text("x"), {
    options: {
      checkArguments: (_, { path }) => (path === "/etc/passwd" ? "it is outside of the sandbox" : undefined),
    },
  });
  expect((await invoke(made, { path: "/etc/passwd" })).result).toMatchObject({
    error: { code: "policy_violation" },
  });
  expect(made.calls).toEqual([]);
});

describe("secrets of a driver", () => {
  const endpoint = { transport: "stdio", command: "x", env: { K: "${secrets.API_KEY}" } } as const;
  const audited: AuditEvent[] = [];
  const withGrant = (id: string) => ({
    secrets: new SecretGrants(
      [secret({ access: { reveal: [], bind: [{ tool: id }], rotate: [] } })],
      async () => "v",
      (event) => audited.push(event),
    ),
    probe: "lazy" as const,
  });
  test("are checked against their grants for each call", async () => {
    const made = await make(() => text("x"), { driver: { endpoint }, options: withGrant("fs-read") });
    expect((await invoke(made)).result.ok).toBe(true);
    const denied = await make(() => text("x"), { driver: { endpoint }, options: withGrant("other") });
    expect((await invoke(denied)).result).toMatchObject({ error: { code: "unauthorised" } });
    expect(denied.calls).toEqual([]);
    expect(audited.map(({ type }) => type)).toEqual(["secret.reveal.denied"]);
  });
});

describe("requirements of a contract", () => {
  const requires = (more: Partial<Contract["requires"]>): Partial<Contract> => ({
    requires: { network: [], secrets: [], tools: [], ...more },
  });

  test("another contract must be served", async () => {
    const made = await make(() => text("x"), { contract: requires({ tools: ["fs-list"] }) });
    expect((await invoke(made)).result).toMatchObject({
      error: {
        code: "tool_unavailable",
        message: "fs-read requires the contract fs-list, which no driver serves.",
      },
    });
    expect(made.calls).toEqual([]);
    const own = await make(() => text("x"), { contract: requires({ tools: ["fs-read"] }) });
    expect((await invoke(own)).result.ok).toBe(true);
  });

  test.each([
    ["without an entry", [], "v", { code: "unauthorised" }],
    ["without a grant", [{ tool: "other" }], "v", { code: "unauthorised" }],
    ["without a value", [{ tool: "fs-read" }], undefined, { code: "auth_required" }],
    ["with all of it", [{ tool: "fs-read" }], "v", undefined],
  ] as const)("a required secret is checked: %s", async (what, bind, value, error) => {
    const needs = requires({ secrets: ["api-key"] });
    const entries = what === "without an entry" ? [] : [secret({ access: { reveal: [], bind, rotate: [] } })];
    const secrets = new SecretGrants(entries, async () => value, undefined, [contract(needs)]);
    const made = await make(() => text("x"), { contract: needs, options: { secrets } });
    expect((await invoke(made)).result).toMatchObject(error === undefined ? { ok: true } : { error });
    expect(made.calls).toHaveLength(error === undefined ? 1 : 0);
  });
});

describe("the login of a driver", () => {
  const auth = { login: { command: "in", interactive: true, requiresCallbackUrl: false } };
  test("is required, or is done by the program for an interactive caller", async () => {
    const made = await make(() => text("x"), {
      driver: { auth },
      options: { auth: { run: async () => ({ exitCode: 0 }) } },
    });
    expect((await invoke(made)).result).toMatchObject({
      error: { code: "auth_required", cause: { login: [{ driver: "files-mcp", login: auth.login }] } },
    });
    expect((await invoke(made)).result).toMatchObject({
      error: { code: "auth_required", cause: { login: [{ driver: "files-mcp", login: auth.login }] } },
    });
    expect((await invoke(made, undefined, { context: { interactive: true } })).result).toMatchObject({
      ok: true,
    });
    expect((await invoke(made)).result).toMatchObject({ ok: true });
    expect((await invoke(made, undefined, { context: { userId: "bob" } })).result).toMatchObject({
      error: { code: "auth_required" },
    });
  });

  test("that is missing moves a non-interactive call to a driver that is logged in", async () => {
    const { upstream } = await serve({ tools: [tool()], call: () => text("x") });
    const contracts = await openContracts({
      contracts: [contract()],
      drivers: [{ driver: driver({ id: "a", auth }) }, { driver: driver({ id: "b" }) }],
      acquire: async () => upstream,
      checkUri: () => undefined,
    });
    expect(await contracts.call({ tool: "fs-read", input: { path: "a" } })).toMatchObject({
      driver: "b",
      result: { ok: true },
    });
  });
});
