// `portolan audit`: definition and help.

import type { CommandHost } from "../context.ts";
import { defineCommand, outputOptions, workspaceOption } from "../options/groups.ts";
import { exitCodes, WORKSPACE } from "../output/help.ts";
import type { RawAuditOptions } from "./audit.ts";

export function addAuditCommand({ program, explain, run }: CommandHost): void {
  const audit = defineCommand(program, {
    name: "audit",
    summary: "check packages: integrity, advisories, policy, and drift",
    argument: "[servers...]",
    groups: [outputOptions, workspaceOption],
  })
    .option("--live", "also start the servers, and compare their tools with the pins")
    .option("--offline", "use only what is stored about registries")
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
}
