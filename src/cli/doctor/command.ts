// `portolan doctor`: definition and help.

import type { CommandHost } from "../context.ts";
import { defineCommand, outputOptions } from "../options/groups.ts";
import type { RawOptions } from "../options/parse.ts";
import { exitCodes, OUTPUT } from "../output/help.ts";

export function addDoctorCommand({ program, explain, run }: CommandHost): void {
  const doctor = defineCommand(program, {
    name: "doctor",
    summary: "test which sandbox rules this machine can enforce, and check the installed packages",
    groups: [outputOptions],
  }).action((raw: RawOptions) => run(raw, async (cli) => (await import("./doctor.ts")).doctor(cli)));
  explain(doctor, {
    examples: [
      "portolan doctor",
      "portolan doctor --json | jq '.backends[].report.findings[] | select(.ok | not)'",
    ],
    sections: [
      "Local servers run in a sandbox: a read-only system, a folder of their own, no network. These are the rules of the default profile. This command tests each sandbox backend (a program such as bubblewrap) of this machine, and compares what the backends enforce. Then it starts a small program in a sandbox with the default profile. The program tries to escape. The command also checks the installed packages. If it knows how to fix a failure, it shows the fix.",
      OUTPUT,
      exitCodes({
        0: "this machine can enforce the default profile of the sandbox",
        3: "this machine cannot enforce the default profile of the sandbox",
      }),
    ],
  });
}
