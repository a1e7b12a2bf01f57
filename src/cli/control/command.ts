// `portolan approve`, `restart`, `logs`, `reload`, `console` and `stop`: definitions and help.

import type { Command } from "commander";
import type { CommandHost } from "../context.ts";
import { defineCommand, outputOptions, workspaceOption } from "../options/groups.ts";
import { exitCodes } from "../output/help.ts";
import type { RawApproveOptions } from "./approve.ts";
import type { RawConsoleOptions } from "./console.ts";
import type { RawControlOptions } from "./find.ts";
import type { RawLogsOptions } from "./logs.ts";
import type { RawRestartOptions } from "./restart.ts";
import type { RawStopOptions } from "./stop.ts";

const GATEWAY = `Gateway:
  The command uses the running gateway (portolan serve) of this folder, or of the folder or config file that -w names. It connects through a local socket that only you can use.`;

const pidOption = (command: Command): Command =>
  command.option("--pid <pid>", "use the gateway with this process id, of any workspace");

export function addControlCommands({ program, explain, run }: CommandHost): void {
  const approve = defineCommand(program, {
    name: "approve",
    summary: "list the calls that wait for approval, and approve or deny one",
    argument: "[id...]",
    groups: [outputOptions, workspaceOption],
  })
    .usage("[id] [options]")
    .option(
      "--for <time>",
      "approve the call, and identical calls of the caller for this time, if the rule allows it",
    )
    .option("--deny", "deny the call")
    .option("--reason <text>", "with --deny: the reason, which the caller reads")
    .option("-f, --follow", "show calls as they begin to wait, and ask about each, until Ctrl-C")
    .action((words: string[], raw: RawApproveOptions) =>
      run(raw, async (cli) => (await import("./approve.ts")).approve(cli, words, raw), {
        cancelling:
          raw.follow === true
            ? "No more calls are shown. Calls that wait for approval keep waiting."
            : undefined,
      }),
    );
  explain(pidOption(approve), {
    examples: [
      "portolan approve",
      "portolan approve -f",
      "portolan approve k7m2xq4p",
      "portolan approve k7m2xq4p --for 10m",
      'portolan approve k7m2xq4p --deny --reason "not this file"',
    ],
    sections: [
      GATEWAY,
      "Rules below gateway.approval of portolan.yaml make calls wait. An approval is for one caller, one tool and exactly the arguments that are shown.",
      "With -f, the command asks about each call if stdin and stderr are a terminal. Otherwise it only prints the calls; with --json, one line for each.",
      exitCodes({
        0: "done",
        2: "wrong usage, or no call with this id is waiting",
        3: "no gateway runs, or it does not answer",
        5: "the rule does not allow approval in the terminal",
      }),
    ],
  });

  const restart = defineCommand(program, {
    name: "restart",
    summary: "restart a server of the running gateway",
    argument: "[server...]",
    groups: [outputOptions, workspaceOption],
  })
    .usage("<server> [options]")
    .option("--stop-first", "end the old process before the new one starts")
    .action((words: string[], raw: RawRestartOptions) =>
      run(raw, async (cli) => (await import("./restart.ts")).restart(cli, words, raw)),
    );
  explain(pidOption(restart), {
    examples: [
      "portolan restart github",
      "portolan restart github --stop-first",
      "portolan restart github -w ~/project",
    ],
    sections: [
      GATEWAY,
      "A new process of the server takes over when it is ready. Calls that are running finish on the old process. If the new process cannot start, the old process continues to serve, except in these cases: a secret of the server changed or is missing, a login is missing, or the package is refused. In these cases the old process ends, and the server is down. Use --stop-first for a server of which two processes cannot run at the same time. With --stop-first, the server is down if the new process cannot start.",
      exitCodes({
        0: "done",
        2: "wrong usage, or an unknown server",
        3: "no gateway runs, it does not answer, or the new process did not start",
      }),
    ],
  });

  const logs = defineCommand(program, {
    name: "logs",
    summary: "show the stderr of a server of the running gateway",
    argument: "[server...]",
    groups: [outputOptions, workspaceOption],
  })
    .usage("<server> [options]")
    .option("-f, --follow", "continue to print new lines until Ctrl-C")
    .option("--lines <count>", "how many of the last lines to show (default: 100)")
    .action((words: string[], raw: RawLogsOptions) =>
      // People search these lines, for example with grep: a pipe gets text, too.
      run(
        { ...raw, text: raw.json !== true || raw.text },
        async (cli) => (await import("./logs.ts")).logs(cli, words, raw),
        {
          cancelling: raw.follow === true ? "" : undefined,
        },
      ),
    );
  explain(pidOption(logs), {
    examples: [
      "portolan logs github",
      "portolan logs github -f",
      "portolan logs github | grep -i error",
      "portolan logs github --lines 1000 --json",
    ],
    sections: [
      GATEWAY,
      "Without a running gateway, the lines come from the log file of the last gateway. Secrets are redacted.",
      'Output:\n  Text, also in a pipe or a file. With --json, each line is one JSON object: {"server", "time", "text"}.',
      exitCodes({
        0: "done",
        2: "wrong usage, or an unknown server",
        3: "no gateway runs and there is no log file (with -f: no gateway runs), or the gateway does not answer",
      }),
    ],
  });

  const reload = defineCommand(program, {
    name: "reload",
    summary: "let the running gateway read its config files and secrets again",
    groups: [outputOptions, workspaceOption],
  }).action((raw: RawControlOptions) =>
    run(raw, async (cli) => (await import("./stop.ts")).reload(cli, raw)),
  );
  explain(pidOption(reload), {
    examples: ["portolan reload", "portolan reload -w ~/project"],
    sections: [
      GATEWAY,
      "A gateway applies changes of its config files by itself. A reload also reads secrets, tokens and the TLS certificate again: servers whose secrets changed are restarted, and the gateway accepts the new token of portolan token --new. The signal SIGHUP to the process of the gateway does the same. If a file has errors, the gateway continues to use the earlier version of this file.",
      exitCodes({
        0: "done",
        2: "wrong usage, or a file or setting that the gateway cannot use",
        3: "no gateway runs, it does not answer, or a changed server did not start or keeps its earlier secrets",
      }),
    ],
  });

  const page = defineCommand(program, {
    name: "console",
    summary: "print a link to the web console of the running gateway",
    groups: [outputOptions, workspaceOption],
  })
    .option("--open", "also open the link in the browser")
    .action((raw: RawConsoleOptions) =>
      run(raw, async (cli) => (await import("./console.ts")).showConsole(cli, raw)),
    );
  explain(pidOption(page), {
    examples: ["portolan console", "portolan console --open", "portolan console -w ~/project"],
    sections: [
      GATEWAY,
      "The link signs you in. It works once, within five minutes. The browser then stays signed in for a week, or until you sign out.",
      exitCodes({
        0: "done",
        2: "wrong usage",
        3: "no gateway runs, or it does not answer",
      }),
    ],
  });

  const stop = defineCommand(program, {
    name: "stop",
    summary: "stop the running gateway",
    groups: [outputOptions, workspaceOption],
  })
    .option("--all", "stop every gateway of the workspace")
    .action((raw: RawStopOptions) => run(raw, async (cli) => (await import("./stop.ts")).stop(cli, raw)));
  explain(pidOption(stop), {
    examples: ["portolan stop", "portolan stop -w ~/project", "portolan stop --all"],
    sections: [
      GATEWAY,
      exitCodes({
        0: "done, also if no gateway runs",
        2: "wrong usage",
        3: "the gateway does not answer or does not stop in time",
      }),
    ],
  });
}
