// `portolan audit`: definition and help.

import type { Command } from "commander";
import type { CommandHost } from "../context.ts";
import { defineCommand, outputOptions, workspaceOption } from "../options/groups.ts";
import { exitCodes, WORKSPACE } from "../output/help.ts";
import type { RawAuditOptions } from "./audit.ts";
import type { RawCallsOptions } from "./calls.ts";

export function addAuditCommand({ program, explain, run }: CommandHost): void {
  const audit = defineCommand(program, {
    name: "audit",
    summary:
      "check packages: lock file, changed files, advisories and policy; with --live, also changed tools",
    argument: "[servers...]",
    groups: [outputOptions, workspaceOption],
  })
    .option("--live", "also start the servers that have pins, and compare their tools with the pins")
    .option("--offline", "use only the stored data of registries; no network")
    .option("--strict", "exit code 1 for warnings too")
    .option("--format <format>", "text, json or sarif")
    .option("--sarif <file>", "also write the findings as SARIF 2.1.0")
    .action((servers: string[], raw: RawAuditOptions) =>
      run(raw, async (cli) => (await import("./audit.ts")).audit(cli, servers, raw)),
    );
  explain(audit, {
    examples: ["portolan audit", "portolan audit --live", "portolan audit --strict --sarif audit.sarif"],
    sections: [
      WORKSPACE,
      exitCodes({
        0: "no errors; with --strict no warnings either",
        1: "there are errors, or with --strict warnings",
        2: "wrong usage, or a config or lock file that cannot be read",
      }),
    ],
  });

  const calls = defineCommand(audit, {
    name: "calls",
    summary: "show calls and refusals in the audit log of the gateway, or verify the log",
    groups: [outputOptions, workspaceOption],
  })
    .option("--verify", "check that no record was changed, removed, moved or added")
    .option("--since <time>", "calls since a date, or since 30m, 24h, 7d ago")
    .option("--caller <name>", "calls of this caller")
    .option("--tool <name>", "calls of this tool: the name that clients use, or server.tool")
    .option("--id <id>", "only the call with this id, as in data.callId of an error")
    .option("--outcome <outcome>", "ok, tool_error, error, cancelled, input_required or refused")
    .option("--limit <number>", "show at most this many of the newest calls (default: 100)")
    .action((raw: RawCallsOptions, command: Command) =>
      // Options that `audit` has too are read by it.
      run(command.optsWithGlobals(), async (cli) => (await import("./calls.ts")).auditCalls(cli, raw)),
    );
  explain(calls, {
    examples: [
      "portolan audit calls --since 24h",
      "portolan audit calls --caller agent --outcome error",
      "portolan audit calls --verify",
    ],
    sections: [
      "The gateway writes the log if portolan.yaml contains audit: true. A record has the caller, the tool, a digest of the arguments, the route, the decision, the outcome and the duration, never the arguments themselves. Refused requests are shown too: wrong tokens, hosts and origins, and exceeded limits. --outcome refused shows these refused requests and the calls that the gateway stopped, and nothing else. The gateway stops a call for one of these reasons: the caller may not use the tool, a budget is used up, the call is a loop, or its approval was denied or expired.",
      WORKSPACE,
      exitCodes({
        0: "done; with --verify, the log is intact",
        1: "with --verify, the log was changed, or the audit log is on and there is no log",
        2: "wrong usage, or the audit log is off and has no matching call",
      }),
    ],
  });
}
