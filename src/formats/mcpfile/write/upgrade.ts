// An mcpfile of an older version as files of 0.2.0 that mean the same: one for each server, and one for how it is served.

import { isDeepStrictEqual } from "node:util";
import type { Diagnostic } from "../../../errors/index.ts";
import { toAlias } from "../../manifest/alias.ts";
import { type McpfileEntry, parseMcpfile } from "../read/parse.ts";
import { renderMcpfile, renderServerConfig } from "./render.ts";

export interface UpgradedFile {
  /** A name that fits: `mcpfile.yaml`, `mcpserver.yaml`, or with the server's name before it when there are several. */
  readonly name: string;
  readonly text: string;
}

export interface McpfileUpgrade {
  /** Empty when the file has errors, or cannot be written in 0.2.0 without a change of meaning. */
  readonly files: readonly UpgradedFile[];
  readonly diagnostics: readonly Diagnostic[];
}

export function upgradeMcpfile(text: string, file: string): McpfileUpgrade {
  const { entries, config, diagnostics } = parseMcpfile(text, file);
  if (diagnostics.some(({ severity }) => severity === "error")) return { files: [], diagnostics };
  if (config !== undefined)
    return { files: [{ name: "mcpserver.yaml", text: renderServerConfig(config) }], diagnostics };
  const changed = entries.filter((entry) => !meansTheSame(entry, file));
  if (changed.length > 0)
    return { files: [], diagnostics: [...diagnostics, ...changed.map((entry) => cannot(entry, file))] };
  const several = entries.length > 1;
  const files = entries.flatMap(({ server, runtime }) => {
    const prefix = several ? `${toAlias(server.info.name)}.` : "";
    const own = { name: `${prefix}mcpfile.yaml`, text: renderMcpfile(server) };
    if (runtime === undefined) return [own];
    return [own, { name: `${prefix}mcpserver.yaml`, text: renderServerConfig({ runtime }) }];
  });
  return { files, diagnostics };
}

/** Compares the server with its rendered text read again. `clientTls` moves to the other file. */
function meansTheSame({ server, runtime }: McpfileEntry, file: string): boolean {
  const again = parseMcpfile(renderMcpfile(server), file);
  if (again.diagnostics.some(({ severity }) => severity === "error")) return false;
  if (!isDeepStrictEqual(again.servers, [{ ...server, clientTls: undefined }])) return false;
  if (runtime === undefined) return true;
  return isDeepStrictEqual(parseMcpfile(renderServerConfig({ runtime }), file).runtime, runtime);
}

function cannot({ server, place: { line, column } }: McpfileEntry, file: string): Diagnostic {
  return {
    code: "FILE_INVALID",
    severity: "error",
    message: `server ${JSON.stringify(server.info.name)} cannot be written in 0.2.0 without a change of meaning`,
    file,
    line,
    column,
    server: server.info.name,
    hint: "The usual cause is a property named headers or env: in 0.2.0, {headers.…} and {env.…} have another meaning. Rename the property.",
  };
}
