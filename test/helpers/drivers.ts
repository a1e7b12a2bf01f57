// Workspaces with drivers for tests: copies of the example, the driver of the specification, and the command with folders of its own.

import { cpSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { portolan, type Ran, temporaryFolder } from "./cli.ts";

const require = createRequire(import.meta.url);

/** The script of the public filesystem server. */
export const FILESYSTEM: string = join(
  dirname(require.resolve("@modelcontextprotocol/server-filesystem/package.json")),
  "dist/index.js",
);

export const EXAMPLE: string = fileURLToPath(new URL("../../examples/drivers", import.meta.url));

export interface Place {
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  run(...words: string[]): Promise<Ran>;
  file(name: string): string;
  write(name: string, text: string): void;
  change(name: string, change: (text: string) => string): void;
}

/** A folder with these files, apart from the user's own config. */
export function place(files: Record<string, string> = {}, more: Record<string, string> = {}): Place {
  const top = temporaryFolder();
  const cwd = join(top, "project");
  mkdirSync(cwd);
  mkdirSync(join(top, "home"));
  const env = {
    HOME: join(top, "home"),
    XDG_CACHE_HOME: join(top, "cache"),
    XDG_CONFIG_HOME: join(top, "config"),
    XDG_DATA_HOME: join(top, "data"),
    ...more,
  };
  const write = (name: string, text: string): void => {
    mkdirSync(dirname(join(cwd, name)), { recursive: true });
    writeFileSync(join(cwd, name), text);
  };
  for (const [name, text] of Object.entries(files)) write(name, text);
  const file = (name: string): string => readFileSync(join(cwd, name), "utf8");
  return {
    cwd,
    env,
    file,
    write,
    run: (...words) => portolan(words, { cwd, env }),
    change: (name, change) => write(name, change(file(name))),
  };
}

/** A copy of examples/drivers that finds the server of the example. */
export function examplePlace(): Place {
  const copy = place();
  cpSync(EXAMPLE, copy.cwd, { recursive: true });
  copy.change(".drivers/filesystem-mcp/DRIVER.md", (text) =>
    text.replace(/"[^"]*node_modules[^"]*"/, JSON.stringify(FILESYSTEM)),
  );
  return copy;
}

const tool = (id: string, inputs: string, more: string): string => `---
name: ${id}
id: ${id}
description: The contract ${id}.
version: 1.0.0
inputs:
  type: object
  properties: { ${inputs
    .split(", ")
    .map((name) => `${name}: { type: string }`)
    .join(", ")} }
  required: [${inputs}]
outputs: { type: string }
${more}
---
`;

/** The three contracts of the specification's example. */
export const FS_CONTRACTS: Readonly<Record<string, string>> = {
  "tools/fs-read/TOOL.md": tool("fs-read", "path", "idempotent: true"),
  "tools/fs-write/TOOL.md": tool(
    "fs-write",
    "path, content",
    'mutates: ["workspace:files"]\napproval: on-mutate',
  ),
  "tools/fs-list/TOOL.md": tool("fs-list", "path", "idempotent: true"),
};

/** The driver of the specification's example, as it is written there. */
export const FS_DRIVER = `---
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
