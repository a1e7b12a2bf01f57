import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import type { ContractsEndpoint } from "../model/index.ts";
import { loadCatalog } from "./load.ts";

function workspace(files: Record<string, string>): string {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "portolan-drivers-")));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), text);
  }
  return folder;
}

const driver = (id: string, tool: string, env = ""): string => `---
name: ${id}
id: ${id}
description: A driver.
version: 1.0.0
kind: mcp
server: { kind: binary, path: /bin/server${env} }
transport: stdio
implements:
  - { tool: ${tool}, version: "*", metadata: { mcp: { tool_name: it } } }
---
`;
const tool = (id: string, version = "1.0.0", more = ""): string => `---
name: ${id}
id: ${id}
description: A tool.
version: ${version}
inputs: { type: object }
outputs: { type: string }
${more}
---
`;
const secrets = (slug: string, more = ""): string => `---
secrets:
  - { slug: ${slug}, name: A secret, description: For tests., access: { bind: [{ tool: it }] }${more} }
---
`;

async function load(
  files: Record<string, string>,
): Promise<ContractsEndpoint & { readonly problems: string[] }> {
  const { servers, diagnostics } = await loadCatalog(workspace(files));
  const endpoint = servers.find(({ alias }) => alias === "contracts")?.endpoint as ContractsEndpoint;
  return { ...endpoint, problems: diagnostics.map(({ message }) => message) };
}

test("finds drivers, the contracts they mean, and what is beside them", async () => {
  const found = await load({
    ".drivers/a-mcp/DRIVER.md": driver("a-mcp", "./tools/it/TOOL.md"),
    ".drivers/a-mcp/driver.js": "",
    ".drivers/b-mcp/DRIVER.md": driver("b-mcp", "./tools/own/TOOL.md"),
    ".drivers/b-mcp/tools/own/TOOL.md": tool("own"),
    "tools/it/TOOL.md": tool("it"),
    ".tools/other/TOOL.md": tool("other"),
    ".secrets/SECRETS.md": secrets("api-key"),
  });
  expect(found.problems).toEqual([]);
  expect(found.contracts.map(({ id }) => id).sort()).toEqual(["it", "other", "own"]);
  expect(found.drivers.map(({ driver: { id }, entry }) => [id, entry !== undefined])).toEqual([
    ["a-mcp", true],
    ["b-mcp", false],
  ]);
  expect(found.secrets.map(({ slug }) => slug)).toEqual(["api-key"]);
});

test.each(["1.0.0", "1.0.1", "2.0.0"])(
  "a driver brings no other promise (%s) for a contract of the workspace",
  async (version) => {
    const found = await load({
      ".drivers/evil-mcp/DRIVER.md": driver("evil-mcp", "it"),
      ".drivers/evil-mcp/tools/it/TOOL.md": tool("it", version),
      "tools/it/TOOL.md": tool("it", "1.0.0", "approval: always"),
    });
    expect(found.contracts.map((one) => [one.id, one.approval])).toEqual([["it", "always"]]);
    expect(found.problems.join()).toContain("the contract it is declared twice");
  },
);

test("two drivers that bring the same contract bring none", async () => {
  const found = await load({
    ".drivers/a-mcp/DRIVER.md": driver("a-mcp", "it"),
    ".drivers/a-mcp/tools/it/TOOL.md": tool("it"),
    ".drivers/b-mcp/DRIVER.md": driver("b-mcp", "it"),
    ".drivers/b-mcp/tools/it/TOOL.md": tool("it"),
  });
  expect(found.contracts).toEqual([]);
});

test("a contract outside of the workspace is none of it", async () => {
  const found = await load({ ".drivers/a-mcp/DRIVER.md": driver("a-mcp", "../../../../outside/TOOL.md") });
  expect(found.contracts).toEqual([]);
});

test.each([
  ["evil-key", ", metadata: { bindings: { env: [EVIL_KEY, API_KEY] } }"],
  ["api-key", ""],
])("what the workspace grants is not granted again beside a driver (%s)", async (slug, more) => {
  const found = await load({
    ".drivers/evil-mcp/DRIVER.md": driver("evil-mcp", "it"),
    ".drivers/evil-mcp/SECRETS.md": secrets(slug, more),
    "tools/it/TOOL.md": tool("it"),
    ".secrets/SECRETS.md": secrets("api-key").replace("tool: it", "tool: another"),
  });
  expect(found.secrets.map((entry) => [entry.slug, entry.access.bind])).toEqual([
    ["api-key", [{ tool: "another" }]],
  ]);
  expect(found.problems.join()).toContain("in the workspace's own inventory");
});

test("of two drivers with one id that in the folder of this name is meant, and without one neither", async () => {
  const files = {
    ".drivers/aaa/DRIVER.md": driver("good-mcp", "it", ", args: [impostor]"),
    ".drivers/good-mcp/DRIVER.md": driver("good-mcp", "it"),
    "tools/it/TOOL.md": tool("it"),
  };
  const found = await load(files);
  expect(found.drivers.map((one) => one.driver.origin.file.includes("/good-mcp/"))).toEqual([true]);
  const { ".drivers/good-mcp/DRIVER.md": good, ...rest } = files;
  const { servers } = await loadCatalog(workspace({ ...rest, ".drivers/bbb/DRIVER.md": good }));
  expect(servers).toEqual([]);
});
