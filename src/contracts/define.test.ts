// Declarations in code say the same as files, are checked by the same rules, and give way to files.

import { expect, test } from "vitest";
import { z } from "zod";
import { serve, text } from "../../test/contract-helpers.ts";
import { parseDriver } from "../formats/driver/index.ts";
import { openContracts } from "./contracts-upstream.ts";
import { defineDriver, defineSecret, defineTool, mergeEntry } from "./define.ts";
import type { McpDriverDefinition } from "./define-types.ts";

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

test("a driver", () => {
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

test("everything that is wrong with one is said at once", () => {
  expect(() => defineDriver({ ...definition, id: "Bad Id", transport: "http", version: "one" })).toThrow(
    /id[\s\S]*transport|transport[\s\S]*id/,
  );
});

test("a contract, with the schemas of a library or with JSON Schema", () => {
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

test("a contract that does something itself is refused", () => {
  const wrong = {
    id: "fs-read",
    description: "Reads.",
    inputSchema: { type: "object" },
    outputSchema: {},
    execute: () => 1,
  };
  expect(() => defineTool(wrong)).toThrow(/execute/);
});

test("a secret", async () => {
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

test("what a file says holds, and a warning names the field", () => {
  const handle = defineDriver({
    ...definition,
    timeoutOverrideMs: 800,
    region: ["eu"],
    login: async () => ({ ok: true }),
  });
  const file = defineDriver({ ...definition, description: "Other." }).driver;
  const { driver, hooks, warnings } = mergeEntry(file, handle);
  expect(driver).toBe(file);
  expect(hooks.login).toBeDefined();
  expect(warnings.map(({ path }) => String(path)).toSorted()).toEqual([
    "/description",
    "/region",
    "/timeout_override_ms",
  ]);
});

test("the example of the standard, called from code", async () => {
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

test("a driver written in a file needs no code", () => {
  expect(parseDriver("---\nkind: mcp\n---\n", "DRIVER.md").driver).toBeUndefined();
});
