// A server of any declaration in the words of portolan.yaml.

import { dirname, resolve } from "node:path";
import type { ServerFields } from "../formats/workspace/index.ts";
import type { DeclaredServer, Endpoint } from "../model/index.ts";

export function toServerFields(server: DeclaredServer): ServerFields {
  const { limits, idleStopMs, allowTools, blockTools, resourceTools, promptTools, context } = server;
  const timeouts = {
    ...given("start", limits?.startTimeoutMs, toDuration),
    ...given("request", limits?.requestTimeoutMs, toDuration),
    ...given("max", limits?.maxRequestMs, toDuration),
  };
  return {
    ...endpointFields(server.endpoint, server.origin.file),
    ...(server.enabled ? {} : { enabled: false }),
    ...given("era", server.era),
    ...given("start", server.start),
    ...given("idle_stop", idleStopMs, toDuration),
    ...(Object.keys(timeouts).length === 0 ? {} : { timeouts }),
    ...given("tool_allowlist", allowTools),
    ...given("tool_blocklist", blockTools),
    ...given("description_prefix", server.descriptionPrefix),
    ...given("resources_as_tools", resourceTools),
    ...given("prompts_as_tools", promptTools),
    ...given("context", context, (rules) =>
      rules.map(({ uri, maxBytes }) => ({ uri, max_bytes: maxBytes })),
    ),
    ...given("tags", server.tags),
    ...given("max_message_bytes", limits?.maxMessageBytes),
  };
}

function endpointFields(endpoint: Endpoint, file: string): ServerFields {
  if (endpoint.transport !== "stdio") {
    const { transport, url, headers } = endpoint;
    const inferred = /^wss?:/i.test(url) ? "websocket" : "http";
    return {
      ...(transport === inferred
        ? {}
        : { transport: transport === "http" ? "streamable-http" : transport }),
      url,
      ...given("headers", filled(headers)),
    };
  }
  const { command, args, env, cwd } = endpoint;
  return {
    command,
    ...given("args", args?.length === 0 ? undefined : args),
    ...given("env", filled(env)),
    ...given("cwd", cwd, (folder) => (/^[~$]/.test(folder) ? folder : resolve(projectOf(file), folder))),
  };
}

/** `.cursor/mcp.json` and its like speak for the folder above them. */
function projectOf(file: string): string {
  const folder = dirname(file);
  return /[\\/]\.[^\\/]+$/.test(folder) ? dirname(folder) : folder;
}

function filled<T extends object>(map: T | undefined): T | undefined {
  return map === undefined || Object.keys(map).length === 0 ? undefined : map;
}

function toDuration(ms: number): string {
  if (ms % 60_000 === 0 && ms > 0) return `${ms / 60_000}m`;
  return ms % 1_000 === 0 ? `${ms / 1_000}s` : `${ms}ms`;
}

function given<K extends string, V, W = V>(
  key: K,
  value: V | undefined,
  convert: (value: V) => W = (same) => same as unknown as W,
): { [P in K]?: W } {
  return (value === undefined ? {} : { [key]: convert(value) }) as { [P in K]?: W };
}
