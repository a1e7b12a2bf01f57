// Reads the mcpfile of a package as a server: its commands run in the sandbox of the server config, and its requests reach the
// hosts of that sandbox only.

import { parseUrl, portOf } from "../../base/net/urls.ts";
import { readLimited } from "../../base/files/limited-read.ts";
import { PortolanError } from "../../errors/index.ts";
import { parseMcpfile } from "../../formats/mcpfile/index.ts";
import { findPackagedMcpfile, type LaunchRequest } from "../../launch/index.ts";
import {
  type HttpInvocation,
  type Invocation,
  type InvokedServer,
  matchesRule,
  parseNetworkRule,
  type SandboxConfig,
  type ServerConfig,
  type StdioEndpoint,
} from "../../model/index.ts";

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
  request: Pick<LaunchRequest, "signal" | "onLaunch" | "report" | "context">,
): Promise<PackagedServer | undefined> {
  const { alias, launch } = config;
  const found = await findPackagedMcpfile({ ...request, server: alias, endpoint, settings: launch });
  if (found === undefined) return undefined;
  const { file, name, env, sandboxRequired } = found;
  const mode = launch?.sandboxOverride ?? launch?.sandbox?.mode ?? "enforce";
  if (sandboxRequired && mode !== "enforce")
    throw new PortolanError(
      "SANDBOX_UNAVAILABLE",
      `Server "${alias}" was not started: its package requires a sandbox, and the mode is ${mode}.`,
      { server: alias, hint: "Leave out the mode of its sandbox." },
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
      { server: alias, hint: "Report it to the package's author.", data: { diagnostics } },
    );
  return {
    server: withSandbox(server, { ...launch?.sandbox, mode }, alias),
    given: { ...env, ...endpoint.env },
  };
}

/** The sandbox of the config is what a person approved, so that it replaces the one that the file itself names. */
export function withSandbox(server: InvokedServer, granted: SandboxConfig, alias: string): InvokedServer {
  const { network = [] } = granted;
  const guarded = <
    T extends { readonly invocation: Invocation; readonly definition: { readonly name: string } },
  >(
    items: readonly T[],
  ): T[] =>
    items.map((item) => {
      const { invocation, definition } = item;
      if (invocation.kind === "cli") return { ...item, invocation: { ...invocation, sandbox: granted } };
      checkHost(invocation, network, { alias, name: definition.name });
      return item;
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

function checkHost(
  { url }: HttpInvocation,
  network: readonly string[],
  { alias, name }: { readonly alias: string; readonly name: string },
): void {
  const rules = network.flatMap((text) => {
    const parsed = parseNetworkRule(text);
    return parsed.ok ? [parsed.rule] : [];
  });
  // A setting may be the host, and nobody knows it here: then every public host must be allowed.
  const start = url.map((part) => (part.kind === "text" ? part.text : "\0")).join("");
  const isKnown = /^https?:\/\/[^/?#\0]+(?:[/?#]|$)/i.test(start);
  const parsed = isKnown ? parseUrl(start.replaceAll("\0", "x")) : undefined;
  const isAllowed =
    parsed === undefined
      ? rules.some(({ kind }) => kind === "public")
      : rules.some((rule) => matchesRule(rule, parsed.hostname, portOf(parsed)));
  if (isAllowed) return;
  const host = parsed === undefined ? "a host that a setting names" : parsed.host;
  throw new PortolanError(
    "SANDBOX_DENIED",
    `${name} of the package sends requests to ${host}, which the sandbox of the server does not allow.`,
    {
      server: alias,
      hint: `Allow it in portolan.yaml: sandbox: { network: [${parsed === undefined ? '"*"' : JSON.stringify(parsed.host)}] }`,
    },
  );
}
