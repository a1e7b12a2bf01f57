// The filesystem example of the specification, as written, and the contracts beside it.

import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { createValidator } from "../../schema/index.ts";
import { toPlain } from "../document/index.ts";
import { parseDriver, parseTool, readFrontmatter } from "./index.ts";

const EXAMPLE = `---
name: Filesystem MCP
id: filesystem-mcp
description:
  Anthropic's reference filesystem MCP server. Stdio transport. Exposes
  read_file, write_file, list_directory as the contracts fs-read,
  fs-write, fs-list.
version: 1.0.0
kind: mcp

server:
  kind: npm
  package: "@modelcontextprotocol/server-filesystem"
  args: ["/workspace"]
transport: stdio
protocol_version: "2025-03"

install:
  - { method: npm, package: "@modelcontextprotocol/server-filesystem", global: false }
version_check:
  cmd: "npx @modelcontextprotocol/server-filesystem --version"
  parse: 'v(\\S+)'
  range: ">=0.5"

network:
  egress: []                              # local stdio, no network
region: ["self-hosted"]
policy_tags: ["self-hosted", "pii-safe"]

implements:
  - tool: ./tools/fs-read/TOOL.md
    version: "^1.0.0"
    metadata:
      mcp:
        tool_name: read_file
        argument_mapping: { path: path }
        result_extract: "$.contents"
  - tool: ./tools/fs-write/TOOL.md
    version: "^1.0.0"
    metadata:
      mcp:
        tool_name: write_file
        argument_mapping: { path: path, content: content }
        result_extract: "$"
  - tool: ./tools/fs-list/TOOL.md
    version: "^1.0.0"
    metadata:
      mcp:
        tool_name: list_directory
        argument_mapping: { path: path }
        result_extract: "$.entries"

resources:
  - uri_template: "file:///{path}"
    description: "Filesystem resources accessible via this MCP server."
    integrate_as: ref_kind
    ref_kind_id: mcp_filesystem

tags: [mcp, filesystem, anthropic-reference, pii-safe]
---
`;

const FS_READ = `---
name: Read a file
id: fs-read
description: Reads a text file of the workspace.
version: 1.2.0
inputs:
  type: object
  properties:
    path: { type: string }
    encoding: { type: string, default: utf8 }
  required: [path]
  additionalProperties: false
outputs: { type: string }
idempotent: true
examples:
  - { name: a note, input: { path: notes.txt }, output: hello }
---

# Read a file
`;

const FS_WRITE = `---
name: Write a file
id: fs-write
description: Writes a text file of the workspace.
version: 1.0.0
inputs:
  type: object
  properties: { path: { type: string }, content: { type: string } }
  required: [path, content]
outputs: { type: object }
mutates: ["workspace:files"]
approval: on-mutate
risk_level: 1
---
`;

const FS_LIST = `---
name: List a folder
id: fs-list
description: Lists what is in a folder of the workspace.
version: 1.0.0
inputs: { type: object, properties: { path: { type: string } }, required: [path] }
outputs: { type: array, items: { type: string } }
---
`;

describe("the example driver for a filesystem server", () => {
  const { driver, diagnostics } = parseDriver(EXAMPLE, "/w/.drivers/filesystem-mcp/DRIVER.md");

  test("has no diagnostics", () => {
    expect(diagnostics).toEqual([]);
  });

  test("is parsed to the expected driver object", () => {
    const origin = expect.objectContaining({ format: "driver" });
    const binding = { dropInputs: [], dropOutputs: [], mapping: {}, metadata: {}, origin, range: "^1.0.0" };
    expect(driver).toEqual({
      id: "filesystem-mcp",
      name: "Filesystem MCP",
      description:
        "Anthropic's reference filesystem MCP server. Stdio transport. Exposes read_file, write_file, list_directory as the contracts fs-read, fs-write, fs-list.",
      version: "1.0.0",
      kind: "mcp",
      implements: [
        {
          ...binding,
          tool: "./tools/fs-read/TOOL.md",
          toolName: "read_file",
          argumentMapping: { path: "path" },
          resultExtract: "$.contents",
        },
        {
          ...binding,
          tool: "./tools/fs-write/TOOL.md",
          toolName: "write_file",
          argumentMapping: { path: "path", content: "content" },
          resultExtract: "$",
        },
        {
          ...binding,
          tool: "./tools/fs-list/TOOL.md",
          toolName: "list_directory",
          argumentMapping: { path: "path" },
          resultExtract: "$.entries",
        },
      ],
      server: {
        kind: "npm",
        package: "@modelcontextprotocol/server-filesystem",
        args: ["/workspace"],
        env: {},
      },
      transport: "stdio",
      endpoint: {
        transport: "stdio",
        kind: "npm",
        package: "@modelcontextprotocol/server-filesystem",
        args: ["/workspace"],
      },
      launch: {
        sandbox: { network: [] },
        install: [{ method: "npm", package: "@modelcontextprotocol/server-filesystem", global: false }],
        versionCheck: {
          command: "npx @modelcontextprotocol/server-filesystem --version",
          parse: "v(\\S+)",
          range: ">=0.5",
          timeoutMs: 5_000,
        },
      },
      protocolVersion: "2025-03-26",
      prompts: [],
      resources: [
        {
          uriTemplate: "file:///{path}",
          description: "Filesystem resources accessible via this MCP server.",
          integrateAs: "ref_kind",
          refKindId: "mcp_filesystem",
        },
      ],
      connection: {},
      region: ["self-hosted"],
      policyTags: ["self-hosted", "pii-safe"],
      tags: ["mcp", "filesystem", "anthropic-reference", "pii-safe"],
      metadata: {},
      origin: {
        file: "/w/.drivers/filesystem-mcp/DRIVER.md",
        line: 2,
        column: 1,
        format: "driver",
        places: {
          "resource:file:///{path}": { line: 54, column: 5 },
          "ref_kind:mcp_filesystem": { line: 57, column: 5 },
        },
      },
    });
  });

  test("has contracts without errors", () => {
    for (const text of [FS_READ, FS_WRITE, FS_LIST])
      expect(parseTool(text, "TOOL.md")).toMatchObject({ contract: {}, diagnostics: [] });
  });
});

test.each([
  ["driver", EXAMPLE],
  ["tool", FS_READ],
  ["tool", FS_WRITE],
  ["tool", FS_LIST],
])("the %s schema for editors accepts the example, case %#", async (name, text) => {
  const place = new URL(`../../../schemas/${name}.schema.json`, import.meta.url);
  const { root } = readFrontmatter(text, "f.md");
  const validator = await createValidator(JSON.parse(readFileSync(place, "utf8")), { budgetMs: 20_000 });
  expect(validator.check(root && toPlain(root))).toMatchObject({ valid: true });
});
