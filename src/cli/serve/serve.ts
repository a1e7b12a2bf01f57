// `portolan serve`: serves the workspace as one MCP server, in the background, with own servers, or through the running gateway.

import { toPortolanError } from "../../errors/index.ts";
import type { Cli, Words } from "../context.ts";
import { exitCodeOf } from "../output/output.ts";
import { withShellHint } from "../run-command.ts";
import { toJsonText } from "../terminal/safe-text.ts";
import { parseServeOptions, type RawServeOptions } from "./options.ts";

export async function serve(cli: Cli, words: Words, raw: RawServeOptions): Promise<number> {
  try {
    return await serveAs(cli, words, raw);
  } catch (thrown) {
    // Programs that read a JSON log from stderr read the reason of a failed start there too.
    if (raw.logFormat !== "json" || raw.daemon === true || cli.interrupt.signal.aborted) throw thrown;
    const error = withShellHint(toPortolanError(thrown));
    const { message } = error;
    const time = new Date().toISOString();
    const line = { time, level: "error", type: "gateway.failed", message, error: error.toJSON() };
    cli.io.stderr.write(`${toJsonText(line)}\n`);
    return exitCodeOf(error);
  }
}

async function serveAs(cli: Cli, words: Words, raw: RawServeOptions): Promise<number> {
  const options = parseServeOptions(raw, cli.io.cwd);
  if (options.daemon) return (await import("./daemon.ts")).startDaemon(cli, words, options);
  if (options.stdio) return (await import("./stdio.ts")).serveStdio(cli, words, options);
  return (await import("./own-servers.ts")).serveOwn(cli, words, options);
}
