// `portolan install`: definition and help.

import type { CommandHost } from "../context.ts";
import { defineCommand, outputOptions, workspaceOption } from "../options/groups.ts";
import type { RawOptions } from "../options/parse.ts";
import { WORKSPACE, WORKSPACE_EXIT_CODES } from "../output/help.ts";

export function addInstallCommand({ program, explain, run, server }: CommandHost): void {
  const install = defineCommand(program, {
    name: "install",
    summary: "install the programs of the servers without starting them, and repair broken ones",
    argument: "[servers...]",
    groups: [outputOptions, workspaceOption],
  })
    .usage("[server...] [options]\n       portolan install [options] -- <command> [args...]")
    .option("--update", "resolve version ranges and tags of packages again, also of installed ones")
    .option("--frozen", "install exactly what portolan.lock names, or fail: for CI")
    .action((words: string[], raw: RawOptions & { update?: boolean; frozen?: boolean }) =>
      run(raw, async (cli) => (await import("./install.ts")).installServers(cli, { words, server }, raw)),
    );
  explain(install, {
    examples: [
      "portolan install",
      "portolan install github files",
      "portolan install --update",
      "portolan install --frozen",
      "portolan install -- npx -y @modelcontextprotocol/server-everything",
      `portolan install --json | jq '.servers[] | select(.state == "failed")'`,
    ],
    sections: [
      "Packages and downloads are kept in a store, images by their engine. A server's first start installs them, or this command does. Installed packages stay as they are, unless files are missing or were changed. --update resolves a range or tag such as ^1.2 or latest again; installed images stay.",
      "Packages of a registry (package: in portolan.yaml) are installed in the version and with the hash that portolan.lock names; this command never changes the lock file. --frozen first compares portolan.yaml with portolan.lock: if an entry is missing, has another version or another hash, it installs nothing and ends with the exit code 1.",
      WORKSPACE,
      WORKSPACE_EXIT_CODES,
    ],
  });
}
