// `portolan status` and `portolan events`: definitions and help.

import type { CommandHost } from "../context.ts";
import {
  defineCommand,
  type OptionGroup,
  standaloneOption,
  workspaceServerOptions,
} from "../options/groups.ts";
import type { RawOptions } from "../options/parse.ts";
import type { StatusOptions } from "./gateway-check.ts";
import { WORKSPACE, exitCodes } from "../output/help.ts";

const GROUPS: readonly OptionGroup[] = [...workspaceServerOptions, standaloneOption];

const TOOLS = `Tools:
  status counts the tools that the servers offer to clients of the gateway. It does not count the tools that the gateway adds (resources_as_tools, prompts_as_tools, login), and it ignores the rules of single callers. Some servers offer tools only to clients that have a language model (sampling) or folders (roots). If no gateway runs, portolan status starts the servers as the gateway would, and counts these tools. portolan list and portolan call start the servers as a client without a language model, and with folders only with --root, so that portolan list can show fewer tools.`;

export function addStatusCommands({ program, explain, run }: CommandHost): void {
  const status = defineCommand(program, {
    name: "status",
    summary: "show the state of the servers of the workspace",
    argument: "[servers...]",
    groups: GROUPS,
  })
    .option("--gateway", "check only the running gateway: fail if none runs, and start no server")
    .option("--timeout <time>", "the same as --wait")
    .action((servers: string[], raw: RawOptions & StatusOptions) =>
      run(raw, async (cli) => (await import("./status.ts")).status(cli, servers, raw)),
    );
  explain(status, {
    examples: [
      "portolan status",
      "portolan status github files --wait 10",
      "portolan status --gateway --quiet || echo 'not healthy'",
      `portolan status -w ~/project --json | jq '.servers[] | select(.state != "ready")'`,
    ],
    sections: [
      WORKSPACE,
      TOOLS,
      exitCodes({
        0: "all servers and drivers can be used",
        2: "wrong usage, or a config file that cannot be used",
        3: "a server or driver cannot be used, the audit log is damaged, or the gateway does not answer (with --gateway: or no gateway runs)",
        5: "servers or drivers need a login, and all others can be used",
      }),
    ],
  });

  const events = defineCommand(program, {
    name: "events",
    summary: "print the events of the servers as they happen",
    argument: "[servers...]",
    groups: GROUPS,
  })
    .option("-f, --follow", "continue until Ctrl-C, and apply changes of the config files")
    .action((servers: string[], raw: RawOptions & { follow?: boolean }) =>
      run(raw, async (cli) => (await import("./events.ts")).events(cli, servers, raw), {
        cancelling: raw.follow === true ? "" : undefined,
      }),
    );
  explain(events, {
    examples: [
      "portolan events",
      "portolan events --follow",
      `portolan events --follow --json | jq -c 'select(.type == "mcp.server_failed")'`,
    ],
    sections: [
      WORKSPACE,
      exitCodes({
        0: "done",
        2: "wrong usage, or a config file that cannot be used",
        3: "a running gateway does not answer",
      }),
    ],
  });
}
