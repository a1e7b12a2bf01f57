// Converts a server config of any format to the fields of portolan.yaml.

import { dirname, resolve } from "node:path";
import { isWebSocketUrl } from "../../base/net/urls.ts";
import { definedOnly, filled, toDockerFields, toLaunchFields } from "../../formats/manifest/index.ts";
import type { ServerFields } from "../../formats/workspace/index.ts";
import type { ConfiguredEndpoint, ServerConfig, LocalProgram } from "../../model/index.ts";

export function toServerFields(server: ServerConfig): ServerFields {
  const { limits } = server;
  const timeouts = definedOnly({
    start: toDuration(limits?.startTimeoutMs),
    request: toDuration(limits?.requestTimeoutMs),
    max: toDuration(limits?.maxRequestMs),
  });
  return definedOnly<ServerFields>({
    ...endpointFields(server.endpoint, server.origin.file),
    enabled: server.enabled ? undefined : false,
    era: server.era,
    start: server.start,
    idle_stop: toDuration(server.idleStopMs),
    timeouts: filled(timeouts),
    tool_allowlist: server.allowTools,
    tool_blocklist: server.blockTools,
    description_prefix: server.descriptionPrefix,
    resources_as_tools: server.resourceTools,
    prompts_as_tools: server.promptTools,
    context: server.context?.map(({ uri, maxBytes }) => ({ uri, max_bytes: maxBytes })),
    tags: server.tags,
    max_message_bytes: limits?.maxMessageBytes,
    max_result_bytes: server.maxResultBytes,
    shared: server.shared,
    lanes: server.lanes,
    ...toLaunchFields(server.launch),
  });
}

function endpointFields(endpoint: ConfiguredEndpoint, file: string): ServerFields {
  // portolan.yaml has no fields for these: it lists the mcpfile itself, and drivers are found by their folder.
  if (endpoint.transport === "invoke" || endpoint.transport === "contracts") return {};
  if (endpoint.transport !== "stdio") {
    const { transport, url, headers, program } = endpoint;
    if (program !== undefined)
      return {
        transport: transport === "sse" ? "sse" : "streamable-http",
        ...toDockerFields(endpoint),
        headers: filled(headers),
      };
    const inferred = isWebSocketUrl(url) ? "websocket" : "http";
    const written = transport === "http" ? "streamable-http" : transport;
    return { transport: transport === inferred ? undefined : written, url, headers: filled(headers) };
  }
  const { args, env, cwd } = endpoint;
  return {
    ...programFields(endpoint),
    args: filled(args),
    env: filled(env),
    cwd: cwd === undefined || /^[~$]/.test(cwd) ? cwd : resolve(projectOf(file), cwd),
  };
}

function programFields(program: LocalProgram): ServerFields {
  switch (program.kind) {
    case "npm":
      return { npm: program.package, bin: program.bin };
    case "image":
      return { docker: program.image };
    case "package":
      return { package: program.package };
    default:
      return { command: program.command };
  }
}

/** Files such as `.cursor/mcp.json` configure the folder above theirs. */
function projectOf(file: string): string {
  const folder = dirname(file);
  return /[\\/]\.[^\\/]+$/.test(folder) ? dirname(folder) : folder;
}

function toDuration(ms: number | undefined): string | undefined {
  if (ms === undefined) return undefined;
  if (ms % 60_000 === 0 && ms > 0) return `${ms / 60_000}m`;
  return ms % 1_000 === 0 ? `${ms / 1_000}s` : `${ms}ms`;
}
