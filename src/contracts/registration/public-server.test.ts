// The example of the specification against the public filesystem server: refused with a hint, and verified with its correction.

import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { binding, contract, driver, object, TEXT } from "../../../test/helpers/contracts.ts";
import type { Diagnostic } from "../../errors/index.ts";
import { type Binding, DEFAULT_LIMITS } from "../../model/index.ts";
import { openUpstream, type Upstream } from "../../upstream/index.ts";
import { type Contracts, openContracts } from "../contracts-upstream.ts";

async function openFiles(folder: string): Promise<Upstream> {
  const require = createRequire(import.meta.url);
  const root = dirname(require.resolve("@modelcontextprotocol/server-filesystem/package.json"));
  const upstream = await openUpstream({
    definition: {
      name: "filesystem",
      endpoint: {
        transport: "stdio",
        command: process.execPath,
        args: [join(root, "dist", "index.js"), folder],
      },
      era: "auto",
      limits: DEFAULT_LIMITS,
    },
    caller: { clientInfo: { name: "test", version: "1" }, capabilities: {} },
    watch: true,
    report: () => {},
    eras: { isLegacy: async () => false, remember: async () => {} },
  });
  onTestFinished(() => upstream.close());
  return upstream;
}

async function open(
  upstream: Upstream,
  bindings: Binding[],
): Promise<{ contracts: Contracts; problems: Diagnostic[] }> {
  const problems: Diagnostic[] = [];
  const contracts = await openContracts({
    contracts: [
      contract(),
      contract({
        id: "fs-write",
        inputs: object({ path: TEXT, content: TEXT }),
        mutates: ["workspace:files"],
      }),
      contract({ id: "fs-list" }),
    ],
    drivers: [{ driver: driver({ id: "filesystem-mcp", implements: bindings }) }],
    acquire: async () => upstream,
    checkUri: () => undefined,
    report: (problem) => problems.push(problem),
  });
  onTestFinished(() => contracts.close());
  return { contracts, problems };
}

const bindings = (read: string, list: string): Binding[] => [
  binding({ argumentMapping: { path: "path" }, resultExtract: read }),
  binding({ tool: "fs-write", toolName: "write_file", resultExtract: "$.content" }),
  binding({ tool: "fs-list", toolName: "list_directory", resultExtract: list }),
];

test("the example of the specification is refused with a hint, and is verified after this correction", async () => {
  const folder = await mkdtemp(join(tmpdir(), "portolan-contracts-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  await writeFile(join(folder, "a.txt"), "hello");
  const upstream = await openFiles(folder);

  const before = await open(upstream, bindings("$.contents", "$.entries"));
  expect(before.contracts.status()).toMatchObject([{ server: "refused" }]);
  expect(before.problems.map(({ tool, hint }) => [tool, hint])).toEqual([
    ["fs-read", "Matching paths: result_extract $.content."],
    ["fs-list", "Matching paths: result_extract $.content."],
  ]);

  const { contracts, problems } = await open(upstream, bindings("$.content", "$.content"));
  expect(problems).toEqual([]);
  const call = async (tool: string, input: object): Promise<unknown> => {
    const { result } = await contracts.call({ tool, input });
    return result.ok ? result.value : result.error;
  };
  expect(await call("fs-read", { path: join(folder, "a.txt") })).toBe("hello");
  expect(await call("fs-write", { path: join(folder, "b.txt"), content: "x" })).toContain("b.txt");
  expect(await call("fs-list", { path: folder })).toMatch(/a\.txt[\s\S]*b\.txt/);
  expect(await call("fs-read", { path: join(folder, "..", "outside") })).toMatchObject({
    code: "upstream_error",
    retryable: false,
  });
});
