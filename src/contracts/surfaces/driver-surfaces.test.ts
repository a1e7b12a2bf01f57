// Prompts and resources of drivers: their names, the callers that see them, and the requests that reach the server.

import { createHash } from "node:crypto";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { contract, driver, type FakeServer, serve, text, tool } from "../../../test/helpers/contracts.ts";
import type { Diagnostic } from "../../errors/index.ts";
import type { Driver, JsonObject } from "../../model/index.ts";
import type { AuditEvent } from "../dispatch/audit.ts";
import { CONTEXT_META } from "../contract/call-context.ts";
import { type Contracts, openContracts, type OpenContractsOptions } from "../contracts-upstream.ts";

async function open(
  drivers: readonly Driver[],
  acquire: OpenContractsOptions["acquire"],
  more: Partial<OpenContractsOptions> = {},
  before?: Contracts,
): Promise<{ contracts: Contracts; diagnostics: Diagnostic[] }> {
  const diagnostics: Diagnostic[] = [];
  const options: OpenContractsOptions = {
    contracts: [contract()],
    drivers: drivers.map((one) => ({ driver: one })),
    acquire,
    checkUri: () => undefined,
    report: (diagnostic) => diagnostics.push(diagnostic),
    ...more,
  };
  const contracts = await openContracts(options, before);
  onTestFinished(() => contracts.close());
  return { contracts, diagnostics };
}

const healthy = (more: Partial<FakeServer> = {}) =>
  serve({
    tools: [tool()],
    prompts: [{ name: "sum" }, { name: "plain" }],
    resources: [{ uri: "note://today" }],
    templates: ["file:///{path}", "note:{id}", "x:{y}"].map((uriTemplate) => ({ uriTemplate })),
    call: () => text("x"),
    ...more,
  });
const OF_FILES = { "portolan/driver": "files-mcp" };

describe("prompts (D24)", () => {
  const prompts = [
    { name: "sum", integrateAs: "skill_block", skillRef: "./skills/summarize/SKILL.md" },
    { name: "plain", integrateAs: "raw", description: "As it is." },
  ] as const;
  test("have the prefix of their skill, or their own name", async () => {
    const { upstream } = await healthy({
      prompts: [{ name: "sum", arguments: [{ name: "text" }] }, { name: "plain" }, { name: "hidden" }],
    });
    const { contracts } = await open([driver({ prompts })], async () => upstream);
    expect((await contracts.request({ method: "prompts/list" })).prompts).toEqual([
      { name: "summarize/sum", arguments: [{ name: "text" }], _meta: OF_FILES },
      { name: "plain", description: "As it is.", _meta: OF_FILES },
    ]);
    expect(
      await contracts.request({ method: "prompts/get", params: { name: "summarize/sum" } }),
    ).toMatchObject({ messages: [{ content: { text: "sum!" } }] });
    await expect(
      contracts.request({ method: "prompts/get", params: { name: "hidden" } }),
    ).rejects.toMatchObject({ code: "PROMPT_NOT_FOUND" });
  });

  test("of a skill have the name in the skill file, and are not listed without this file", async () => {
    const { upstream } = await healthy();
    const [{ skillRef }] = prompts;
    const names = async (skill: string | null): Promise<unknown[]> => {
      const one = driver({ prompts, skills: { [skillRef]: skill } });
      const { contracts } = await open([one], async () => upstream);
      const listed = (await contracts.request({ method: "prompts/list" })).prompts as JsonObject[];
      return listed.map(({ name }) => name);
    };
    expect(await names("own-name")).toEqual(["own-name/sum", "plain"]);
    expect(await names(null)).toEqual(["plain"]);
  });

  test("and resources are written to the audit log without the URI", async () => {
    const events: AuditEvent[] = [];
    const { upstream } = await healthy();
    const resources = [
      { uriTemplate: "file:///{path}", integrateAs: "ref_kind", refKindId: "mcp_files" },
    ] as const;
    const { contracts } = await open([driver({ prompts, resources })], async () => upstream, {
      userId: "ann",
      audit: (event) => events.push(event),
      checkUri: (_, uri) => (uri.includes("private") ? "no" : undefined),
    });
    const params = { name: "summarize/sum", arguments: { text: "secret" } };
    await contracts.request({ method: "prompts/get", params });
    await contracts.readReference("mcp_files:file:///a");
    await expect(contracts.readReference("mcp_files:file:///private")).rejects.toMatchObject({
      code: "SANDBOX_DENIED",
    });
    const read = { tool_id: "resource:mcp_files", mcp_tool_name: "resources/read", user: "ann" };
    expect(events).toMatchObject([
      {
        type: "driver.invoked",
        tool_id: "prompt:summarize/sum",
        mcp_tool_name: "prompts/get",
        input_keys: ["text"],
        ok: true,
      },
      { ...read, ok: true },
      { ...read, ok: false, code: "policy_violation" },
    ]);
    expect(JSON.stringify(events)).not.toMatch(/secret|file:/);
  });

  test("of a driver that the policy denies are not listed", async () => {
    const { upstream } = await healthy();
    const { contracts } = await open([driver({ prompts, policyTags: ["x"] })], async () => upstream, {
      policy: { denyTags: ["x"] },
    });
    expect((await contracts.request({ method: "prompts/list" })).prompts).toEqual([]);
  });
});

describe("a prompt or resource that the server does not have", () => {
  const places = { line: 7, column: 3 };
  const own = driver({
    origin: { file: "DRIVER.md", line: 1, column: 1, format: "driver", places: { "prompt:plian": places } },
    prompts: [
      { name: "sum", integrateAs: "raw" },
      { name: "plian", integrateAs: "raw" },
    ],
    resources: [
      { uriTemplate: "file:///{any}", integrateAs: "raw" },
      { uriTemplate: "note://{day}", integrateAs: "raw" },
      { uriTemplate: "file:///notes/{name}", integrateAs: "raw" },
      { uriTemplate: "nope:{id}", integrateAs: "ref_kind", refKindId: "mcp_nope" },
    ],
  });
  const listed = async (contracts: Contracts): Promise<unknown[]> => {
    const { prompts } = await contracts.request({ method: "prompts/list" });
    const { resourceTemplates } = await contracts.request({ method: "resources/templates/list" });
    return [
      ...(prompts as JsonObject[]).map(({ name }) => name),
      ...(resourceTemplates as JsonObject[]).map(({ uriTemplate }) => uriTemplate),
    ];
  };

  test("is reported with the existing names, and is not listed", async () => {
    const { upstream } = await healthy();
    const { contracts, diagnostics } = await open([own], async () => upstream);
    expect(contracts.status()).toMatchObject([{ server: "verified" }]);
    expect(await listed(contracts)).toEqual(["sum", "file:///{any}", "note://{day}", "file:///notes/{name}"]);
    expect(diagnostics).toMatchObject([
      {
        severity: "warning",
        message: expect.stringContaining('no prompt "plian"') as string,
        hint: expect.stringContaining('"plain"') as string,
        ...places,
      },
      { severity: "warning", message: expect.stringContaining('no resource template "nope:{id}"') as string },
    ]);
  });

  test("is not listed if the server has neither prompts nor resources", async () => {
    const { upstream } = await healthy();
    const bare = Object.create(upstream, {
      request: { value: upstream.request.bind(upstream) },
      on: { value: upstream.on.bind(upstream) },
      describe: { value: () => ({ ...upstream.describe(), capabilities: { tools: {} } }) },
    }) as typeof upstream;
    const { contracts } = await open([own], async () => bare);
    expect(await listed(contracts)).toEqual([]);
    expect(contracts.status()).toMatchObject([{ server: "verified" }]);
  });
});

describe("resources (D23)", () => {
  const resources = [
    { uriTemplate: "file:///{path}", integrateAs: "ref_kind", refKindId: "mcp_files" },
    { uriTemplate: "note://today", integrateAs: "raw" },
  ] as const;
  const read = async (contracts: Contracts, uri: string): Promise<JsonObject> =>
    contracts.request({ method: "resources/read", params: { uri } });

  test("have their own URI scheme, and a URI is checked against the sandbox before it is sent", async () => {
    const asked: string[] = [];
    const { upstream } = await healthy({
      read: (uri) => (asked.push(uri), { contents: [{ uri, text: "it" }] }),
    });
    const { contracts } = await open([driver({ resources })], async () => upstream, {
      checkUri: (_, uri) =>
        uri.includes("..") || uri.startsWith("file:///etc") ? "that is outside of the sandbox" : undefined,
    });
    expect(await contracts.request({ method: "resources/templates/list" })).toMatchObject({
      resourceTemplates: [{ uriTemplate: "mcp_files:file:///{path}", name: "mcp_files" }],
    });
    expect(await contracts.request({ method: "resources/list" })).toMatchObject({
      resources: [{ uri: "note://today" }],
    });
    expect(await read(contracts, "mcp_files:file:///notes/a.txt")).toMatchObject({
      contents: [{ uri: "mcp_files:file:///notes/a.txt", text: "it" }],
    });
    expect(await read(contracts, "note://today")).toMatchObject({ contents: [{ uri: "note://today" }] });
    expect(await contracts.readReference("mcp_files:file:///b")).toMatchObject({
      contents: [{ text: "it" }],
    });
    const hash = createHash("sha256").update("it").digest("hex");
    expect(await read(contracts, `mcp_files:file:///b#sha256=${hash}`)).toMatchObject({
      contents: [{ text: "it" }],
    });
    await expect(read(contracts, `mcp_files:file:///b#sha256=${"0".repeat(64)}`)).rejects.toMatchObject({
      code: "OUTPUT_INVALID",
    });
    await expect(read(contracts, "mcp_files:file:///etc/passwd")).rejects.toMatchObject({
      code: "SANDBOX_DENIED",
    });
    await expect(read(contracts, "mcp_files:https://example.com/")).rejects.toMatchObject({
      code: "RESOURCE_NOT_FOUND",
    });
    await expect(read(contracts, "mcp_file:file:///a")).rejects.toMatchObject({
      code: "RESOURCE_NOT_FOUND",
      hint: 'Did you mean "mcp_files"?',
    });
    expect(asked).toEqual(["file:///notes/a.txt", "note://today", "file:///b", "file:///b", "file:///b"]);
  });

  test("of one ref_kind_id belong to one driver, and a built-in kind is refused", async () => {
    const { upstream } = await healthy();
    const own = (id: string, refKindId: string): Driver =>
      driver({ id, resources: [{ uriTemplate: "x:{y}", integrateAs: "ref_kind", refKindId }] });
    const { contracts, diagnostics } = await open(
      [own("a", "mcp_x"), own("b", "mcp_x"), own("c", "git")],
      async () => upstream,
    );
    expect(contracts.status().map(({ server }) => server)).toEqual(["verified", "refused", "refused"]);
    expect(diagnostics.map(({ message }) => message)).toEqual([
      "b: the ref_kind_id mcp_x belongs to the driver a",
      "c: the ref_kind_id git is reserved for a built-in kind",
    ]);
  });
});

describe("policy rules and pins for prompts and resources", () => {
  const prompts = [{ name: "sum", integrateAs: "raw" }] as const;
  const [eu, us] = ["eu-west-1", "us-east-1"].map((region) =>
    driver({
      id: region.slice(0, 2),
      region: [region],
      prompts,
      resources: [{ uriTemplate: "note:{id}", integrateAs: "raw" }],
    }),
  ) as [Driver, Driver];
  const twins = async (): Promise<Contracts> => {
    const [one, other] = [await healthy(), await healthy()];
    const { contracts } = await open([eu, us], async ({ id }) => (id === "eu" ? one : other).upstream);
    return contracts;
  };
  const ask = (contracts: Contracts, method: string, params: JsonObject, meta: JsonObject) =>
    contracts.request({ method, params: { ...params, _meta: meta } });

  test("apply to the lists of each caller, and the first allowed driver with a name is listed", async () => {
    const contracts = await twins();
    const of = async (meta: JsonObject): Promise<unknown> => {
      const { prompts: listed } = await ask(contracts, "prompts/list", {}, meta);
      const { resourceTemplates } = await ask(contracts, "resources/templates/list", {}, meta);
      return [listed, resourceTemplates].map((list) =>
        (list as JsonObject[]).map(({ _meta }) => (_meta as JsonObject)["portolan/driver"]),
      );
    };
    expect(await of({})).toEqual([["eu"], ["eu", "us"]]);
    expect((await contracts.request({ method: "prompts/list" })).prompts).toMatchObject([
      { _meta: { "portolan/otherDrivers": ["us"] } },
    ]);
    expect(await of({ [CONTEXT_META.region]: "us-east-1" })).toEqual([["us"], ["us"]]);
    expect(await of({ [CONTEXT_META.pin]: "us" })).toEqual([["us"], ["us"]]);
    expect(await of({ [CONTEXT_META.region]: "ap-south-1" })).toEqual([[], []]);
  });

  test("select an allowed driver, and the error says why no driver is allowed", async () => {
    const events: AuditEvent[] = [];
    const { upstream } = await healthy();
    const { contracts } = await open([eu, us], async () => upstream, { audit: (one) => events.push(one) });
    const far = { [CONTEXT_META.region]: "ap-south-1" };
    for (const [method, params] of [
      ["prompts/get", { name: "sum" }],
      ["resources/read", { uri: "note:1" }],
      ["completion/complete", { ref: { type: "ref/prompt", name: "sum" } }],
    ] as const) {
      events.length = 0;
      await ask(contracts, method, params, { [CONTEXT_META.region]: "us-east-1" });
      expect(events).toMatchObject([{ provider_id: "us", mcp_tool_name: method, ok: true }]);
      await expect(ask(contracts, method, params, far)).rejects.toMatchObject({
        code: "FORBIDDEN",
        message:
          "the driver eu is not allowed for this request: the driver is in the region eu-west-1, not in ap-south-1",
        data: { code: "region_mismatch" },
      });
      expect(events).toHaveLength(1);
    }
    await expect(ask(contracts, "prompts/get", { name: "no" }, far)).rejects.toMatchObject({
      code: "PROMPT_NOT_FOUND",
    });
  });
});

describe("completion", () => {
  test("is empty for a server without completion, and fails for an unknown reference", async () => {
    const { upstream } = await healthy();
    const prompts = [{ name: "sum", integrateAs: "raw" }] as const;
    const { contracts } = await open([driver({ prompts })], async () => upstream);
    const complete = (ref: JsonObject): Promise<JsonObject> =>
      contracts.request({
        method: "completion/complete",
        params: { ref, argument: { name: "text", value: "" } },
      });
    expect(await complete({ type: "ref/prompt", name: "sum" })).toMatchObject({ completion: { values: [] } });
    await expect(complete({ type: "ref/prompt", name: "mus" })).rejects.toMatchObject({
      code: "PROMPT_NOT_FOUND",
    });
    await expect(complete({ type: "ref/resource", uri: "x:{y}" })).rejects.toMatchObject({
      code: "RESOURCE_NOT_FOUND",
    });
    await expect(complete({ type: "ref/tool", name: "sum" })).rejects.toMatchObject({
      code: "INPUT_INVALID",
    });
  });
});

describe("subscriptions", () => {
  const resources = [{ uriTemplate: "note:{id}", integrateAs: "ref_kind", refKindId: "mcp_notes" }] as const;
  const uri = "mcp_notes:note:1";
  const heardBy = (contracts: Contracts): string[] => {
    const heard: string[] = [];
    contracts.on("resourceUpdated", (one) => heard.push(one));
    return heard;
  };

  test("of several clients are sent to the server once, and end with the last client", async () => {
    const server = await healthy();
    const { contracts } = await open([driver({ resources })], async () => server.upstream);
    const heard = heardBy(contracts);
    const releases = [await contracts.subscribe(uri), await contracts.subscribe(uri)];
    expect(server.subscribed).toEqual(["note:1"]);
    server.updated("note:1");
    server.updated("note:2");
    expect(heard).toEqual([uri]);
    await releases[0]?.();
    await releases[0]?.();
    server.updated("note:1");
    expect(heard).toEqual([uri, uri]);
    await releases[1]?.();
    await vi.waitFor(() => expect(server.subscribed).toEqual([]));
    server.updated("note:1");
    expect(heard).toEqual([uri, uri]);
  });

  test("move to the next process if a server ended", async () => {
    const servers = [await healthy(), await healthy()];
    const [first, second] = servers as [(typeof servers)[0], (typeof servers)[0]];
    let { upstream } = first;
    const { contracts } = await open([driver({ resources })], async () => upstream);
    const heard = heardBy(contracts);
    await contracts.subscribe(uri);
    ({ upstream } = second);
    await first.upstream.close();
    await vi.waitFor(() => expect(second.subscribed).toEqual(["note:1"]), 3_000);
    second.updated("note:1");
    expect(heard).toEqual([uri]);
  });

  test("move to the contracts that replace these, and can still be released", async () => {
    const [first, second] = [await healthy(), await healthy()];
    const before = await open([driver({ resources })], async () => first.upstream);
    const release = await before.contracts.subscribe(uri);
    const after = await open([driver({ resources })], async () => second.upstream, {}, before.contracts);
    const heard = heardBy(after.contracts);
    await vi.waitFor(() => expect([first.subscribed, second.subscribed]).toEqual([[], ["note:1"]]));
    await before.contracts.close();
    second.updated("note:1");
    expect(heard).toEqual([uri]);
    await release();
    await vi.waitFor(() => expect(second.subscribed).toEqual([]));
  });

  test("move back if the new contracts close", async () => {
    const [first, second] = [await healthy(), await healthy()];
    const before = await open([driver({ resources })], async () => first.upstream);
    const heard = heardBy(before.contracts);
    await before.contracts.subscribe(uri);
    const after = await open([driver({ resources })], async () => second.upstream, {}, before.contracts);
    await vi.waitFor(() => expect([first.subscribed, second.subscribed]).toEqual([[], ["note:1"]]));
    await after.contracts.close();
    await vi.waitFor(() => expect([first.subscribed, second.subscribed]).toEqual([["note:1"], []]));
    first.updated("note:1");
    expect(heard).toEqual([uri]);
  });

  test("are refused for a driver with one process per user, an unknown resource and a denied one", async () => {
    const { upstream } = await healthy();
    const env = { K: "${secrets.API_KEY}" };
    const own = driver({ resources, endpoint: { transport: "stdio", command: "x", env } });
    const { contracts } = await open([own], async () => upstream);
    await expect(contracts.subscribe(uri)).rejects.toMatchObject({ code: "NOT_SUPPORTED" });
    await expect(contracts.subscribe("mcp_other:x")).rejects.toMatchObject({ code: "RESOURCE_NOT_FOUND" });
    const denied = await open([driver({ resources, policyTags: ["x"] })], async () => upstream, {
      policy: { denyTags: ["x"] },
    });
    await expect(denied.contracts.subscribe(uri)).rejects.toMatchObject({ code: "FORBIDDEN" });
    const outside = await open([driver({ resources })], async () => upstream, { checkUri: () => "outside" });
    await expect(outside.contracts.subscribe(uri)).rejects.toMatchObject({ code: "SANDBOX_DENIED" });
  });
});
