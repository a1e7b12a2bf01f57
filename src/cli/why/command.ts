// `portolan why`: definition and help.

import type { CommandHost } from "../context.ts";
import {
  collect,
  defineCommand,
  driverCodeOption,
  outputOptions,
  sandboxOptions,
  standaloneOption,
  startTimeoutOption,
  waitOption,
  workspaceOption,
} from "../options/groups.ts";
import type { RawOptions } from "../options/parse.ts";
import { WORKSPACE, exitCodes } from "../output/help.ts";

export function addWhyCommand({ program, explain, run, server }: CommandHost): void {
  const why = defineCommand(program, {
    name: "why",
    summary: "explain the state of one server, driver or tool, and what to do about it",
    argument: "[server...]",
    groups: [outputOptions, workspaceOption, standaloneOption, sandboxOptions, driverCodeOption],
  })
    .usage(
      "<server | driver | server.tool> [options]\n       portolan why --plan [options] -- <command> [args...]",
    )
    .option("--plan", "show how Portolan would start the server: the program and its rights; start nothing")
    .option("--root <dir>", "directory that the server gets as a root (repeatable; with --plan)", collect)
    .action((words: string[], raw: RawOptions & { plan?: boolean }) =>
      run(raw, async (cli) =>
        raw.plan === true
          ? (await import("./plan.ts")).plan(cli, { words, server })
          : (await import("./why.ts")).why(cli, { words, server }),
      ),
    );
  explain(startTimeoutOption(waitOption(why)), {
    examples: [
      "portolan why github",
      "portolan why filesystem-mcp",
      "portolan why github.create_issue",
      "portolan why --plan github",
      "portolan why --plan --allow-net api.example.com -- npx -y some-server",
      "portolan why github --json | jq -r .health.stderr",
    ],
    sections: [
      WORKSPACE,
      exitCodes({
        0: "the server or driver can be used; for a tool or with --plan: done",
        2: "wrong usage, or a config file that cannot be used",
        3: "the server or driver cannot be used, or a running gateway does not answer",
        5: "the driver needs a login, and all else works",
      }),
    ],
  });
}
