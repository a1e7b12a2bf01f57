// Which server of a view a name or an address belongs to, and what to say when it is none's.

import { didYouMean, PortolanError } from "../errors/index.ts";
import type { Member } from "./member.ts";
import type { Merged, PromptRoute, ToolRoute } from "./merge.ts";

/** What is known where names are looked up. */
interface Routed {
  readonly table: Merged;
  readonly members: readonly Member[];
}

export function toolRoute(view: Routed, name: string, naming: string): ToolRoute {
  const { toolRoutes } = view.table;
  const route = toolRoutes.get(name);
  if (route !== undefined) return route;
  const down = downOwner(view, name, naming);
  if (down !== undefined) throw down;
  const hint = didYouMean(name, toolRoutes.keys());
  throw new PortolanError("TOOL_NOT_FOUND", `no server here has a tool "${name}"`, { tool: name, hint });
}

export function promptRoute({ table: { promptRoutes } }: Routed, name: string): PromptRoute {
  const route = promptRoutes.get(name);
  if (route !== undefined) return route;
  throw new PortolanError("PROMPT_NOT_FOUND", `no server here has a prompt "${name}"`, {
    hint: didYouMean(name, promptRoutes.keys()),
  });
}

/** Whose resource this is: by the lists, by the templates, or because only one server has resources at all. */
export function ownerOf(view: Routed, uri: string): Member {
  const { resourceRoutes, templateRoutes } = view.table;
  const found =
    resourceRoutes.get(uri) ??
    templateRoutes.find(({ template, matches }) => template === uri || matches(uri))?.member;
  if (found !== undefined) return found;
  const having = view.members.filter(({ inventory }) => inventory.capabilities.resources !== undefined);
  if (having.length === 1) return having[0] as Member;
  throw new PortolanError("RESOURCE_NOT_FOUND", `no server here is known to have ${uri.slice(0, 200)}`, {
    data: { uri },
  });
}

/** Why the server is not there that a name can only be of; its tools may never have been seen. */
function downOwner({ members }: Routed, name: string, naming: string): PortolanError | undefined {
  for (const member of members) {
    const prefix = naming.slice(0, naming.indexOf("{tool}")).replaceAll("{alias}", member.alias);
    if (prefix.includes(member.alias) && name.startsWith(prefix) && member.unavailable !== undefined)
      return member.unavailable;
  }
  return undefined;
}
