// Fatal errors of a catalog. Other errors only leave something out.

import type { Diagnostic } from "../errors/index.ts";
import type { DeclaredServer } from "../model/index.ts";
import type { Catalog } from "./types.ts";

/** Errors in a driver or in a tool of an mcpfile are not fatal as long as other tools remain. */
export function fatalErrors({ diagnostics, ofDrivers = [], leftOut = [], servers }: Catalog): Diagnostic[] {
  const errors = diagnostics.filter(({ severity }) => severity === "error");
  const partial = new Set([...ofDrivers, ...leftOut]);
  const fatal = errors.filter((error) => !partial.has(error));
  // All errors are reported at once, the fatal ones first.
  if (fatal.length > 0) return [...fatal, ...errors.filter((error) => leftOut.includes(error))];
  return leftOut.length > 0 && servers.every(isEmpty) ? errors : [];
}

function isEmpty({ endpoint }: DeclaredServer): boolean {
  if (endpoint.transport !== "invoke") return false;
  const { tools, prompts, resources, resourceTemplates } = endpoint.server;
  return [tools, prompts, resources, resourceTemplates].every(({ length }) => length === 0);
}
