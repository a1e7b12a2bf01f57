// `portolan install`: definition and help.

import type { CommandHost } from "../context.ts";
import { defineCommand, outputOptions, workspaceOption } from "../options/groups.ts";
import type { RawOptions } from "../options/parse.ts";
import { WORKSPACE, exitCodes } from "../output/help.ts";

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
      "Portolan stores packages and downloads in its data folder. The container engine stores images. Without this command, the first start of a server installs them. Portolan installs an installed package again only if files are missing or changed. It checks all files of packages of a registry and of npm packages, and the main files of other packages. --update also resolves a range or tag such as ^1.2 or latest again, and installs the version that it finds. --update does not change installed images.",
      "Packages of a registry (package: in portolan.yaml) are installed in the version and with the hash that portolan.lock names; this command never changes the lock file. --frozen first compares portolan.yaml with portolan.lock: if an entry is missing, belongs to no package of portolan.yaml, or does not match the package and the version range in portolan.yaml, the command installs nothing and ends with the exit code 1.",
      WORKSPACE,
      exitCodes({
        0: "done",
        1: "--frozen: portolan.yaml and portolan.lock differ, or a program cannot be installed",
        2: "wrong usage or input, or a config file that cannot be used",
        3: "a program cannot be installed",
        5: "a package is refused",
      }),
    ],
  });
}
