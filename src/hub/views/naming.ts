// Tool and prompt names in a hub: a pure function of the naming template, the alias and the server's own name.

import { toWildcard } from "../../base/text/wildcard.ts";
import type { ContractsEndpoint, ServerConfig } from "../../model/index.ts";
import { exposedName, exposedNames } from "../../client/index.ts";

/** A naming template; undefined in the view of a single server, which keeps its own names. */
export type Naming = string | undefined;

/** The name of a tool in the hub. A contract keeps its own name, whichever server it belongs to. */
export function hubName(template: Naming, { alias, endpoint }: ServerConfig, name: string): string {
  if (endpoint.transport === "contracts") return namesOf(endpoint).get(name) ?? exposedName(name);
  if (template === undefined) return name;
  // One pass, so that a tool named "{alias}" is not expanded again.
  return exposedName(
    template.replace(/\{(alias|tool)\}/g, (_whole, key: string) => (key === "alias" ? alias : name)),
  );
}

/** A part of a name, with the characters that names in the hub can have. */
export function exposedPart(text: string): string {
  return text.replace(/[^A-Za-z0-9_-]+/g, "_");
}

/** Prompts of contracts keep their path, because model providers do not limit the names of prompts. */
export function promptName(template: Naming, config: ServerConfig, name: string): string {
  return config.endpoint.transport === "contracts" ? name : hubName(template, config, name);
}

/** Cache: computed once per config, and freed with it. */
const known = new WeakMap<ContractsEndpoint, ReadonlyMap<string, string>>();

/** Names by contract id. `fs.read` becomes `fs_read`, unless another contract would get the same name. */
function namesOf(endpoint: ContractsEndpoint): ReadonlyMap<string, string> {
  let names = known.get(endpoint);
  if (names === undefined) {
    names = exposedNames(endpoint.contracts.map(({ id }) => id));
    known.set(endpoint, names);
  }
  return names;
}

/** The name in the hub of the server's contract with this id. */
export function contractName({ endpoint }: ServerConfig, id: string): string | undefined {
  return endpoint.transport === "contracts" ? namesOf(endpoint).get(id) : undefined;
}

/** True when one of the server's drivers or contracts has this id. Diagnostics name them as their server. */
export function hasDriverOrContract({ endpoint }: ServerConfig, id: string | undefined): boolean {
  if (endpoint.transport !== "contracts") return false;
  const { drivers, contracts } = endpoint;
  return drivers.some(({ driver }) => driver.id === id) || contracts.some((one) => one.id === id);
}

/** The id of the server's contract that has this name in the hub. */
export function contractNamed({ endpoint }: ServerConfig, name: string): string | undefined {
  if (endpoint.transport !== "contracts") return undefined;
  for (const [id, exposed] of namesOf(endpoint)) if (exposed === name) return id;
  return undefined;
}

/** True when the config allows this tool. */
export function isAllowedTool({ allowTools, blockTools }: ServerConfig, name: string): boolean {
  return matchesAny(allowTools, name) !== false && matchesAny(blockTools, name) !== true;
}

/** True when a pattern matches the name; undefined without a list. */
export function matchesAny(patterns: readonly string[] | undefined, name: string): boolean | undefined {
  return patterns?.some((pattern) => toWildcard(pattern)(name));
}
