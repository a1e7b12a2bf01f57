// `portolan update`: definition and help; the options of `portolan add` for packages.

import type { CommandHost } from "../context.ts";
import {
  collect,
  defineCommand,
  type OptionGroup,
  outputOptions,
  workspaceOption,
} from "../options/groups.ts";
import { exitCodes, WORKSPACE } from "../output/help.ts";
import { registryOption } from "../registry/command.ts";
import type { RawUpdateOptions } from "./update.ts";

/** `needs`: when `--yes` needs `--allow`. */
const consentOptions =
  (needs: string): OptionGroup =>
  (command) =>
    command
      .option("--yes", `agree without being asked; ${needs}`)
      .option(
        "--allow <permissions>",
        "the permissions that you grant, separated by commas, or none",
        collect,
      )
      .option(
        "--config <key=value>",
        "the value of a setting; {{NAME}} is a secret or variable (repeatable)",
        collect,
      )
      .option("--config-file <path>", "a JSON or YAML file with the values of settings");

/** For `add` with a package. */
export const packageOptions: OptionGroup = (command) =>
  consentOptions("needs --allow")(registryOption(command))
    .option("--name <alias>", "the name of the server (packages; default: from the package)")
    .option("--from <kind>", "npm, mcpb, pypi, oci or remote (servers of the official registry)")
    .option("--allow-look-alike", "accept a package whose scope looks like an older scope");

export function addPackageCommands({ program, explain, run }: CommandHost): void {
  const update = defineCommand(program, {
    name: "update",
    summary: "update packages of the workspace, after showing what changes",
    argument: "[servers...]",
    groups: [
      outputOptions,
      workspaceOption,
      registryOption,
      consentOptions("new permissions also need --allow"),
    ],
  })
    .option("--check", "only report updates, including npm packages; exit code 1 if there are updates")
    .option("--dry-run", "show the differences, and change nothing")
    .option("--accept-tools", "approve changed tool definitions too")
    .option("--allow-downgrade", "accept a lower version")
    .action((servers: string[], raw: RawUpdateOptions) =>
      run(raw, async (cli) => (await import("./update.ts")).update(cli, servers, raw)),
    );
  explain(update, {
    examples: [
      "portolan update",
      "portolan update github --dry-run",
      "portolan update github --yes --allow filesystem",
      "portolan update --check",
    ],
    sections: [
      `Differences:
  Before you accept a version, the command shows what changes: permissions, size, declared tools and contracts, settings, source and author. It also shows the provenance and the advisories of the new version. After you accept, the new version starts once in its sandbox. A tool definition that changed stays withheld until you approve it: here, with --accept-tools, or with portolan pins approve.`,
      WORKSPACE,
      exitCodes({
        0: "done, or nothing to do",
        1: "with --check: there are updates",
        2: "wrong usage, or the command needs your consent and cannot ask for it",
        3: "the registry cannot be reached",
        5: "refused: the policy forbids it, it is a downgrade, or a signature is missing",
      }),
    ],
  });
}
