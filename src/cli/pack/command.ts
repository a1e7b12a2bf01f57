// `portolan pack`: definition and help.

import type { CommandHost } from "../context.ts";
import { collect, defineCommand, serverOptions } from "../options/groups.ts";
import { exitCodes, TARGETS } from "../output/help.ts";
import type { RawPackOptions } from "./pack.ts";

const DERIVED = `Derived fields (left: what pack finds; right: what it writes into mcp-package.json):
  an HTTP request of an mcpfile        the permission network (a package with it needs security.audit)
  a command of an mcpfile              the permission process (a package with it needs security.sandbox)
  \${NAME} in a request or command     a secret setting of configuration.schema
  tools, resources, prompts            mcp.capabilities
  the files                            source.hash and source.size; packing twice gives the same bytes`;

const FILES = `Files:
  mcp-package.json (or mcp-package.jsonc, with comments) and, for an mcpfile, <name>-<version>.tar. If mcp-package.json exists, pack updates the fields that it derives, and fills in empty fields whose value it knows. It keeps all other fields. It prints which fields it added or updated, and which fields it kept although the server differs.`;

export function addPackCommand({ program, explain, run, server }: CommandHost): void {
  const pack = defineCommand(program, {
    name: "pack",
    summary: "make a package of an mcpfile, a driver, an npm package or a running server",
    argument: "[target...]",
    groups: [serverOptions],
  })
    .usage(
      "[file | folder | npm package | server] [options]\n       portolan pack [options] -- <command> [args...]",
    )
    .option(
      "--out <folder>",
      "the folder to write to (default: the folder of the file, or the current folder)",
    )
    .option("--name <name>", "the name of the package: @user/name")
    .option("--include <path>", "add this file to the archive (repeatable; only for an mcpfile)", collect)
    .option("--check", "write nothing; exit with 1 if the files are outdated or incomplete")
    .option("--no-start", "do not start the npm package to list its tools")
    .action((words: string[], raw: RawPackOptions) =>
      run(raw, async (cli) => (await import("./pack.ts")).pack(cli, { words, server }, raw)),
    );
  explain(pack, {
    examples: [
      "portolan pack mcpfile.yaml --name @alice/git-tools",
      "portolan pack .drivers/github/DRIVER.md --out dist",
      "portolan pack @modelcontextprotocol/server-everything@2026.8.31",
      "portolan pack --check",
    ],
    sections: [
      DERIVED,
      FILES,
      TARGETS,
      exitCodes({
        0: "done; mcp-package.json can still have fields that you must fill in",
        1: "--check: the files are not up to date, or fields are missing",
        2: "wrong usage, or a file that cannot be used or written",
        3: "the server cannot be reached, or the package cannot be fetched",
      }),
    ],
  });
}
