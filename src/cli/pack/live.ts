// Facts of a running server: what it lists, how it is reached, and what its sandbox grants.

import { isPortolanError } from "../../errors/index.ts";
import type { ConfiguredEndpoint, LaunchSettings } from "../../model/index.ts";
import { type PackageFacts, permissionsOfSandbox, toCapabilities, toModule } from "../../packages/index.ts";
import type { Cli } from "../context.ts";
import type { ResolvedTarget } from "../target/resolve.ts";
import { withTarget } from "../target/session.ts";

export interface LiveFacts {
  readonly facts: PackageFacts;
  readonly notes: readonly string[];
}

export async function listServer(
  cli: Cli,
  target: Exclude<ResolvedTarget, { kind: "workspace" }>,
): Promise<LiveFacts> {
  return withTarget(cli, target, async ({ connection, request }) => {
    const wanted = request("listing");
    const notes: string[] = [];
    // Servers without resources or prompts often answer with an error.
    const lesser = async <T>(what: string, items: Promise<T[]>): Promise<T[]> =>
      items.catch((thrown: unknown) => {
        if (!isPortolanError(thrown) || wanted.signal.aborted) throw thrown;
        notes.push(`The metadata lists no ${what}: ${thrown.message}`);
        return [];
      });
    const [tools, resources, resourceTemplates, prompts] = await Promise.all([
      connection.listToolDefinitions(wanted),
      lesser("resources", connection.listResources(wanted)),
      lesser("resource templates", connection.listResourceTemplates(wanted)),
      lesser("prompts", connection.listPrompts(wanted)),
    ]);
    const { info, name, revision, transport } = connection.server;
    const config =
      target.kind === "server"
        ? target.source.config.servers.find(({ alias }) => alias === target.alias)
        : undefined;
    const remote = TRANSPORTS[transport];
    return {
      facts: {
        module: toModule(info?.name ?? name),
        version: info?.version,
        mcp: {
          version: revision,
          transport: [remote ?? "stdio"],
          capabilities: toCapabilities({ tools, resources, resourceTemplates, prompts }),
        },
        variables: config === undefined ? Object.keys(cli.options.env).sort() : secretsOf(config.endpoint),
        permissions: [
          ...new Set([
            ...(remote === undefined ? [] : ["network"]),
            ...(config === undefined ? permissionsOfOptions(cli) : permissionsOfLaunch(config.launch)),
          ]),
        ].sort(),
      },
      notes: [
        ...notes,
        "Portolan does not know where the files of this server come from. Fill in source and mcp.executable in the metadata file.",
      ],
    };
  });
}

type Transport = PackageFacts["mcp"]["transport"][number];

const TRANSPORTS: Readonly<Record<string, Transport>> = {
  http: "streamable-http",
  "streamable-http": "streamable-http",
  sse: "sse",
  websocket: "websocket",
};

/** The permissions that the options of the command line grant. */
export function permissionsOfOptions({ options: { sandbox } }: Cli): string[] {
  const { network, read, write } = sandbox;
  return permissionsOfSandbox({ network, fs: { read, write } });
}

function permissionsOfLaunch(launch: LaunchSettings | undefined): string[] {
  return permissionsOfSandbox(launch?.sandbox);
}

/** Variables whose values are references. Other values are settings of this machine. */
function secretsOf(endpoint: ConfiguredEndpoint): string[] {
  const env = endpoint.transport === "stdio" ? endpoint.env : undefined;
  return Object.entries(env ?? {})
    .flatMap(([name, value]) => (value.includes("${") ? [name] : []))
    .sort();
}
