// Definitions in code: equal to files, checked by the same rules; a file wins over the code.

import { describe, expect, test } from "vitest";
import { z } from "zod";
import { serve, text } from "../../../test/helpers/contracts.ts";
import { parseDriver } from "../../formats/driver/index.ts";
import type { Driver } from "../../model/index.ts";
import { openContracts } from "../contracts-upstream.ts";
import { defineDriver, defineDriverHooks, defineSecret, defineTool } from "./define.ts";
import type { McpDriverDefinition } from "./definitions.ts";
import type { DriverHooks } from "../driver/bound-tool.ts";
import { mergeEntry } from "./merge-entry.ts";

const definition: McpDriverDefinition = {
  kind: "mcp",
  id: "filesystem-mcp",
  name: "Filesystem MCP",
  description: "Files.",
  version: "1.0.0",
  server: { kind: "binary", path: "mcp-filesystem", args: ["/workspace"], env: { SOME_KEY: "x" } },
  transport: "stdio",
  protocolVersion: "2025-06-18",
  policyTags: ["self-hosted"],
  timeoutOverrideMs: 900,
  retryOverride: { maxAttempts: 2, backoff: "fixed", initialMs: 5 },
  connectionOptions: { timeout_ms: 1_000, keepalive: true },
  auth: {
    login: { cmd: "in", completesWhen: { cmd: "who", exitCode: 0 } },
    expiry: { detect: "http_status:401" },
  },
  implements: [
    {
      tool: "fs-read",
      version: "^1.0.0",
      schemaNarrowing: { dropInputs: ["tailLines"] },
      metadata: {
        mcp: { toolName: "read_file", argumentMapping: { filePath: "path" }, resultExtract: "$.contents" },
        Other: 1,
      },
    },
  ],
  resources: [{ uriTemplate: "file:///{path}", integrateAs: "ref_kind", refKindId: "mcp_filesystem" }],
};

test("defineDriver returns the driver and its hooks", () => {
  const { driver, hooks } = defineDriver({ ...definition, buildArguments: () => ({}) });
  expect(driver).toMatchObject({
    id: "filesystem-mcp",
    server: { kind: "binary", path: "mcp-filesystem", args: ["/workspace"], env: { SOME_KEY: "x" } },
    protocolVersion: "2025-06-18",
    policyTags: ["self-hosted"],
    timeoutMs: 900,
    retry: { maxAttempts: 2, backoff: "fixed", initialMs: 5 },
    connection: { timeoutMs: 1_000, keepalive: true },
    auth: {
      login: { command: "in", completesWhen: { command: "who", exitCode: 0 } },
      expiryDetect: "http_status:401",
    },
    implements: [
      {
        tool: "fs-read",
        toolName: "read_file",
        dropInputs: ["tailLines"],
        argumentMapping: { filePath: "path" },
        resultExtract: "$.contents",
        metadata: { Other: 1 },
      },
    ],
    resources: [{ uriTemplate: "file:///{path}", refKindId: "mcp_filesystem" }],
  });
  expect(Object.keys(hooks)).toEqual(["buildArguments"]);
});

test("defineDriver reports all errors of a definition at once", () => {
  expect(() => defineDriver({ ...definition, id: "Bad Id", transport: "http", version: "one" })).toThrow(
    /id[\s\S]*transport|transport[\s\S]*id/,
  );
});

test("defineTool accepts schemas of a library and JSON Schema", () => {
  const { contract } = defineTool({
    id: "fs-read",
    description: "Reads.",
    version: "1.0.0",
    inputSchema: z.object({ filePath: z.string(), lines: z.int().default(5) }),
    outputSchema: { type: "string" },
    contextSchema: z.object({ tenantId: z.string() }),
    mutates: ["workspace:files"],
    approval: "on-mutate",
    timeoutMs: 900,
    driverConstraints: { requireKind: ["mcp"] },
  });
  expect(contract).toMatchObject({
    id: "fs-read",
    name: "fs-read",
    inputs: {
      type: "object",
      properties: { filePath: { type: "string" }, lines: { default: 5 } },
      required: ["filePath"],
    },
    outputs: { type: "string" },
    contextSchema: { properties: { tenantId: { type: "string" } } },
    timeoutMs: 900,
    driverConstraints: { requireKind: ["mcp"], forbid: [] },
  });
});

test("defineTool refuses a contract with an execute function", () => {
  const wrong = {
    id: "fs-read",
    description: "Reads.",
    inputSchema: { type: "object" },
    outputSchema: {},
    execute: () => 1,
  };
  expect(() => defineTool(wrong)).toThrow(/execute/);
});

test("defineSecret checks access and reads the value", async () => {
  const handle = defineSecret(
    {
      slug: "api-key",
      name: "Key",
      description: "A key.",
      access: { reveal: [{ role: "admin" }], bind: [{ tool: "fs-read" }, { userId: "bob" }] },
    },
    async () => "v",
  );
  expect(handle.checkAccess("bind", { tool: "fs-read" })).toEqual({
    granted: true,
    grantedBy: "tool:fs-read",
  });
  expect(handle.checkAccess("bind", { userId: "bob" })).toMatchObject({ granted: true });
  expect(await handle.reveal({ roles: ["admin"] })).toBe("v");
  await expect(handle.reveal({})).rejects.toMatchObject({ error: { code: "unauthorised" } });
});

const FILE = `---
name: Filesystem MCP
id: filesystem-mcp
description: Other.
version: 1.0.0
kind: mcp
server: { kind: binary, path: mcp-filesystem, args: [/workspace], env: { SOME_KEY: x } }
transport: stdio
timeout_override_ms: 900
implements:
  - tool: fs-read
    version: ^1.0.0
    schema_narrowing: { drop_inputs: [tailLines] }
    metadata:
      Other: 1
      mcp:
        tool_name: read_file
        argument_mapping: { filePath: path }
        result_extract: $.contents
---
`;

describe("a driver file and its entry module", () => {
  const declared = (text = FILE): Parameters<typeof mergeEntry>[0] => {
    const { driver } = parseDriver(text, "/ws/.drivers/filesystem-mcp/DRIVER.md");
    return { driver: driver as Driver, source: { text } };
  };

  test("the file wins over the module, and a warning names the field", () => {
    const handle = defineDriver({
      ...definition,
      timeoutOverrideMs: 800,
      login: async () => ({ ok: true }),
    });
    const { driver, hooks, warnings } = mergeEntry(declared(), handle);
    expect(driver).toMatchObject({ description: "Other.", timeoutMs: 900 });
    expect(hooks.login).toBeDefined();
    expect(warnings.map(({ path }) => String(path)).toSorted()).toEqual([
      "/description",
      "/timeout_override_ms",
    ]);
  });

  test("the module sets fields that the file does not have", () => {
    const handle = defineDriver({
      ...definition,
      version: undefined,
      region: ["eu"],
      network: { egress: ["api.example.com"] },
      sandbox: { fs: { read: ["./data"] } },
      requires: { os: ["linux"] },
      tags: ["beta"],
    });
    const { driver, warnings } = mergeEntry(declared(FILE.replace("timeout_override_ms: 900\n", "")), handle);
    expect(driver).toMatchObject({
      version: "1.0.0",
      timeoutMs: 900,
      region: ["eu"],
      policyTags: ["self-hosted"],
      protocolVersion: "2025-06-18",
      retry: { maxAttempts: 2 },
      connection: { timeoutMs: 1_000, keepalive: true },
      auth: { login: { command: "in" } },
      resources: [{ refKindId: "mcp_filesystem" }],
      tags: ["beta"],
      launch: {
        requires: { os: ["linux"] },
        // Paths are relative to the driver's folder, wherever this program runs.
        sandbox: { network: ["api.example.com"], fs: { read: ["/ws/.drivers/filesystem-mcp/data"] } },
      },
    });
    expect(warnings.map(({ path }) => path)).toEqual(["/description"]);
  });

  test("a module with functions only leaves all fields to the file", () => {
    const parseToolResult = () => ({ ok: true as const, value: 1, ms: 0 });
    const { driver, hooks, warnings } = mergeEntry(declared(), defineDriverHooks({ parseToolResult }));
    expect(driver).toEqual(declared().driver);
    expect(hooks).toEqual({ parseToolResult });
    expect(warnings).toEqual([]);
  });

  test.each([
    [
      { timeoutOverrideMs: 5 },
      'unknown function "timeoutOverrideMs" (Write timeout_override_ms into the DRIVER.md.)',
    ],
    [{ parseToolResults: () => {} }, 'unknown function "parseToolResults" (Did you mean "parseToolResult"?)'],
    [{ login: true }, "login must be a function, but is a boolean"],
  ])("defineDriverHooks(%j) is refused", (hooks, problem) => {
    expect(() => defineDriverHooks(hooks as DriverHooks)).toThrow(problem);
  });

  test("the result of both must be valid", () => {
    const handle = defineDriver({ ...definition, network: { egress: ["a.example.com"] } });
    const both = FILE.replace("transport:", "sandbox: { network: { egress: [] } }\ntransport:");
    expect(() => mergeEntry(declared(both), handle)).toThrow(
      /network is set here in sandbox, and at the top level/,
    );
  });
});

test.each([
  [{ buildArguments: 5 }, "buildArguments must be a function, but is a number"],
  [{ execute: { "fs-read": "x" } }, 'execute["fs-read"] must be a function, but is a string'],
  [{ execute: 1 }, "execute must be an object of functions"],
  [{ buildArgument: () => ({}) }, 'Did you mean "buildArguments"'],
  [{ timeoutOverideMs: 5 }, 'Did you mean "timeoutOverrideMs"'],
  [{ timeout_override_ms: 5 }, 'Did you mean "timeoutOverrideMs"'],
  [{ zzz: 5 }, 'unknown field "zzz"'],
  [{ implements: undefined }, "implements"],
])("defineDriver refuses %j", (slip, message) => {
  const wrong = { ...definition, ...slip } as unknown as McpDriverDefinition;
  expect(() => defineDriver(wrong)).toThrow(message);
});

test("the example of the specification works from code", async () => {
  const read = defineTool({
    id: "fs-read",
    description: "Reads.",
    version: "1.0.0",
    inputSchema: z.object({ path: z.string() }),
    outputSchema: z.string(),
  });
  const files = defineDriver({
    ...definition,
    auth: undefined,
    implements: [{ tool: read, metadata: { mcp: { toolName: "read_file", resultExtract: "$.contents" } } }],
  });
  const { upstream } = await serve({
    tools: [
      {
        name: "read_file",
        inputSchema: { type: "object", properties: { path: { type: "string" } }, required: ["path"] },
      },
    ],
    call: (_, { path }) =>
      text("", { structuredContent: { contents: `of ${String(path)}`, mime_type: "text/plain" } }),
  });
  const contracts = await openContracts({
    contracts: [read.contract],
    drivers: [files],
    acquire: async () => upstream,
    checkUri: () => undefined,
  });
  expect((await contracts.call({ tool: "fs-read", input: { path: "a" } })).result).toMatchObject({
    ok: true,
    value: "of a",
  });
  await contracts.close();
});

test("parseDriver refuses a driver file without the required fields", () => {
  expect(parseDriver("---\nkind: mcp\n---\n", "DRIVER.md").driver).toBeUndefined();
});

describe("register() of contracts", () => {
  const greet = defineTool({
    id: "greet",
    description: "Greets.",
    version: "1.0.0",
    inputSchema: z.object({ name: z.string() }),
    outputSchema: z.string(),
  });
  const greeter = defineDriver({
    kind: "mcp",
    id: "greet-mcp",
    name: "Greeter",
    description: "Greets.",
    version: "1.0.0",
    server: { kind: "binary", path: "greeter" },
    transport: "stdio",
    implements: [{ tool: greet, metadata: { mcp: { toolName: "hello" } } }],
  });
  const open = async (drivers: readonly { driver: Driver }[] = []) => {
    const { upstream } = await serve({
      tools: [{ name: "hello", inputSchema: { type: "object", properties: { name: { type: "string" } } } }],
      call: (_, args) => text(`hello ${String(args.name)}`),
    });
    return openContracts({
      contracts: [],
      drivers,
      acquire: async () => upstream,
      checkUri: () => undefined,
    });
  };
  const call = { tool: "greet", input: { name: "Ann" } };
  const served = { result: { ok: true, value: "hello Ann" }, driver: "greet-mcp" };

  test("adds a contract and a driver by their handles", async () => {
    expect([greet.id, greeter.id]).toEqual(["greet", "greet-mcp"]);
    const contracts = await open();
    const changed: string[] = [];
    contracts.on("toolsChanged", () => changed.push("tools"));
    expect(await contracts.register(greet)).toEqual([]);
    expect(await contracts.register(greeter)).toEqual([]);
    expect(await contracts.call(call)).toMatchObject(served);
    expect(changed).not.toEqual([]);
    expect(await contracts.request({ method: "tools/list" })).toMatchObject({ tools: [{ name: "greet" }] });
  });

  test("adds the contract that a registered driver needs", async () => {
    const contracts = await open([{ driver: greeter.driver }]);
    expect((await contracts.call(call)).result.ok).toBe(false);
    await contracts.register(greet);
    expect(await contracts.call(call)).toMatchObject(served);
  });

  test("refuses a contract with the id of a contract of the workspace", async () => {
    const contracts = await openContracts({
      contracts: [greet.contract],
      drivers: [],
      acquire: async () => Promise.reject(new Error("no")),
      checkUri: () => undefined,
    });
    expect(await contracts.register(greet)).toMatchObject([{ severity: "error", code: "NAME_AMBIGUOUS" }]);
  });
});

test("the handle of a secret has an id", () => {
  expect(defineSecret({ slug: "api-key", name: "Key", description: "A key." }).id).toBe("api-key");
});

test("a contract without schemas is refused, and the error names the contract and the field", () => {
  const without = { id: "greet", description: "Greets.", version: "1.0.0", inputs: {} };
  expect(() => defineTool(without as never)).toThrow(
    "inputSchema of the contract greet is missing, or is not a schema",
  );
  const unknown = { ...without, inputSchema: {}, outputSchema: { "~standard": { version: 1 } } };
  expect(() => defineTool(unknown as never)).toThrow(
    "outputSchema of the contract greet cannot be converted to JSON Schema",
  );
});
