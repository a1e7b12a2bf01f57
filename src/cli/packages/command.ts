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
        "the permissions that you grant to the package, separated by commas, or none",
        collect,
      )
      .option(
        "--config <key=value>",
        "the value of a setting of the package; {{NAME}} refers to a stored secret or an environment variable (repeatable)",
        collect,
      )
      .option("--config-file <path>", "a JSON or YAML file with the values of the package's settings");

/** For `add` with a package. */
export const packageOptions: OptionGroup = (command) =>
  consentOptions("needs --allow")(registryOption(command))
    .option(
      "--name <alias>",
      "the name of the server in the workspace (only for a package; default: made from the package's name)",
    )
    .option(
      "--from <kind>",
      "which form of the server to use: npm, mcpb, pypi, oci or remote (only for a server of the official MCP registry)",
    )
    .option("--allow-look-alike", "accept a package although its scope (@user) looks like an older scope");

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
    .option("--check", "only report updates, also of npm packages; exit with 1 if there are updates")
    .option("--dry-run", "show the differences, and change nothing")
    .option("--accept-tools", "approve changed tool definitions too")
    .option("--allow-downgrade", "accept a version that is lower than the version in portolan.lock")
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
  Before you accept a version, the command shows what changes: permissions, size, declared tools and contracts, settings, source and author. It also shows the provenance and the advisories of the new version. After you accept, the new version starts once in its sandbox. If a tool definition changed, Portolan withholds (does not offer) the tool until you approve the change: at the prompt, with --accept-tools, or with portolan pins approve.`,
      `npm packages:
  If all named servers (without names: all servers with a package) run npm packages (npm: or npx), the command does the same as portolan install --update: it installs the newest versions in their ranges. --check and --dry-run report these versions, and install nothing. An exact version in portolan.yaml stays: to move it, write another version there. --check names the newest one.`,
      WORKSPACE,
      exitCodes({
        0: "done, or nothing to do",
        1: "with --check: there are updates",
        2: "wrong usage, or the command needs your consent and cannot ask for it",
        3: "the registry cannot be reached",
        5: "refused: the policy forbids the new version, it is lower than the accepted one, or its signature is missing or different",
      }),
    ],
  });
}
