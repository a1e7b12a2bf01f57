// Server configs of an mcpfile, with the settings of the mcpserver.yaml beside it; detection of mcpfiles.

import { basename, dirname } from "node:path";
import type { Diagnostic } from "../../errors/index.ts";
import { type ServerConfig, type GatewaySettings, isObject } from "../../model/index.ts";
import { type Place, quoted, toPointer } from "../document/index.ts";
import { toAlias } from "../manifest/alias.ts";
import { parseMcpfile } from "./read/parse.ts";
import { toClientTls } from "./read/server.ts";
import type { McpRuntime } from "./schema/runtime-schema.ts";
import { KINDS } from "./schema/versions.ts";

interface McpfileServers {
  readonly servers: readonly ServerConfig[];
  /** For a gateway that serves this file and nothing else. */
  readonly gateway?: GatewaySettings;
  readonly diagnostics: readonly Diagnostic[];
  /** Errors that leave out single tools, prompts and resources. */
  readonly leftOut: readonly Diagnostic[];
}

/** The `mcpserver.yaml` of the file, or why it cannot be read. */
export type BesideFile = { readonly file: string } & (
  | { readonly text: string; readonly problem?: undefined }
  | { readonly problem: string; readonly text?: undefined }
);

const TOP: Place = { line: 1, column: 1, path: [] };

/** The alias is the server's name made legal; of two servers with one alias the first is used. */
export function readMcpfile(text: string, file: string, beside?: BesideFile): McpfileServers {
  const { entries, config, version, diagnostics, leftOut } = parseMcpfile(text, file);
  const settings = version === "0.2" && config === undefined ? readSettings(beside) : NONE;
  const trusted = toClientTls(settings.runtime, dirname(beside?.file ?? file));
  const servers = new Map<string, ServerConfig>();
  const notes: Diagnostic[] = [];
  for (const { server, runtime, place } of entries) {
    const { name } = server.info;
    const alias = toAlias(name);
    const first = servers.get(alias)?.endpoint;
    const { line, column } = place;
    notes.push(...unused(runtime, entries.length > 1, { file, place, server: name }));
    if (first?.transport === "invoke")
      notes.push({
        code: "NAME_AMBIGUOUS",
        severity: "error",
        message: `the servers ${quoted(name)} and ${quoted(first.server.info.name)} would have the same alias, ${alias}`,
        server: name,
        file,
        line,
        column,
        path: toPointer(place.path),
        hint: "Give one of the two another name.",
      });
    else
      servers.set(alias, {
        alias,
        origin: { file, line, column, format: "mcpfile" },
        endpoint: {
          transport: "invoke",
          server: trusted === undefined ? server : { ...server, clientTls: trusted },
        },
        enabled: true,
      });
  }
  const [only] = entries;
  return {
    servers: [...servers.values()],
    gateway: entries.length === 1 ? toGateway(settings.runtime ?? only?.runtime) : undefined,
    diagnostics: [...diagnostics, ...notes, ...settings.diagnostics],
    leftOut,
  };
}

interface Settings {
  readonly runtime?: McpRuntime;
  readonly diagnostics: readonly Diagnostic[];
}

const NONE: Settings = { diagnostics: [] };

/** Another file of that name, which is no `MCPServerConfig`, is none of our business. */
function readSettings(beside: BesideFile | undefined): Settings {
  if (beside === undefined) return NONE;
  const { file, text, problem } = beside;
  if (problem !== undefined)
    return {
      diagnostics: [
        { code: "FILE_FAILED", severity: "error", message: `${file} cannot be read: ${problem}`, file },
      ],
    };
  if (!looksLikeMcpfile(text)) return NONE;
  const { config, diagnostics } = parseMcpfile(text, file);
  return {
    runtime: config?.runtime,
    diagnostics: [...diagnostics, ...unused(config?.runtime, false, { file, place: TOP })],
  };
}

/** Severity info, because other programs may serve the same file and use the settings. */
function unused(
  runtime: McpRuntime | undefined,
  several: boolean,
  { file, place: { line, column }, server }: { file: string; place: Place; server?: string },
): Diagnostic[] {
  const settings = unusedSettings(runtime, several);
  if (settings.length === 0) return [];
  return [
    {
      code: "FILE_INVALID",
      severity: "info",
      message: `portolan serve ignores ${settings.map(({ name }) => name).join(", ")} of the runtime`,
      server,
      file,
      line,
      column,
      hint: settings.map(({ name, instead }) => `${name}: ${instead}.`).join(" "),
    },
  ];
}

/** `mcpfile.yaml`, and `payments.mcpfile.yaml`. */
export function isMcpfileName(file: string): boolean {
  return /^(?:.+\.)?mcpfile\.ya?ml$/i.test(basename(file));
}

/** Returns true for an mcpfile, and for the settings of its server. */
export function isMcpfile(value: unknown): boolean {
  if (!isObject(value)) return false;
  return Object.hasOwn(value, "mcpFileVersion") || value.kind === KINDS.tools || value.kind === KINDS.config;
}

/** For texts with syntax errors. */
export function looksLikeMcpfile(text: string): boolean {
  return /^"?(?:mcpFileVersion"?[ \t]*:|kind"?[ \t]*:[ \t]*"?MCP(?:ToolDefinitions|ServerConfig))/m.test(
    text,
  );
}

/** Port and TLS of the gateway. Paths are relative to the folder of the file. */
function toGateway(runtime: McpRuntime | undefined): GatewaySettings | undefined {
  const { port, tls } = runtime?.streamableHttpConfig ?? {};
  if (port === undefined && tls === undefined) return undefined;
  return {
    ...(port === undefined ? {} : { port }),
    ...(tls === undefined ? {} : { tls: { cert: tls.certFile, key: tls.keyFile } }),
  };
}

interface UnusedSetting {
  readonly name: string;
  /** What has the same effect in Portolan. */
  readonly instead: string;
}

/** The runtime settings that Portolan does not use. A file with `several` servers cannot set the port or TLS. */
function unusedSettings(runtime: McpRuntime | undefined, several: boolean): UnusedSetting[] {
  const { port, tls, basePath, stateless, auth, health } = runtime?.streamableHttpConfig ?? {};
  const usual =
    health?.enabled !== false &&
    (health?.livenessPath ?? "/healthz") === "/healthz" &&
    (health?.readinessPath ?? "/readyz") === "/readyz";
  const isOtherPath = basePath !== undefined && basePath.replace(/\/$/, "") !== "/mcp";
  const settings: readonly (UnusedSetting & { readonly isSet: boolean })[] = [
    {
      name: "transportProtocol stdio",
      isSet: runtime?.transportProtocol === "stdio",
      instead: "use portolan serve --stdio",
    },
    { name: "port", isSet: several && port !== undefined, instead: "use --port" },
    { name: "tls", isSet: several && tls !== undefined, instead: "use --tls-cert and --tls-key" },
    { name: "basePath", isSet: isOtherPath, instead: "the path is always /mcp" },
    {
      name: "stateless",
      isSet: stateless !== undefined,
      instead: "the gateway always serves clients with and without sessions",
    },
    {
      name: "auth",
      isSet: auth !== undefined,
      instead: "set gateway.oauth in a portolan.yaml in this folder, and serve the folder",
    },
    { name: "health", isSet: !usual, instead: "the paths are always /healthz and /readyz" },
    {
      name: "loggingConfig",
      isSet: runtime?.loggingConfig !== undefined,
      instead: "use --log-format and --log-file",
    },
  ];
  return settings.filter(({ isSet }) => isSet);
}
