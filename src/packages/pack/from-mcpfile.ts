// Facts of an mcpfile server: HTTP requests need the network, commands start processes.

import {
  MODERN_REVISION,
  type Invocation,
  type InvokedServer,
  type SandboxConfig,
} from "../../model/index.ts";
import { type PackageFacts, toCapabilities, toModule } from "./facts.ts";

export interface McpfileSource {
  /** The name of the mcpfile in the archive. */
  readonly file: string;
  /** True if the file has further servers, so that the package must say which one it is. */
  readonly isOneOfSeveral: boolean;
  /** The variables that the templates of the server name. */
  readonly variables: readonly string[];
}

export function factsOfMcpfile(server: InvokedServer, source: McpfileSource): PackageFacts {
  const { info, instructions, tools, prompts, resources, resourceTemplates } = server;
  const invocations = [tools, prompts, resources, resourceTemplates].flatMap((items) =>
    items.map(({ invocation }) => invocation),
  );
  return {
    module: toModule(info.name),
    version: info.version,
    description: firstSentence(instructions),
    mcp: {
      version: MODERN_REVISION,
      transport: ["stdio"],
      executable: source.file,
      args: source.isOneOfSeveral ? [info.name] : undefined,
      capabilities: toCapabilities({
        tools: tools.map(({ definition }) => definition),
        prompts: prompts.map(({ definition }) => definition),
        resources: resources.map(({ definition }) => definition),
        resourceTemplates: resourceTemplates.map(({ definition }) => definition),
      }),
    },
    variables: source.variables,
    permissions: [...new Set(invocations.flatMap(permissionsOfInvocation))].sort(),
  };
}

function permissionsOfInvocation(invocation: Invocation): string[] {
  if (invocation.kind === "http") return ["network"];
  return ["process", ...permissionsOfSandbox(invocation.sandbox)];
}

/** The grants of a sandbox beside the start of processes. */
export function permissionsOfSandbox({ network = [], fs }: SandboxConfig = {}): string[] {
  const paths = [...(fs?.read ?? []), ...(fs?.write ?? [])];
  return [...(network.length > 0 ? ["network"] : []), ...(paths.length > 0 ? ["filesystem"] : [])];
}

/** A description has fewer than 200 characters. */
function firstSentence(text: string | undefined): string | undefined {
  const [sentence = ""] = (text ?? "").trim().split(/(?<=[.!?])\s|\n/);
  return sentence === "" || sentence.length >= 200 ? undefined : sentence;
}
