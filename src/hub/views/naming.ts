// The names under which a hub offers what its servers have: a pure function of the template, the alias and the server's own name.

import { type ContractsEndpoint, type DeclaredServer, toWildcard } from "../../model/index.ts";
import { exposedName, exposedNames } from "../../client/index.ts";

export const DEFAULT_NAMING = "mcp_{alias}_{tool}";

/** A naming template; undefined where a server is alone and keeps its own names, whatever characters they have. */
export type Naming = string | undefined;

/** A contract has its name by itself: it is the same tool, whichever server it is of. */
export function hubName(template: Naming, { alias, endpoint }: DeclaredServer, name: string): string {
  if (endpoint.transport === "contracts") return namesOf(endpoint).get(name) ?? exposedName(name);
  if (template === undefined) return name;
  // One pass: a tool called "{alias}" is not expanded again.
  return exposedName(
    template.replace(/\{(alias|tool)\}/g, (_whole, key: string) => (key === "alias" ? alias : name)),
  );
}

/** Blocks of skills keep their path; no model provider limits the names of prompts. */
export function promptName(template: Naming, declared: DeclaredServer, name: string): string {
  return declared.endpoint.transport === "contracts" ? name : hubName(template, declared, name);
}

const known = new WeakMap<ContractsEndpoint, ReadonlyMap<string, string>>();

/** By id. All contracts are known beforehand, so that `fs.read` can be `fs_read` for as long as no other one would be that, too. */
function namesOf(endpoint: ContractsEndpoint): ReadonlyMap<string, string> {
  let names = known.get(endpoint);
  if (names === undefined) {
    names = exposedNames(endpoint.contracts.map(({ id }) => id));
    known.set(endpoint, names);
  }
  return names;
}

/** Whether this is the id of one of its contracts. */
export function hasContract({ endpoint }: DeclaredServer, id: string): boolean {
  return endpoint.transport === "contracts" && namesOf(endpoint).has(id);
}

/** Whether a declaration lets this tool of its server through. */
export function isOffered({ allowTools, blockTools }: DeclaredServer, name: string): boolean {
  return matchesAny(allowTools, name) !== false && matchesAny(blockTools, name) !== true;
}

/** Whether a list of patterns with `*` names this; an absent list says nothing. */
export function matchesAny(patterns: readonly string[] | undefined, name: string): boolean | undefined {
  return patterns?.some((pattern) => toWildcard(pattern)(name));
}
