// `portolan serve`: the workspace as one MCP server, until it is told to stop.

import { resolve } from "node:path";
import { openAccess, openGateway } from "../../gateway/index.ts";
import type { Cli } from "../connect.ts";
import { noteDiagnostic } from "../connect.ts";
import { loadSource } from "../workspace-source.ts";

export interface ServeOptions {
  readonly stdio?: boolean;
  readonly host?: string;
  readonly port?: string;
  readonly auth?: boolean;
}

export async function serve(cli: Cli, words: readonly string[], raw: ServeOptions): Promise<number> {
  const [path] = words;
  const given = path === undefined ? cli : { ...cli, options: { ...cli.options, workspace: path } };
  const source = await loadSource(given);
  const access = await openAccess(resolve(source.path));
  const gateway = await openGateway(source.kind === "workspace" ? source.path : source.config, {
    access,
    settings: {
      ...(raw.host === undefined ? {} : { host: raw.host }),
      ...(raw.port === undefined ? {} : { port: Number(raw.port) }),
      ...(raw.auth === false ? { auth: "none" } : {}),
    },
    onDiagnostic: (diagnostic) => noteDiagnostic(diagnostic, cli),
  });
  try {
    if (raw.stdio === true) {
      await Promise.race([gateway.serveStdio(process.stdin, process.stdout), aborted(cli.interrupt.signal)]);
      return 0;
    }
    const { url } = await gateway.listen();
    cli.output.note(`MCP is served at ${url}/mcp`);
    await aborted(cli.interrupt.signal);
    return 0;
  } finally {
    await gateway.close();
  }
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
}
