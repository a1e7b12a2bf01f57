// `portolan add` and `portolan remove`: definitions and help.

import type { CommandHost } from "../context.ts";
import { collect, defineCommand, outputOptions, sandboxOptions, workspaceOption } from "../options/groups.ts";
import type { RawOptions } from "../options/parse.ts";
import { WORKSPACE, exitCodes } from "../output/help.ts";
import { packageOptions } from "../packages/command.ts";
import type { AddOptions } from "./add.ts";
import type { RemoveOptions } from "./remove.ts";

const PACKAGES = `Packages:
  @user/name[@version]         a package of a registry
  mcpb:<file or URL>           an MCPB bundle
  io.github.user/name          a server of a registry with the official MCP registry API; --from chooses one of its packages, such as npm
  Portolan shows the package and its permissions, and asks for your consent. Then Portolan starts the package once in its sandbox, and stores the definitions of its tools as approved (pins) in portolan.lock. Without a terminal, --yes and --allow are both needed.`;

export function addEditCommands({ program, explain, run, server }: CommandHost): void {
  const add = defineCommand(program, {
    name: "add",
    summary:
      "add a server to the workspace's portolan.yaml: a command, a URL, an npm package or a package of a registry",
    argument: "[words...]",
    groups: [outputOptions, workspaceOption, sandboxOptions, packageOptions],
  })
    .usage(
      "<name> [options] -- <command> [args...]\n       portolan add <name> <url> [options]\n       portolan add <name> npm:<package>[@version] [options]\n       portolan add <package> [options]",
    )
    .option(
      "--env <variable>",
      "variable for the server: NAME=value, or only NAME, which writes NAME: ${NAME} (repeatable; only for a command)",
      collect,
    )
    .option(
      "--header <header>",
      'HTTP header to send, as "Name: value" (repeatable; only for a URL)',
      collect,
    )
    .option("--transport <kind>", "http, sse or websocket (only for a URL)")
    .option("--era <era>", "protocol era: auto, legacy (MCP up to 2025-11-25) or modern (MCP 2026-07-28)")
    .option("--cwd <dir>", "working directory of the server (only for a command)")
    .option(
      "--start <when>",
      "eager (default): start with the workspace; lazy: start at the first call, and once before that if the tools are not known yet",
    )
    .option(
      "--strict",
      "fail if the sandbox hides a file or folder that the server's arguments or variables name",
    )
    .option("--dry-run", "print the new file, and write nothing")
    .action((words: string[], raw: AddOptions) => {
      // The values of these options go into the file; `add` checks them itself.
      const { env: _env, header: _header, transport: _transport, era: _era, cwd: _cwd, ...rest } = raw;
      return run(rest, async (cli) => (await import("./add.ts")).add(cli, { words, server }, raw));
    });
  explain(add, {
    examples: [
      "portolan add files -- npx -y @modelcontextprotocol/server-filesystem .",
      "portolan add github https://api.githubcopilot.com/mcp/ --header 'Authorization: Bearer ${GITHUB_TOKEN}'",
      "portolan add everything npm:@modelcontextprotocol/server-everything@2026.7.4",
      "portolan add search --env API_KEY --start lazy -- uvx search-server",
      "portolan add weather --allow-net api.weather.gov -- npx -y weather-server",
      "portolan add files --dry-run -- node server.js",
      "portolan add @alice/github-mcp",
      "portolan add @alice/github-mcp@1.2.0 --yes --allow network,github-api --config 'github_token={{GITHUB_TOKEN}}'",
      "portolan add mcpb:./weather.mcpb",
      "portolan add io.github.user/name --registry https://mcp-registry.example.com --from npm",
    ],
    sections: [
      PACKAGES,
      WORKSPACE,
      exitCodes({
        0: "done",
        2: "wrong usage or input, a file that cannot be used or changed, or a running gateway does not use the change",
        3: "the package cannot be fetched or started, a running gateway cannot start the server, or the gateway does not answer",
        5: "the package is refused",
        130: "you declined, or interrupted the command (Ctrl-C)",
      }),
    ],
  });

  const remove = defineCommand(program, {
    name: "remove",
    summary: "remove servers from the workspace's portolan.yaml",
    argument: "[name...]",
    groups: [outputOptions, workspaceOption],
  })
    .usage("<name...> [options]")
    .option("--dry-run", "print the new file, and write nothing")
    .option("--purge", "also remove the stored secrets of the servers' packages")
    .action((names: string[], raw: RawOptions & RemoveOptions) =>
      run(raw, async (cli) => (await import("./remove.ts")).remove(cli, names, raw)),
    );
  explain(remove, {
    examples: [
      "portolan remove files",
      "portolan remove files web --dry-run",
      "portolan remove github --purge",
    ],
    sections: [
      WORKSPACE,
      exitCodes({
        0: "done",
        2: "wrong usage or input, a file that cannot be used or changed, or a running gateway does not use the change",
        3: "a running gateway does not answer",
      }),
    ],
  });
}
