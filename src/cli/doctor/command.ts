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
      "Local servers run in a sandbox: a read-only system, a folder of their own, no network. This command tests each sandbox backend of this machine, compares what they enforce, and then starts a small program in the default profile that tries to escape. It also checks the installed packages. If it knows how to fix a failure, it shows the fix.",
      OUTPUT,
      exitCodes({
        0: "this machine can enforce the default profile",
        3: "this machine cannot enforce the default profile",
      }),
    ],
  });
}
