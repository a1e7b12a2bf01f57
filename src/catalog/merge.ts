// Merges the servers of several files. The first server with an alias wins; the others are reported.

import { isDeepStrictEqual } from "node:util";
import type { Diagnostic } from "../errors/index.ts";
import type { ServerConfig } from "../model/index.ts";

/** Returns servers sorted by alias, each alias once. `groups` are in order of precedence. */
export function mergeServers(groups: readonly (readonly ServerConfig[])[]): {
  readonly servers: ServerConfig[];
  readonly diagnostics: Diagnostic[];
} {
  const merged = new Map<string, ServerConfig>();
  const diagnostics: Diagnostic[] = [];
  for (const server of groups.flat()) {
    const first = merged.get(server.alias);
    if (first === undefined) merged.set(server.alias, server);
    else if (!sameDefinition(first, server)) diagnostics.push(twice(first, server));
  }
  const servers = [...merged.values()].sort((a, b) => (a.alias < b.alias ? -1 : 1));
  return { servers, diagnostics };
}

/** Returns true if both configs are equal, apart from their position. */
export function sameDefinition(a: ServerConfig, b: ServerConfig): boolean {
  return isDeepStrictEqual(withoutOrigin(a), withoutOrigin(b));
}

/** Fields about the file of a server, not about the server. */
const ABOUT_THE_FILE: ReadonlySet<string> = new Set(["origin", "name", "project"]);

/** JSON removes undefined fields, so that they equal missing ones. */
function withoutOrigin(server: ServerConfig): unknown {
  const fields = Object.entries(server).filter(([name]) => !ABOUT_THE_FILE.has(name));
  return JSON.parse(JSON.stringify(Object.fromEntries(fields)));
}

function twice(first: ServerConfig, second: ServerConfig): Diagnostic {
  const { file, line, column } = second.origin;
  return {
    code: "NAME_AMBIGUOUS",
    severity: "warning",
    server: second.alias,
    message: `server ${second.alias} is declared twice: Portolan uses ${where(first)} and ignores ${where(second)}`,
    file,
    line,
    column,
    hint: "Give one of the two another alias, or remove one.",
  };
}

function where({ origin }: ServerConfig): string {
  return `${origin.file}:${origin.line}:${origin.column}`;
}
