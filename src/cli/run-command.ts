// Frame of every command: checks the options, listens for signals, shows errors and returns an exit code.

import { isPortolanError, PortolanError, toPortolanError } from "../errors/index.ts";
import type { Cli, CliIo, RunOptions } from "./context.ts";
import { parseServerOptions, type RawOptions } from "./options/parse.ts";
import { withShellHint } from "./output/hints.ts";
import { createOutput, exitCodeOf } from "./output/output.ts";
import { createInterrupt } from "./terminal/interrupt.ts";

/** Runs a command and returns the exit code of the process. Never throws. */
export async function runCommand(
  io: CliIo,
  raw: RawOptions,
  work: (cli: Cli) => Promise<number>,
  { cancelling = "Cancelling. Press Ctrl-C again to leave at once.", exitCodes }: RunOptions = {},
): Promise<number> {
  const output = createOutput(io, raw);
  const interrupt = createInterrupt(
    io.signals,
    (signal) => {
      if (signal === "SIGINT") output.note(cancelling);
    },
    exitCodes,
  );
  try {
    if (raw.json === true && raw.text === true)
      throw new PortolanError("USAGE", "--json and --text exclude each other.");
    const code = await work({ io, output, interrupt, options: parseServerOptions(raw, io.env) });
    return interrupt.exitCode ?? code;
  } catch (thrown) {
    const { reason } = interrupt.signal as { reason: unknown };
    const error = isPortolanError(reason) ? reason : withShellHint(toPortolanError(thrown));
    output.error(error, raw.verbose);
    return interrupt.exitCode ?? exitCodeOf(error);
  } finally {
    interrupt.dispose();
  }
}
