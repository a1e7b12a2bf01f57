// Frame of every command: checks the options, listens for signals, shows errors and returns an exit code.

import {
  CALL_TIMEOUT_HINT,
  ERROR_CODES,
  START_TIMEOUT_HINT,
  type ErrorCode,
  isPortolanError,
  MAY_HAVE_RUN,
  PortolanError,
  SLOW_SERVER_HINT,
  toPortolanError,
} from "../errors/index.ts";
import { isObject } from "../model/index.ts";
import { HARD_LIMIT_HINT } from "../upstream/index.ts";
import type { Cli, CliIo, RunOptions } from "./context.ts";
import { parseServerOptions, type RawOptions } from "./options/parse.ts";
import { createOutput, exitCodeOf } from "./output/output.ts";
import { createInterrupt } from "./terminal/interrupt.ts";

const TIMEOUT_HINT =
  "Increase the time limit: --timeout, or --max-time if the server reports progress. For a server of the workspace, you can also set timeouts in its config.";

/** Hints for the command line, in place of the library's hints about handlers and settings. */
const HINTS: Readonly<Partial<Record<ErrorCode, string>>> = {
  TIMEOUT: `${MAY_HAVE_RUN} ${TIMEOUT_HINT}`,
  MESSAGE_TOO_LARGE:
    "Request less data in one call. For a server of the workspace, you can also raise max_message_bytes in its config.",
  TOOL_NOT_FOUND: "To see the tools of a server: portolan list <server>",
};

const CREDENTIAL_HINT =
  'Send a valid credential. For a URL on the command line: --header "Authorization: Bearer …". For a server of the workspace: headers in its config.';

/** Runs a command and returns the exit code of the process. Never throws. */
export async function runCommand(
  io: CliIo,
  raw: RawOptions,
  work: (cli: Cli) => Promise<number>,
  { cancelling = "Cancelling. Press Ctrl-C again to quit immediately.", exitCodes }: RunOptions = {},
): Promise<number> {
  const output = createOutput(io, raw);
  const interrupt = createInterrupt(
    io.signals,
    (signal) => {
      if (signal === "SIGINT" && cancelling !== "") output.note(cancelling);
    },
    exitCodes,
  );
  try {
    if (raw.json === true && raw.text === true)
      throw new PortolanError("USAGE", "--json cannot be used with --text.");
    const code = await work({ io, output, interrupt, options: parseServerOptions(raw, io.env), changes: [] });
    return interrupt.exitCode ?? code;
  } catch (thrown) {
    const { reason } = interrupt.signal as { reason: unknown };
    // A command that knows what an interruption left behind says so.
    const own = isPortolanError(thrown) && thrown.data.reason === "INTERRUPTED" ? thrown : reason;
    const error = isPortolanError(own) ? own : withShellHint(toPortolanError(thrown));
    output.error(error, raw.verbose);
    return interrupt.exitCode ?? exitCodeOf(error);
  } finally {
    interrupt.dispose();
  }
}

/** The same error with a hint for the command line. A hint that is specific to the error stays. */
export function withShellHint(error: PortolanError): PortolanError {
  const hint = hintFor(error);
  if (hint === undefined || hint === error.hint) return error;
  const { code, message, server, tool, stderr, data, cause, stack } = error;
  const hinted = new PortolanError(code, message, { server, tool, stderr, data, cause, hint });
  if (stack !== undefined) hinted.stack = stack;
  return hinted;
}

const SHELL_START_HINT =
  "If the server is known to start slowly, increase the limit: --start-timeout <time> on the command line, or timeouts.start in the config of the server.";

function hintFor({ code, hint, data, server }: PortolanError): string | undefined {
  const isUsual = hint === ERROR_CODES[code]?.hint;
  if (code === "SERVER_START_FAILED" && data["startTimeoutMs"] !== undefined)
    return isUsual ? SHELL_START_HINT : hint?.replace(START_TIMEOUT_HINT, SHELL_START_HINT);
  if (hint === HARD_LIMIT_HINT)
    return `${MAY_HAVE_RUN} If the call is known to take long, increase the limit with --max-time. For a server of the workspace, you can also set timeouts.max in its config.`;
  if (hint === SLOW_SERVER_HINT) return TIMEOUT_HINT;
  if (hint === CALL_TIMEOUT_HINT) return HINTS.TIMEOUT;
  if (!isUsual) return undefined;
  // An error without a server is one of a registry, which has other options.
  if (code === "AUTH_REQUIRED") return server === undefined ? undefined : CREDENTIAL_HINT;
  return code === "CAPABILITY_MISSING" ? capabilityHint(data["rpcData"]) : HINTS[code];
}

function capabilityHint(data: unknown): string {
  const wanted = isObject(data) && isObject(data["requiredCapabilities"]) ? data["requiredCapabilities"] : {};
  if (Object.hasOwn(wanted, "roots")) return "The server needs a root directory. Name one: --root <dir>";
  if (Object.hasOwn(wanted, "sampling"))
    return "The server requests sampling, and this command has no language model.";
  return "The server sends a request that this command cannot answer.";
}
