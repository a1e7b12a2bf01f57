// The servers of an mcpfile as a workspace declares them, with what the file beside it says.

import { dirname } from "node:path";
import type { Diagnostic } from "../../errors/index.ts";
import type { DeclaredServer, GatewaySettings } from "../../model/index.ts";
import { toAlias } from "../clients/entries/alias.ts";
import { type Place, quoted, toPointer } from "../document/index.ts";
import { looksLikeMcpfile } from "./detect.ts";
import { parseMcpfile } from "./read/parse.ts";
import { toClientTls } from "./read/server.ts";
import type { McpRuntime } from "./schema/runtime-schema.ts";
import { toGateway, unusedSettings } from "./serving.ts";

export interface McpfileDeclarations {
  readonly servers: readonly DeclaredServer[];
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
export function declareMcpfile(text: string, file: string, beside?: BesideFile): McpfileDeclarations {
  const { entries, config, version, diagnostics, leftOut } = parseMcpfile(text, file);
  const settings = version === "0.2" && config === undefined ? readSettings(beside) : NONE;
  const trusted = toClientTls(settings.runtime, dirname(beside?.file ?? file));
  const servers = new Map<string, DeclaredServer>();
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
        message: `server ${quoted(name)} becomes ${alias}, as ${quoted(first.server.info.name)} does`,
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

/** Told, but no reason for concern: the same file may be served by other programs as well. */
function unused(
  runtime: McpRuntime | undefined,
  several: boolean,
  { file, place: { line, column }, server }: { file: string; place: Place; server?: string },
): Diagnostic[] {
  const names = unusedSettings(runtime, several);
  if (names.length === 0) return [];
  return [
    {
      code: "DECLARATION_INVALID",
      severity: "info",
      message: `portolan serve does not use ${names.join(", ")} of the runtime`,
      ...(server === undefined ? {} : { server }),
      file,
      line,
      column,
      hint: "portolan.yaml and the options of portolan serve have settings of their own.",
    },
  ];
}
