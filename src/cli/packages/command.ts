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

const consentOptions: OptionGroup = (command) =>
  command
    .option("--yes", "agree without a question; needs --allow")
    .option("--allow <permissions>", "the permissions that you grant, with commas between, or none", collect)
    .option(
      "--config <key=value>",
      "the value of a setting; {{NAME}} is a secret or variable (repeatable)",
      collect,
    )
    .option("--config-file <path>", "a JSON or YAML file with the values of settings");

/** For `add` with a package. */
export const packageOptions: OptionGroup = (command) =>
  consentOptions(registryOption(command))
    .option("--name <alias>", "the name of the server (packages; default: from the package)")
    .option("--from <kind>", "npm, mcpb, pypi, oci or remote (servers of the official registry)")
    .option("--allow-look-alike", "accept a scope that looks like an older one");

export function addPackageCommands({ program, explain, run }: CommandHost): void {
  const update = defineCommand(program, {
    name: "update",
    summary: "update packages of the workspace, after showing what changes",
    argument: "[servers...]",
    groups: [outputOptions, workspaceOption, registryOption, consentOptions],
  })
    .option("--check", "only report updates, also those of npm; exit code 1 if there are any")
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
  Permissions, size, declared tools, settings, provenance and advisories are shown before anything is accepted. The new version starts once in its sandbox. A tool definition that changed stays withheld until you approve it: here, with --accept-tools, or with portolan pins approve.`,
      WORKSPACE,
      exitCodes({
        0: "done, or nothing to do",
        1: "with --check: there are updates",
        2: "wrong usage, or nobody can be asked",
        3: "the registry cannot be reached",
        5: "refused: by the policy, a downgrade, or a signature that is missing",
      }),
    ],
  });
}
