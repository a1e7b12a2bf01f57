// Contracts as an upstream: lists, calls, and changes of drivers.

import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import {
  binding,
  contract,
  driver,
  type FakeServer,
  object,
  serve,
  TEXT,
  text,
  tool,
} from "../../test/helpers/contracts.ts";
import { stdioCommand } from "../../test/fixtures/processes.mjs";
import { type Diagnostic, ERROR_CODES, MAY_HAVE_RUN, PortolanError } from "../errors/index.ts";
import { type Contract, DEFAULT_LIMITS, type Driver, type JsonObject } from "../model/index.ts";
import { type Caller, openUpstream, type Upstream } from "../upstream/index.ts";
import { CONTEXT_META } from "./contract/call-context.ts";
import { type Contracts, openContracts, type OpenContractsOptions } from "./contracts-upstream.ts";
import { defineDriver } from "./define/define.ts";

interface Opened {
  contracts: Contracts;
  diagnostics: Diagnostic[];
  news: string[];
}

async function open(
  drivers: readonly Driver[],
  acquire: OpenContractsOptions["acquire"],
  more: Partial<OpenContractsOptions> = {},
): Promise<Opened> {
  const diagnostics: Diagnostic[] = [];
  const contracts = await openContracts({
    contracts: [contract()],
    drivers: drivers.map((one) => ({ driver: one })),
    acquire,
    checkUri: () => undefined,
    report: (diagnostic) => diagnostics.push(diagnostic),
    ...more,
  });
  onTestFinished(() => contracts.close());
  const news: string[] = [];
  for (const event of ["toolsChanged", "promptsChanged", "resourcesChanged"] as const)
    contracts.on(event, () => news.push(event));
  return { contracts, diagnostics, news };
}

const healthy = (more: Partial<FakeServer> = {}) =>
  serve({ tools: [tool()], call: () => text("x"), ...more });
const names = async (contracts: Upstream): Promise<unknown[]> =>
  ((await contracts.request({ method: "tools/list" })).tools as JsonObject[]).map(({ name }) => name);
const call = (
  contracts: Upstream,
  args: JsonObject = { path: "a" },
  meta: JsonObject = {},
): Promise<JsonObject> =>
  contracts.request({ method: "tools/call", params: { name: "fs-read", arguments: args, _meta: meta } });

describe("the MCP tool of a contract", () => {
  test("has the name, the schema and the annotations of the contract", async () => {
    const { upstream } = await healthy();
    const { contracts } = await open([driver()], async () => upstream);
    expect((await contracts.request({ method: "tools/list" })).tools).toEqual([
      {
        name: "fs-read",
        title: "Read a file",
        description: "Reads a file.",
        inputSchema: contract().inputs,
        annotations: {
          title: "Read a file",
          readOnlyHint: true,
          destructiveHint: false,
          idempotentHint: false,
          openWorldHint: false,
        },
      },
    ]);
    expect(contracts.describe()).toMatchObject({
      era: "modern",
      transport: "memory",
      info: { name: "contracts" },
    });
    expect(await contracts.request({ method: "server/discover" })).toMatchObject({
      capabilities: { tools: { listChanged: true } },
    });
    await expect(contracts.request({ method: "tasks/list" })).rejects.toMatchObject({
      code: "NOT_SUPPORTED",
    });
  });

  test("has annotations for side effects, and an outputSchema if the output is an object", async () => {
    const one: Partial<Contract> = {
      mutates: ["external:mail"],
      idempotent: true,
      approval: "on-mutate",
      outputs: object({ id: TEXT }),
    };
    const { upstream } = await healthy();
    const { contracts } = await open([driver()], async () => upstream, { contracts: [contract(one)] });
    expect((await contracts.request({ method: "tools/list" })).tools).toMatchObject([
      {
        outputSchema: object({ id: TEXT }),
        annotations: { readOnlyHint: false, idempotentHint: true, openWorldHint: true },
      },
    ]);
  });

  test("returns a string as text, and an object as structured content", async () => {
    const { upstream } = await healthy();
    const { contracts } = await open([driver()], async () => upstream);
    expect(await call(contracts)).toEqual({
      resultType: "complete",
      content: [{ type: "text", text: "x" }],
      _meta: { "portolan/driver": "files-mcp" },
    });
    const json = await healthy({ call: () => text('{"id":"1"}') });
    const other = await open([driver()], async () => json.upstream, {
      contracts: [contract({ outputs: object({ id: TEXT }) })],
    });
    expect(await call(other.contracts)).toMatchObject({
      structuredContent: { id: "1" },
      content: [{ text: '{"id":"1"}' }],
    });
  });

  test("returns the error code of a failed call", async () => {
    const { upstream } = await healthy();
    const { contracts } = await open([driver()], async () => upstream);
    expect(await call(contracts, {})).toMatchObject({
      isError: true,
      content: [{ text: expect.stringMatching(/^input_invalid: /) as string }],
      _meta: { "portolan/error": { code: "input_invalid", field: "path" } },
    });
    expect(await call(contracts, { path: "a" }, { [CONTEXT_META.pin]: "other" })).toMatchObject({
      isError: true,
      _meta: { "portolan/error": { code: "pinned_provider_unavailable" } },
    });
    await expect(
      contracts.request({ method: "tools/call", params: { name: "fs-raed" } }),
    ).rejects.toMatchObject({ code: "TOOL_NOT_FOUND" });
  });
});

describe("registration of drivers (D5)", () => {
  test("tells the error code of the library, its hint, and whether the call ran", async () => {
    const errorOf = async (fails: () => JsonObject, one: Partial<Contract>, caller?: Caller) => {
      const { upstream } = await healthy({ call: fails });
      const failing = Object.create(upstream, {
        request: {
          value: (made: Parameters<Upstream["request"]>[0]) =>
            made.method === "tools/call"
              ? new Promise((resolve) => resolve(fails()))
              : upstream.request(made),
        },
        on: { value: upstream.on.bind(upstream) },
        describe: { value: upstream.describe.bind(upstream) },
      }) as Upstream;
      const { contracts } = await open([driver()], async () => failing, { contracts: [contract(one)] });
      const params = { name: "fs-read", arguments: { path: "a" } };
      const { _meta } = await contracts.request({ method: "tools/call", params, caller });
      return (_meta as JsonObject)["portolan/error"] as JsonObject;
    };
    const crash = (): never => {
      throw new PortolanError("SERVER_CRASHED", "exited with code 7", { stderr: "out of cheese" });
    };
    const refused = await errorOf(() => text("x"), { approval: "always" });
    expect(refused).toMatchObject({ code: "unauthorised", errorCode: "FORBIDDEN", neverRan: true });
    expect(refused.hint).toBe("The call was not made; the message gives the reason.");
    const crashed = await errorOf(crash, {});
    expect(crashed).toMatchObject({
      errorCode: "SERVER_CRASHED",
      hint: MAY_HAVE_RUN,
      stderr: "out of cheese",
    });
    expect(crashed.neverRan).toBeUndefined();
    const client = { clientInfo: { name: "c", version: "1" }, capabilities: {} };
    expect((await errorOf(crash, {}, client)).stderr).toBeUndefined();
    expect(await errorOf(() => text("full", { isError: true }), {})).toMatchObject({
      ...{ code: "upstream_error", errorCode: "TOOL_FAILED", hint: ERROR_CODES.TOOL_FAILED.hint },
    });
    const wrong = await errorOf(() => text("x"), { outputs: object({ n: TEXT }) });
    expect(wrong).toMatchObject({ code: "output_parse_failed", errorCode: "OUTPUT_INVALID" });
  });

  test("refuses a driver that does not match its contract, and the other drivers still serve", async () => {
    const { upstream } = await healthy();
    const bad = driver({ id: "bad", implements: [binding({ toolName: "reed_file" })] });
    const { contracts, diagnostics } = await open([bad, driver()], async () => upstream);
    expect(diagnostics).toMatchObject([
      { severity: "error", server: "bad", hint: 'Did you mean "read_file"?' },
    ]);
    expect(contracts.status()).toMatchObject([
      { id: "bad", server: "refused" },
      { id: "files-mcp", server: "verified", contracts: ["fs-read"] },
    ]);
    expect(await call(contracts)).toMatchObject({ _meta: { "portolan/driver": "files-mcp" } });
  });

  test("lists no tool for a contract that no driver serves", async () => {
    const { upstream } = await healthy();
    const { contracts } = await open(
      [driver({ implements: [binding({ toolName: "no" })] })],
      async () => upstream,
    );
    expect(await names(contracts)).toEqual([]);
    await expect(call(contracts)).rejects.toMatchObject({ code: "TOOL_NOT_FOUND" });
  });

  test("reports an unreachable server as unavailable, and tries again later", async () => {
    const { upstream } = await healthy();
    let broken = true;
    const { contracts, diagnostics } = await open([driver()], async () => {
      if (broken) throw new PortolanError("SERVER_START_FAILED", "no such program");
      return upstream;
    });
    expect(diagnostics).toMatchObject([{ severity: "warning", server: "files-mcp" }]);
    expect(contracts.status()).toMatchObject([{ server: "unreachable", reason: "no such program" }]);
    expect(await call(contracts)).toMatchObject({
      isError: true,
      _meta: { "portolan/error": { code: "tool_unavailable" } },
    });
    broken = false;
    await sleep(1_100);
    expect(await call(contracts)).toMatchObject({ content: [{ text: "x" }] });
    expect(contracts.status()).toMatchObject([{ server: "verified" }]);
  });

  test("lazy: starts the server with the first call, and verifies it then", async () => {
    const { upstream } = await healthy({ tools: [tool({ inputSchema: object({ other: TEXT }) })] });
    const acquire = vi.fn(async () => upstream);
    const { contracts } = await open([driver()], acquire, { probe: "lazy" });
    expect(await names(contracts)).toEqual(["fs-read"]);
    expect(acquire).not.toHaveBeenCalled();
    expect(await call(contracts)).toMatchObject({
      isError: true,
      _meta: { "portolan/error": { code: "tool_unavailable" } },
    });
    expect(await names(contracts)).toEqual([]);
  });

  test("sends one toolsChanged event for each added and each removed driver", async () => {
    const { upstream } = await healthy();
    const { contracts, news } = await open([], async () => upstream);
    expect(await names(contracts)).toEqual([]);
    expect(await contracts.register(driver())).toEqual([]);
    expect(await names(contracts)).toEqual(["fs-read"]);
    expect(news).toEqual(["toolsChanged"]);
    contracts.unregister("files-mcp");
    expect(await names(contracts)).toEqual([]);
    expect(news).toEqual(["toolsChanged", "toolsChanged"]);
  });
});

test("register() returns the diagnostics of a driver, does not report them too, and names no file for code", async () => {
  const { upstream } = await healthy();
  const { contracts, diagnostics } = await open([], async () => upstream);
  const inCode = defineDriver({
    ...{ kind: "mcp", id: "code-mcp", name: "C", description: "C.", transport: "stdio" },
    server: { kind: "binary", path: "files" },
    implements: [{ tool: "fs-read", metadata: { mcp: { toolName: "read" } } }],
  });
  const found = await contracts.register(inCode);
  expect(found).toMatchObject([
    { severity: "error", message: expect.stringContaining('the server has no tool "read"') as string },
  ]);
  expect(found[0]).not.toHaveProperty("file");
  expect(found[0]).not.toHaveProperty("line");
  expect(diagnostics).toEqual([]);
  const ofFile = await contracts.register(driver({ implements: [binding({ toolName: "read" })] }));
  expect(ofFile).toMatchObject([{ file: "drivers/one/DRIVER.md", line: 20 }]);
});

test("a driver replaces its earlier version, and a breaking change needs a new major version (D26)", async () => {
  const { upstream } = await healthy();
  const { contracts, news } = await open([driver()], async () => upstream);
  const breaking = driver({ version: "1.1.0", transport: "http" });
  expect(await contracts.register(breaking)).toMatchObject([
    { severity: "warning", hint: expect.stringContaining("2.0.0") as string },
  ]);
  expect(contracts.status()).toMatchObject([{ version: "1.1.0", server: "verified" }]);
  expect(news).toEqual([]);
  const strict = await open([driver()], async () => upstream, { bumps: "enforce" });
  await strict.contracts.register(breaking);
  expect(strict.contracts.status()).toMatchObject([{ version: "1.1.0", server: "refused" }]);
});

test("a cancelled call does not wait for a starting server", async () => {
  const { contracts } = await open([driver()], () => new Promise(() => {}), { probe: "lazy" });
  const { result } = await contracts.call({
    tool: "fs-read",
    input: { path: "a" },
    signal: AbortSignal.timeout(30),
  });
  expect(result).toMatchObject({ error: { code: "cancelled" } });
});

describe("a cancelled call of the MCP tool", () => {
  const cancelled = (contracts: Upstream, signal: AbortSignal): Promise<unknown> =>
    contracts
      .request({ method: "tools/call", params: { name: "fs-read", arguments: { path: "a" } }, signal })
      .catch((error: unknown) => error);
  const never = new Promise<never>(() => {});

  test("rejects before anybody is asked, and before the server gets it", async () => {
    const { upstream, calls } = await healthy();
    let asked = 0;
    const approve = async (): Promise<boolean> => (asked += 1) > 0;
    const { contracts } = await open([driver()], async () => upstream, {
      contracts: [contract({ approval: "always" })],
      approve,
    });
    expect(await cancelled(contracts, AbortSignal.abort())).toMatchObject({
      ...{ code: "CANCELLED", message: "contracts: the call of fs-read was cancelled" },
      ...{ data: { neverRan: true }, hint: "The call was not sent to the server." },
    });
    expect([asked, calls]).toEqual([0, []]);
  });

  test("rejects while a person is asked, although the question stays open", async () => {
    const { upstream, calls } = await healthy();
    const leaving = new AbortController();
    const approve = (): Promise<never> => {
      queueMicrotask(() => leaving.abort());
      return never;
    };
    const { contracts } = await open([driver()], async () => upstream, {
      contracts: [contract({ approval: "always" })],
      approve,
    });
    expect(await cancelled(contracts, leaving.signal)).toMatchObject({
      ...{ code: "CANCELLED", data: { neverRan: true } },
    });
    expect(calls).toEqual([]);
  });

  test("rejects while the tool of the driver runs, and does not claim that it never ran", async () => {
    const leaving = new AbortController();
    const { upstream } = await healthy({
      call: () => {
        leaving.abort();
        return never;
      },
    });
    const { contracts } = await open([driver()], async () => upstream);
    const error = await cancelled(contracts, leaving.signal);
    expect(error).toMatchObject({ code: "CANCELLED", data: {} });
    expect(error).not.toHaveProperty("data.neverRan");
  });
});

test("verifies a server again after its tools change: refuses it, and accepts it again", async () => {
  const server: FakeServer = { tools: [tool()], call: () => text("x") };
  const { upstream, changed } = await serve(server);
  const other = await healthy({ call: () => text("other") });
  const { contracts, diagnostics, news } = await open(
    [driver({ id: "a" }), driver({ id: "b" })],
    async ({ id }) => (id === "a" ? upstream : other.upstream),
  );
  expect(await call(contracts)).toMatchObject({ _meta: { "portolan/driver": "a" } });
  server.tools = [tool({ inputSchema: object({ path: { type: "integer" } }) })];
  changed();
  await vi.waitFor(() => expect(contracts.status()[0]).toMatchObject({ id: "a", server: "refused" }));
  expect(diagnostics).toMatchObject([
    {
      severity: "error",
      server: "a",
      message: expect.stringContaining("string where integer is expected") as string,
    },
  ]);
  expect(await call(contracts)).toMatchObject({
    content: [{ text: "other" }],
    _meta: { "portolan/driver": "b" },
  });
  expect(contracts.explain("fs-read")?.phases[1]?.rejected).toMatchObject([
    { driver: "a", code: "tool_unavailable" },
  ]);
  server.tools = [tool()];
  await sleep(250);
  changed();
  await vi.waitFor(() => expect(contracts.status()[0]).toMatchObject({ id: "a", server: "verified" }));
  expect(news).toEqual([]);
});

test("routes no calls to a driver whose server does not answer a ping (D25)", async () => {
  const { upstream } = await healthy();
  let well = true;
  const pinged = Object.create(upstream, {
    request: {
      value: (one: Parameters<Upstream["request"]>[0]) =>
        one.method === "ping" && !well ? Promise.reject(new Error("no")) : upstream.request(one),
    },
    on: { value: upstream.on.bind(upstream) },
    describe: { value: upstream.describe.bind(upstream) },
  }) as Upstream;
  const { contracts } = await open(
    [driver({ healthCheck: { method: "ping", everyMs: 1_000, timeoutMs: 500 } })],
    async () => pinged,
  );
  await vi.waitFor(() => expect(contracts.status()).toMatchObject([{ health: "healthy" }]), 3_000);
  well = false;
  await vi.waitFor(
    () => expect(contracts.status()).toMatchObject([{ health: "failed", healthReason: "no" }]),
    3_000,
  );
  expect(await call(contracts)).toMatchObject({
    isError: true,
    _meta: { "portolan/error": { code: "tool_unavailable" } },
  });
});

test("of two versions of a contract, lists the version that a driver serves", async () => {
  const { upstream } = await healthy();
  const both = [contract({ version: "1.4.0" }), contract({ version: "2.0.0", name: "Read two" })];
  const { contracts } = await open([driver()], async () => upstream, { contracts: both });
  expect((await contracts.request({ method: "tools/list" })).tools).toMatchObject([{ title: "Read a file" }]);
  expect(await call(contracts)).toMatchObject({ content: [{ text: "x" }] });
});

test("requests fail after close", async () => {
  const { upstream } = await healthy();
  const { contracts } = await open([driver()], async () => upstream);
  await contracts.close();
  await expect(call(contracts)).rejects.toMatchObject({ code: "CONNECTION_CLOSED" });
});

test("serves a contract with a real server in its own process", async () => {
  const upstream = await openUpstream({
    definition: {
      name: "fixture",
      endpoint: { transport: "stdio", ...stdioCommand("--era=modern") },
      era: "auto",
      limits: DEFAULT_LIMITS,
    },
    caller: { clientInfo: { name: "test", version: "1" }, capabilities: {} },
    watch: true,
    report: () => {},
    eras: { isLegacy: async () => false, remember: async () => {} },
  });
  onTestFinished(() => upstream.close());
  const number = { type: "number" };
  const sums = contract({
    id: "math.sum",
    inputs: object({ left: number, right: number }),
    outputs: number,
    idempotent: true,
  });
  const own = driver({
    id: "math-mcp",
    implements: [
      binding({
        tool: "math.sum",
        toolName: "add",
        argumentMapping: { left: "a", right: "b" },
        resultExtract: "$.sum",
      }),
    ],
  });
  const { contracts, diagnostics } = await open([own], async () => upstream, { contracts: [sums] });
  expect(diagnostics.filter(({ severity }) => severity === "error")).toEqual([]);
  expect(await contracts.call({ tool: "math.sum", input: { left: 2, right: 3 } })).toMatchObject({
    result: { ok: true, value: 5 },
  });
  // The name that clients see also works.
  expect(await contracts.call({ tool: "math_sum", input: { left: 2, right: 3 } })).toMatchObject({
    result: { ok: true, value: 5 },
  });
  expect(contracts.explain("math_sum")?.selected).toBe("math-mcp");
  expect(await contracts.call({ tool: "math.sum", input: { left: 2 } })).toMatchObject({
    result: { error: { code: "input_invalid", field: "right" } },
  });
});

test("login() logs in to a driver before the first call", async () => {
  const { upstream } = await healthy();
  const auth = { login: { command: "in", interactive: true, requiresCallbackUrl: false } };
  const { contracts } = await open([driver({ auth }), driver({ id: "free" })], async () => upstream, {
    auth: { run: async () => ({ exitCode: 0 }) },
  });
  expect(contracts.status()).toMatchObject([{ auth: "unknown" }, { auth: "authed" }]);
  expect(await contracts.login("files-mcp")).toEqual({ ok: true });
  expect(await contracts.login("free")).toEqual({ ok: true });
  expect(await contracts.login("none")).toMatchObject({ ok: false });
  expect(contracts.status()).toMatchObject([{ auth: "authed" }, { auth: "authed" }]);
});
