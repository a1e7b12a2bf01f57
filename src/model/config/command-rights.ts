// Rights of the commands of an mcpfile: whether they run in a sandbox, in words and as a default for files of others.

import type { ConfiguredEndpoint } from "./server-definition.ts";
import type { InvokedServer } from "./invoked-server.ts";

/** In words: whether the commands of an mcpfile run in a sandbox. Undefined for other servers, and without commands. */
export function describeCommandRights(endpoint: ConfiguredEndpoint): string | undefined {
  return endpoint.transport === "invoke" ? describeRights([endpoint.server]) : undefined;
}

/** The same for all servers of a file. */
export function describeRights(servers: readonly InvokedServer[]): string | undefined {
  const all = servers.flatMap(({ tools, prompts, resources, resourceTemplates }) => [
    ...[...tools, ...prompts],
    ...[...resources, ...resourceTemplates],
  ]);
  const commands = all.flatMap(({ invocation }) => (invocation.kind === "cli" ? [invocation] : []));
  const sandboxed = commands.filter(({ sandbox }) => sandbox !== undefined && sandbox.mode !== "off").length;
  if (commands.length === 0) return undefined;
  if (sandboxed === commands.length) return "commands run in a sandbox";
  if (sandboxed === 0) return "commands run with all your rights, without a sandbox";
  return `${sandboxed} of ${commands.length} commands run in a sandbox, the others with all your rights`;
}

/** The server with the default profile for every command without a sandbox: for a file that is not of the workspace. */
export function withDefaultSandbox(server: InvokedServer): InvokedServer {
  const guarded = <T extends Pick<InvokedServer["tools"][number], "invocation">>(items: readonly T[]): T[] =>
    items.map((item) => {
      const { invocation } = item;
      if (invocation.kind !== "cli" || invocation.sandbox !== undefined) return item;
      return { ...item, invocation: { ...invocation, sandbox: {} } };
    });
  const { tools, prompts, resources, resourceTemplates } = server;
  return {
    ...server,
    tools: guarded(tools),
    prompts: guarded(prompts),
    resources: guarded(resources),
    resourceTemplates: guarded(resourceTemplates),
  };
}
