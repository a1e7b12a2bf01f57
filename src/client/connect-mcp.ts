// `connectMcp()`: connects to one MCP server.

import { type Diagnostic, guardCallback } from "../errors/index.ts";
import { IN_PROGRAM, type Implementation } from "../model/index.ts";
import { createEraMemory, openUpstream } from "../upstream/index.ts";
import { toRequestAuth } from "./auth.ts";
import { toServerDefinition, unreplacedReferences, withTransport } from "./config.ts";
import { Connection } from "./connection.ts";
import { fromGateway } from "./gateway-errors.ts";
import { rootFolders, toServerRequestHandler, toCapabilities } from "./handlers.ts";
import type { McpConfig, McpConnection, McpStdioConfig } from "./types.ts";
import { VERSION } from "./version.ts";
import { createWarner } from "./warnings.ts";

const CLIENT_INFO: Implementation = { name: "portolan", version: VERSION };
const MAX_DIAGNOSTICS = 200;

/**
 * Connects to one MCP server of either era and starts it if it is a program. Rejects with a PortolanError if that fails.
 *
 * @example
 * ```ts
 * import { connectMcp } from "portolan";
 *
 * await using mcp = await connectMcp({ transport: "stdio", command: "node", args: ["server.js"] });
 * const { text } = await mcp.callTool("get_chart", { year: 2025 });
 * ```
 */
export function connectMcp(config: McpConfig): Promise<McpConnection> {
  return connectServer(config, IN_PROGRAM);
}

/** Like `connectMcp()`. Without `grantCommand`, hints about the sandbox name options of the command line. */
export async function connectServer(from: McpConfig, grantCommand?: string): Promise<McpConnection> {
  const config = withTransport(from);
  const given = toServerDefinition(config);
  const launch =
    grantCommand === undefined && given.launch ? { ...given.launch, modeName: "" } : given.launch;
  const definition = { ...given, launch, roots: await rootFolders(config.handlers ?? {}) };
  const diagnostics: Diagnostic[] = [];
  const seen = new Set<string>();
  const warn = createWarner();
  const notify =
    config.onDiagnostic === undefined ? warn : guardCallback("onDiagnostic", config.onDiagnostic, warn);
  const report = (diagnostic: Diagnostic): void => {
    // A diagnostic that every refresh of a list repeats is reported once.
    const key = `${diagnostic.code} ${diagnostic.tool ?? ""} ${diagnostic.message}`;
    if (seen.has(key) || diagnostics.length >= MAX_DIAGNOSTICS) return;
    seen.add(key);
    diagnostics.push(diagnostic);
    notify(diagnostic);
  };
  // On the command line, the shell has replaced such references.
  if (grantCommand === IN_PROGRAM) for (const warning of unreplacedReferences(definition)) report(warning);
  const { onStderr, onInstalling }: Pick<McpStdioConfig, "onStderr" | "onInstalling"> =
    config.transport === "stdio" ? config : {};
  const guardedInstalling = onInstalling && guardCallback("onInstalling", onInstalling, report);
  const handlers = config.handlers ?? {};
  const upstream = await openUpstream({
    definition,
    caller: {
      clientInfo: config.clientInfo ?? CLIENT_INFO,
      capabilities: toCapabilities(handlers),
      logLevel: config.logLevel,
    },
    onServerRequest: toServerRequestHandler(handlers, report),
    watch: config.watch ?? true,
    report,
    eras: createEraMemory(),
    onStderr: onStderr && guardCallback("onStderr", onStderr, report),
    onLaunch: (event) => {
      if (event.type === "progress") guardedInstalling?.(event.what, event.bytes);
    },
    createAuth: (onSecrets) => toRequestAuth(config, definition.name, onSecrets),
    signal: config.signal,
    grantCommand,
  }).catch((thrown: unknown) => {
    throw fromGateway(thrown);
  });
  return new Connection(upstream, {
    limits: definition.limits,
    retryHinted: config.retryHinted ?? false,
    diagnostics,
    report,
  });
}
