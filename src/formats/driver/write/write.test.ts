// Drivers and contracts of every kind are equal after writing and reading.

import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Driver } from "../../../model/index.ts";
import {
  type BindingDraft,
  type DriverDraft,
  parseDriver,
  parseTool,
  type ToolDraft,
  writeDriver,
  writeTool,
} from "../index.ts";

const words = (pattern: RegExp, size = "-1"): fc.Arbitrary<string> =>
  fc.stringMatching(pattern, { size: size as "-1" });
/** Texts with everything that YAML could read as another type or as syntax. */
const text = fc
  .oneof(
    fc.string({ unit: "grapheme", minLength: 1, maxLength: 60 }),
    fc.constantFrom(
      "---",
      "a\n---\nb",
      "true",
      "null",
      "1.0",
      "0x1F",
      "~",
      "# a",
      "- a",
      "a: b",
      " a ",
      "a\n",
      "\ta",
      "*a",
      "&a",
      "'",
      '"',
      "|",
      "<<",
      "2025-03-26",
      "\\d",
    ),
  )
  .filter((value) => value !== "" && !/\0|\$\{|[\uD800-\uDFFF]/u.test(value));
const name = text.filter((value) => Array.from(value).length <= 80);
const maybe = <T>(value: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> =>
  fc.option(value, { nil: undefined });
const key = words(/^[a-z]{1,6}$/).filter((word) => word !== "mcp");
const unique = <T>(value: fc.Arbitrary<T>): fc.Arbitrary<T[]> => fc.uniqueArray(value, { maxLength: 3 });
const version = words(/^[1-9]\.(0|[1-9])\.[1-9](-[a-z]{1,3})?$/);
const tag = words(/^[a-z][a-z0-9-]{0,8}$/);
const json = fc
  .dictionary(
    key,
    fc.oneof(text, fc.integer(), fc.boolean(), fc.constant(null), fc.array(text, { maxLength: 2 })),
    { maxKeys: 3 },
  )
  .filter((value) => !("contextSchema" in value));
const retry = fc.record({
  maxAttempts: fc.integer({ min: 1, max: 10 }),
  backoff: fc.constantFrom("fixed" as const, "exponential" as const),
  initialMs: fc.nat(10_000),
});
const cost = fc.record({
  costClass: maybe(fc.constantFrom("trivial" as const, "metered" as const)),
  unitsPerCall: maybe(fc.nat(99)),
  currency: maybe(fc.constant("USD")),
});
const schema = fc.record({
  type: fc.constant("object"),
  properties: fc.dictionary(key, fc.record({ type: fc.constantFrom("string", "null"), description: text }), {
    maxKeys: 3,
  }),
});

const contract: fc.Arbitrary<ToolDraft> = fc.record({
  id: words(/^[a-z][a-z0-9.-]{0,8}[a-z0-9]$/),
  name,
  description: text,
  version,
  inputs: schema,
  outputs: schema,
  contextSchema: maybe(schema),
  idempotent: fc.boolean(),
  mutates: unique(words(/^[a-z]{1,5}:[a-z/*]{1,5}$/)),
  requires: fc.record({ network: unique(text), secrets: unique(text), tools: unique(text) }),
  approval: fc.constantFrom("always", "on-mutate", "policy:a/b"),
  riskLevel: fc.integer({ min: 0, max: 3 }),
  costClass: fc.constantFrom("trivial" as const, "metered" as const, "expensive" as const),
  timeoutMs: fc.integer({ min: 1, max: 99_999 }),
  retry: maybe(retry),
  defaultImplementation: maybe(words(/^[a-z][a-z0-9.-]{1,8}$/)),
  driverConstraints: fc.record({
    forbid: unique(fc.constantFrom("cli" as const, "sdk" as const)),
    requireKind: unique(fc.constantFrom("mcp" as const, "http" as const)),
  }),
  tags: unique(tag),
  examples: fc.array(
    fc.record({
      name: text,
      input: json,
      output: maybe(fc.oneof(text, json, fc.constant(null))),
      note: maybe(text),
    }),
    { maxLength: 2 },
  ),
  metadata: json,
});

const env = fc.dictionary(words(/^[A-Z][A-Z_]{0,5}$/), fc.oneof(text, fc.constant("a ${secrets.A_KEY} b")), {
  maxKeys: 2,
});
const args = fc.array(text, { maxLength: 2 });
const word = words(/^[a-z@/]{1,9}$/);
type Reached = Pick<DriverDraft, "server" | "transport">;
const server: fc.Arbitrary<Reached> = fc.oneof(
  fc.record({
    server: fc.record({
      kind: fc.constant("binary" as const),
      path: word.map((path) => `./${path}`),
      args,
      env,
    }),
    transport: fc.constant("stdio" as const),
  }),
  fc.record({
    server: fc.record({ kind: fc.constant("npm" as const), package: word, args, env }),
    transport: fc.constant("stdio" as const),
  }),
  fc.record({
    server: fc.record({
      kind: fc.constant("docker" as const),
      image: word,
      args,
      env,
      port: maybe(fc.integer({ min: 1, max: 65_535 })),
      path: maybe(fc.constant("/a")),
    }),
    transport: fc.constantFrom("stdio" as const, "http" as const),
  }),
  fc.record({
    server: fc.record({
      kind: fc.constant("remote" as const),
      url: fc.constant("https://a.example.com/mcp"),
      headers: maybe(fc.constant({ "X-A": "b", "X-S": "${secrets.A_KEY}" })),
      auth: maybe(
        fc.constantFrom(
          {},
          { token: "${secrets.K}" },
          { header: "X-K", key: "${secrets.K}" },
          {
            clientId: "c",
            clientSecret: "${secrets.K}",
            scopes: ["a", "b"],
            redirectUri: "http://127.0.0.1/",
          },
        ),
      ),
    }),
    transport: fc.constantFrom("sse" as const, "http" as const),
  }),
);
const binding: fc.Arbitrary<BindingDraft> = fc.record({
  tool: words(/^\.\/[a-z]{1,9}\/TOOL\.md$/),
  range: fc.constantFrom("^1.0.0", "*", ">=1 <3", "1.x || 2.x"),
  toolName: name,
  dropInputs: unique(text),
  dropOutputs: unique(text),
  mapping: fc.constantFrom<BindingDraft["mapping"]>(
    {},
    { a: "b" },
    { a: { from: "b", transform: "c" }, d: { from: "e" } },
  ),
  cost: maybe(cost),
  timeoutMs: maybe(fc.integer({ min: 100, max: 9_999 })),
  retry: maybe(retry),
  argumentMapping: fc.constantFrom<Record<string, string>>({}, { a: "b", c: "d" }),
  resultExtract: fc.constantFrom("$", "$.a[*].b", "$.a[?(@.b=='c')]"),
  metadata: json,
});
const sandbox = fc.record({
  network: fc.constantFrom<string[]>([], ["a.example.com"], ["*"]),
  fs: maybe(fc.constant({ read: ["/a"], write: ["~/b"] })),
  env: maybe(fc.constant({ pass: ["LANG"], set: { A: "b" } })),
  exec: maybe(fc.constantFrom({ spawn: false }, { allow: ["git"] }, { allow: ["git"], spawn: true })),
  home: maybe(fc.constant("kept" as const)),
  limits: maybe(
    fc.constant({
      memoryBytes: 1_000,
      cpuSeconds: 60,
      fileBytes: 5,
      niceness: 1,
      processes: 2,
      openFiles: 3,
    }),
  ),
  pathArguments: maybe(fc.constant({ "read_*": ["path"] })),
});
const http = fc.constant({ method: "GET" as const, url: "https://a.b/c", expectStatus: 200 });
const ms = fc.oneof(
  fc.integer({ min: 1, max: 99_999_999 }),
  fc.constantFrom(86_400_000, 3_600_000, 60_000, 500),
);
const driver: fc.Arbitrary<DriverDraft> = fc
  .tuple(
    server,
    fc.record({
      id: words(/^[a-z][a-z0-9.-]{1,9}$/),
      name,
      description: text,
      version,
      implements: fc.uniqueArray(binding, { minLength: 1, maxLength: 3, selector: ({ tool }) => tool }),
      launch: fc.record({
        sandbox,
        askedMode: fc.option(fc.constant("warn" as const), { nil: undefined }),
        install: maybe(
          fc.constant([
            { method: "npm" as const, package: "a", global: false },
            { method: "curl" as const, url: "https://a.b", sha256: "a".repeat(64) },
            { method: "download" as const, url: "https://a.b", extractBin: "c" },
            { method: "vendored" as const, path: "/a" },
          ]),
        ),
        versionCheck: maybe(
          fc.constantFrom(
            { command: "a --version", parse: "v(\\S+)", range: ">=0.5", timeoutMs: 5_000 },
            { command: "a", parse: "(a)", range: "*", timeoutMs: 100 },
          ),
        ),
        requires: maybe(fc.constant({ os: ["win32", "linux"], arch: ["ia32"] })),
      }),
      protocolVersion: maybe(fc.constantFrom("2025-03-26", "2026-07-28")),
      prompts: fc.constantFrom<Driver["prompts"]>(
        [],
        [
          { name: "a", integrateAs: "raw" },
          { name: "b", description: "c", integrateAs: "skill_block", skillRef: "./s/SKILL.md" },
        ],
      ),
      resources: fc.constantFrom<Driver["resources"]>(
        [],
        [
          { uriTemplate: "a:{b}", integrateAs: "raw" },
          { uriTemplate: "file:///{b}", integrateAs: "ref_kind", refKindId: "k" },
        ],
      ),
      connection: fc.record({
        timeoutMs: maybe(fc.constant(100)),
        maxRetries: maybe(fc.nat(10)),
        keepalive: maybe(fc.boolean()),
      }),
      auth: maybe(
        fc.record({
          ref: maybe(fc.constant("./SECRETS.md")),
          state: maybe(fc.constantFrom({ paths: [], env: ["A"] }, { paths: ["~/a"], env: [] })),
          login: maybe(
            fc.record({
              command: maybe(text),
              url: maybe(fc.constant("https://a.b")),
              interactive: fc.boolean(),
              requiresCallbackUrl: fc.boolean(),
              completesWhen: maybe(fc.record({ exitCode: maybe(fc.nat(9)), http: maybe(http) })),
            }),
          ),
          refresh: maybe(fc.record({ command: maybe(text), everyMs: maybe(ms) })),
          expiryDetect: maybe(fc.constant("http_status:401")),
        }),
      ),
      region: fc.constantFrom(["global"], ["eu", "us"], []),
      policyTags: unique(tag),
      cost: maybe(cost),
      timeoutMs: maybe(fc.constant(100)),
      retry: maybe(retry),
      healthCheck: maybe(
        fc.record({
          method: fc.constantFrom("ping" as const, "noop" as const),
          everyMs: maybe(ms),
          timeoutMs: fc.constantFrom(100, 5_000),
        }),
      ),
      tags: unique(tag),
      metadata: json,
    }),
  )
  .map(([reached, rest]) => {
    const remote = reached.server.kind === "remote";
    const launch = remote
      ? { ...rest.launch, sandbox: { ...rest.launch.sandbox, network: ["a.example.com"] } }
      : rest.launch;
    return { ...rest, ...reached, launch };
  });

/** Removes undefined values and positions. */
function plain(value: unknown): unknown {
  return JSON.parse(
    JSON.stringify(value, (name, inner: unknown) =>
      name === "origin" || name === "endpoint" ? undefined : inner,
    ),
  );
}

describe("writing and reading back", () => {
  test("gives the same contract", () => {
    fc.assert(
      fc.property(contract, (draft) => {
        const { contract: read, diagnostics } = parseTool(writeTool(draft), "TOOL.md");
        expect(diagnostics).toEqual([]);
        expect(plain(read)).toEqual(plain(draft));
      }),
      { numRuns: 100 },
    );
  });

  test("gives the same driver, and writing it again gives the same text", () => {
    fc.assert(
      fc.property(driver, (draft) => {
        const written = writeDriver(draft);
        const { driver: read, diagnostics } = parseDriver(written, "DRIVER.md");
        expect(diagnostics.filter(({ severity }) => severity === "error")).toEqual([]);
        expect(plain(read)).toEqual(plain({ ...draft, kind: "mcp" }));
        expect(read && writeDriver(read)).toBe(written);
      }),
      { numRuns: 100 },
    );
  });
});

test("writes a small driver as readable YAML", () => {
  const written = writeDriver({
    id: "filesystem-mcp",
    name: "Filesystem MCP",
    description: "Files of the workspace.",
    version: "1.0.0",
    server: {
      kind: "npm",
      package: "@modelcontextprotocol/server-filesystem",
      args: ["/workspace"],
      env: {},
    },
    transport: "stdio",
    implements: [
      { tool: "./tools/fs-read/TOOL.md", range: "^1.0.0", toolName: "read_file", resultExtract: "$.content" },
    ],
  });
  expect(written).toBe(`---
name: Filesystem MCP
id: filesystem-mcp
description: Files of the workspace.
version: "1.0.0"
kind: mcp
server:
  kind: npm
  package: "@modelcontextprotocol/server-filesystem"
  args: [ /workspace ]
transport: stdio
network:
  egress: []
implements:
  - tool: ./tools/fs-read/TOOL.md
    version: "^1.0.0"
    metadata:
      mcp: { tool_name: read_file, result_extract: $.content }
---

# Filesystem MCP

Files of the workspace.

| Contract | MCP tool |
| --- | --- |
| ./tools/fs-read/TOOL.md | read_file |
`);
  expect(parseDriver(written, "DRIVER.md").diagnostics).toEqual([]);
});
