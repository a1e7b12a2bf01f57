// The frame around every command that talks to a server: options checked, signals heard, errors shown, an exit code at the end.

import { isPortolanError, PortolanError, toPortolanError } from "../errors/index.ts";
import type { Cli } from "./connect.ts";
import { withShellHint } from "./hints.ts";
import { createInterrupt, type ExitCodes } from "./interrupt.ts";
import type { CliIo } from "./io.ts";
import { parseServerOptions, type RawOptions } from "./options.ts";
import { createOutput, exitCodeOf } from "./output.ts";

export interface Frame {
  /** What Ctrl-C is answered with. */
  readonly cancelling?: string | undefined;
  readonly exitCodes?: ExitCodes | undefined;
}

/** Runs a command and returns the exit code of the process. Never throws. */
export async function runCommand(
  io: CliIo,
  raw: RawOptions,
  work: (cli: Cli) => Promise<number>,
  { cancelling = "Cancelling. Press Ctrl-C again to leave at once.", exitCodes }: Frame = {},
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
