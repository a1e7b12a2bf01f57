// The names under which a hub offers what its servers have: a pure function of the template, the alias and the server's own name.

import { type DeclaredServer, toWildcard } from "../model/index.ts";
import { exposedName } from "../tools/index.ts";

export const DEFAULT_NAMING = "mcp_{alias}_{tool}";

/** A contract has its name by itself: it is the same tool, whichever server it is of. */
export function hubName(template: string, { alias, endpoint }: DeclaredServer, name: string): string {
  if (endpoint.transport === "contracts") return exposedName(name);
  // One pass: a tool called "{alias}" is not expanded again.
  return exposedName(
    template.replace(/\{(alias|tool)\}/g, (_whole, key: string) => (key === "alias" ? alias : name)),
  );
}

/** Whether a declaration lets this tool of its server through. */
export function isOffered({ allowTools, blockTools }: DeclaredServer, name: string): boolean {
  return matchesAny(allowTools, name) !== false && matchesAny(blockTools, name) !== true;
}

/** Whether a list of patterns with `*` names this; an absent list says nothing. */
export function matchesAny(patterns: readonly string[] | undefined, name: string): boolean | undefined {
  return patterns?.some((pattern) => toWildcard(pattern)(name));
}
