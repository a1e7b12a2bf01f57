// The servers of an mcpfile as a workspace declares them.

import type { Diagnostic } from "../../errors/index.ts";
import type { DeclaredServer } from "../../model/index.ts";
import { toAlias } from "../clients/alias.ts";
import { quoted, toPointer } from "../text/index.ts";
import { parseMcpfile } from "./parse.ts";

export interface McpfileDeclarations {
  readonly servers: readonly DeclaredServer[];
  readonly diagnostics: readonly Diagnostic[];
}

/** The alias is the server's name made legal; of two servers with one alias the first is used. */
export function declareMcpfile(text: string, file: string): McpfileDeclarations {
  const { entries, diagnostics } = parseMcpfile(text, file);
  const servers = new Map<string, DeclaredServer>();
  const collisions: Diagnostic[] = [];
  for (const { server, place } of entries) {
    const { name } = server.info;
    const alias = toAlias(name);
    const first = servers.get(alias)?.endpoint;
    const { line, column } = place;
    if (first?.transport === "invoke")
      collisions.push({
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
        endpoint: { transport: "invoke", server },
        enabled: true,
      });
  }
  return { servers: [...servers.values()], diagnostics: [...diagnostics, ...collisions] };
}
