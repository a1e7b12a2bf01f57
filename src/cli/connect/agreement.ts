// The question before files of other programs are changed.

import { PortolanError } from "../../errors/index.ts";
import type { Cli } from "../context.ts";
import { orCancelled } from "../packages/configuration-prompt.ts";

/** Asks the person at the terminal. Throws CANCELLED unless the answer is yes. */
export async function requireAgreement(cli: Cli, message: string): Promise<void> {
  const prompter = await cli.io.createPrompter(cli.output.noteColors.enabled);
  const answer = orCancelled(
    await prompter.select({
      message,
      options: [
        { value: "yes", label: "Yes" },
        { value: "no", label: "No" },
      ],
      initial: "yes",
      signal: cli.interrupt.signal,
    }),
  );
  if (answer !== "yes")
    throw new PortolanError("CANCELLED", "You declined. Nothing was changed.", { hint: "" });
}
