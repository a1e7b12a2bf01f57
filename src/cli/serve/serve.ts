// `portolan serve`: serves the workspace as one MCP server, in the background, with own servers, or through the running gateway.

import { toPortolanError } from "../../errors/index.ts";
import type { Cli, Words } from "../context.ts";
import { exitCodeOf } from "../output/output.ts";
import { withShellHint } from "../run-command.ts";
import { parseServeOptions, type RawServeOptions } from "./options.ts";

export async function serve(cli: Cli, words: Words, raw: RawServeOptions): Promise<number> {
  try {
    return await serveAs(cli, words, raw);
  } catch (thrown) {
    const { describeFailedStart, logFormatOf } = await import("./log.ts");
    const { io, output, interrupt } = cli;
    const logFormat = raw.logFormat ?? (await configuredFormat(cli, words));
    const format = logFormatOf(cli, { stdio: raw.stdio === true, logFormat });
    const isResult = output.form === "json" && raw.logFormat === undefined;
    if (format === "pretty" || isResult || raw.daemon === true || interrupt.signal.aborted) throw thrown;
    // The reason of a failed start is a line of the log, like all others.
    const error = withShellHint(toPortolanError(thrown));
    io.stderr.write(`${describeFailedStart(cli, error, format)}\n`);
    return exitCodeOf(error);
  }
}

/** `gateway.log_format` of the workspace, if its config can be read. */
async function configuredFormat(cli: Cli, words: Words): Promise<string | undefined> {
  try {
    const { servedPath } = await import("./served.ts");
    const path = servedPath(words, cli);
    return path && (await cli.io.loadCatalog(path)).settings.gateway?.logFormat;
  } catch {
    return undefined; // The error of the start says why.
  }
}

async function serveAs(cli: Cli, words: Words, raw: RawServeOptions): Promise<number> {
  const options = parseServeOptions(raw, cli.io.cwd);
  if (options.daemon) return (await import("./daemon.ts")).startDaemon(cli, words, options);
  if (options.stdio) return (await import("./stdio.ts")).serveStdio(cli, words, options);
  return (await import("./own-servers.ts")).serveOwn(cli, words, options);
}
