// `portolan serve`: serves the workspace as one MCP server, in the background, with own servers, or through the running gateway.

import type { Cli, Words } from "../context.ts";
import { parseServeOptions, type RawServeOptions } from "./options.ts";

export async function serve(cli: Cli, words: Words, raw: RawServeOptions): Promise<number> {
  const options = parseServeOptions(raw, cli.io.cwd);
  if (options.daemon) return (await import("./daemon.ts")).startDaemon(cli, words, options);
  if (options.stdio) return (await import("./stdio.ts")).serveStdio(cli, words, options);
  return (await import("./own-servers.ts")).serveOwn(cli, words, options);
}
