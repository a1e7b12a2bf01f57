// `portolan install`: definition and help.

import type { CommandHost } from "../context.ts";
import { defineCommand, outputOptions, workspaceOption } from "../options/groups.ts";
import type { RawOptions } from "../options/parse.ts";
import { WORKSPACE, WORKSPACE_EXIT_CODES } from "../output/help.ts";

export function addInstallCommand({ program, explain, run, server }: CommandHost): void {
  const install = defineCommand(program, {
    name: "install",
    summary: "install the programs of the servers without starting them, and repair damaged programs",
    argument: "[servers...]",
    groups: [outputOptions, workspaceOption],
  })
    .usage("[server...] [options]\n       portolan install [options] -- <command> [args...]")
    .option("--update", "also update installed packages: resolve their version ranges and tags again")
    .option(
      "--frozen",
      "fail if portolan.yaml and portolan.lock differ, before anything is installed (for CI)",
    )
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
      "Packages and downloads are stored in Portolan's data folder, images by the container engine. This command installs them before the first start of a server, which would install them too. Installed packages stay as they are, unless Portolan finds missing or changed files. It compares all files of packages of a registry, and the main files of other packages. --update resolves a range or tag such as ^1.2 or latest again; installed images stay.",
      "Packages of a registry (package: in portolan.yaml) are installed in the version and with the hash that portolan.lock names; this command never changes the lock file. --frozen first compares portolan.yaml with portolan.lock: if an entry is missing, belongs to no package of portolan.yaml, or does not match the package and the version range in portolan.yaml, the command installs nothing and ends with the exit code 1.",
      WORKSPACE,
      WORKSPACE_EXIT_CODES,
    ],
  });
}
