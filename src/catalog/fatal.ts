// Which errors of a catalog stop the work, and which only leave something out.

import type { Diagnostic } from "../errors/index.ts";
import type { DeclaredServer } from "../model/index.ts";
import type { Catalog } from "./types.ts";

/** A broken driver and a broken tool of an mcpfile are left out by themselves, as long as anything else is there. */
export function fatalErrors({ diagnostics, ofDrivers = [], leftOut = [], servers }: Catalog): Diagnostic[] {
  const errors = diagnostics.filter(({ severity }) => severity === "error");
  const partial = new Set([...ofDrivers, ...leftOut]);
  const fatal = errors.filter((error) => !partial.has(error));
  // All at once, those first that stop the work.
  if (fatal.length > 0) return [...fatal, ...errors.filter((error) => leftOut.includes(error))];
  return leftOut.length > 0 && servers.every(isEmpty) ? errors : [];
}

function isEmpty({ endpoint }: DeclaredServer): boolean {
  if (endpoint.transport !== "invoke") return false;
  const { tools, prompts, resources, resourceTemplates } = endpoint.server;
  return [tools, prompts, resources, resourceTemplates].every(({ length }) => length === 0);
}
