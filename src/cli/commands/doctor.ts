// `portolan doctor`: what this machine can enforce, what is missing, and what mends it.

import { type Cli, spinnerOf } from "../connect.ts";
import { canEnforce, describeDiagnosis } from "../doctor-view.ts";

/** As for a server that cannot be started. */
const NOT_ENFORCED = 3;

export async function doctor(cli: Cli): Promise<number> {
  const { output } = cli;
  const { diagnose } = await import("../../launch/index.ts");
  const spinner = spinnerOf(cli);
  output.around(spinner);
  spinner.start("trying what this machine can hold");
  const diagnosis = await diagnose().finally(() => {
    spinner.stop();
    output.around(undefined);
  });
  const enforced = canEnforce(diagnosis);
  if (output.form === "json") output.json({ enforced, ...diagnosis });
  else output.print(describeDiagnosis(diagnosis, output));
  return enforced ? 0 : NOT_ENFORCED;
}
