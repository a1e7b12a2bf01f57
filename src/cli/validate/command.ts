// `portolan validate`: definition and help.

import type { CommandHost } from "../context.ts";
import { defineCommand, outputOptions, workspaceOption } from "../options/groups.ts";
import type { RawOptions } from "../options/parse.ts";
import { WORKSPACE, exitCodes } from "../output/help.ts";

export function addValidateCommand({ program, explain, run }: CommandHost): void {
  const validate = defineCommand(program, {
    name: "validate",
    summary: "check config files of any format",
    argument: "[paths...]",
    groups: [outputOptions, workspaceOption],
  }).action((paths: string[], raw: RawOptions) =>
    run(raw, async (cli) => (await import("./validate.ts")).validate(cli, paths)),
  );
  explain(validate, {
    examples: [
      "portolan validate",
      "portolan validate mcpfile.yaml",
      "portolan validate manifest.yaml .cursor/mcp.json",
      "portolan validate .drivers/filesystem-mcp tools/fs-read/TOOL.md",
      `portolan validate --json | jq '.diagnostics[] | "\\(.file):\\(.line) \\(.message)"'`,
    ],
    sections: [
      "The command starts no server. It warns of what the gateway needs for its start and does not have on this computer: the files of gateway.tls, and the values of references in tokens of callers, in oauth.client_secret and in telemetry.headers. It does not check the secrets of servers: portolan secrets check",
      WORKSPACE,
      exitCodes({
        0: "no config file has errors",
        1: "a config file has errors",
        2: "wrong usage, or a file that cannot be read",
      }),
    ],
  });
}
