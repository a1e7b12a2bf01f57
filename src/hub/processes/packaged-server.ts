// Reads the mcpfile of a package as a server: its commands run in the sandbox of the server config, and its requests reach the
// hosts of that sandbox only.

import { readLimited } from "../../base/files/limited-read.ts";
import { PortolanError } from "../../errors/index.ts";
import { parseMcpfile } from "../../formats/mcpfile/index.ts";
import { findPackagedMcpfile, type LaunchRequest } from "../../launch/index.ts";
import type {
  Invocation,
  InvokedServer,
  SandboxConfig,
  ServerConfig,
  StdioEndpoint,
} from "../../model/index.ts";
import { chooseMode, MODE_SOURCES } from "../../sandbox/index.ts";

export interface PackagedServer {
  readonly server: InvokedServer;
  /** The variables that the file may use: defaults of its settings, and those of the server config. */
  readonly given: Readonly<Record<string, string>>;
}

const MAX_BYTES = 4 * 1024 * 1024;

/** Undefined for a package that is a program. */
export async function readPackagedServer(
  config: ServerConfig,
  endpoint: StdioEndpoint,
  request: Pick<LaunchRequest, "signal" | "onLaunch" | "report" | "context" | "dryRun">,
): Promise<PackagedServer | undefined> {
  const { alias, launch } = config;
  const found = await findPackagedMcpfile({ ...request, server: alias, endpoint, settings: launch });
  if (found === undefined) return undefined;
  const { file, name, env, sandboxRequired } = found;
  const { mode, by } = chooseMode(launch, process.env);
  // Its commands start later, as programs that do not know this requirement: one could run without a sandbox in the mode `warn`.
  if (sandboxRequired && mode !== "enforce")
    throw new PortolanError(
      "SANDBOX_UNAVAILABLE",
      `Server "${alias}" was not started: its package requires a sandbox, but ${MODE_SOURCES[by]} sets the sandbox mode to ${mode}.`,
      { server: alias, hint: `Remove this setting of the sandbox mode. The default mode is enforce.` },
    );
  const text = (await readLimited(file, MAX_BYTES)).toString("utf8");
  const { servers, diagnostics } = parseMcpfile(text, file);
  const server =
    name === undefined && servers.length === 1 ? servers[0] : servers.find(({ info }) => info.name === name);
  const [error] = diagnostics.filter(({ severity }) => severity === "error");
  if (error !== undefined || server === undefined)
    throw new PortolanError(
      "FILE_INVALID",
      `The mcpfile of the package cannot be used: ${error?.message ?? `it has no server ${JSON.stringify(name ?? "")}`}`,
      { server: alias, hint: "Report this to the package's author.", data: { diagnostics } },
    );
  return {
    server: withSandbox(server, { ...launch?.sandbox, mode }),
    given: { ...env, ...endpoint.env },
  };
}

/** The sandbox of the config is what a person approved, so that it replaces the one that the file itself names. */
export function withSandbox(server: InvokedServer, granted: SandboxConfig): InvokedServer {
  // Without a sandbox, nothing about a server is restricted.
  const allowedHosts = granted.mode === "off" ? undefined : (granted.network ?? []);
  const guarded = <T extends { readonly invocation: Invocation }>(items: readonly T[]): T[] =>
    items.map((item) => {
      const { invocation } = item;
      return {
        ...item,
        invocation:
          invocation.kind === "cli" ? { ...invocation, sandbox: granted } : { ...invocation, allowedHosts },
      };
    });
  return {
    ...server,
    packageFolder: server.folder,
    tools: guarded(server.tools),
    prompts: guarded(server.prompts),
    resources: guarded(server.resources),
    resourceTemplates: guarded(server.resourceTemplates),
  };
}
