// Routing in a view: finds the server of a tool, prompt or resource, or explains why there is none.

import { PortolanError, unknownPrompt, unknownTool } from "../../errors/index.ts";
import { appUriOf } from "../../model/index.ts";
import { EMPTY } from "../member/inventory.ts";
import type { Member } from "../member/member.ts";
import { withheldError } from "../pins/pin-state.ts";
import type { Merged, PromptRoute, TemplateRoute, ToolRoute } from "./merge.ts";
import type { Call } from "../../upstream/index.ts";
import { exposedPart, hubName, type Naming, promptName } from "./naming.ts";
import { narrowest } from "./uri-templates.ts";

/** The part of a view that routing reads. */
interface Routed {
  readonly table: Merged;
  readonly members: readonly Member[];
  /** The servers to which a tool can belong that no server lists. Default: the members of the view. */
  toolOwners?(name: string): readonly Member[];
}

export function toolRoute(view: Routed, name: string, naming: Naming): ToolRoute {
  const { toolRoutes, withheld } = view.table;
  const route = toolRoutes.get(name);
  if (route !== undefined) return route;
  const held = withheld.get(name);
  if (held !== undefined) throw withheldError(held.member.alias, held.own, held.member.pins.state);
  const down = downOwner({ members: view.toolOwners?.(name) ?? view.members }, name, naming);
  if (down !== undefined) throw down;
  throw unknownTool({ server: onlyOwner(view, name, naming), name, known: toolRoutes.keys() });
}

export function promptRoute(view: Routed, name: string, naming: Naming): PromptRoute {
  const { promptRoutes } = view.table;
  const route = promptRoutes.get(name);
  if (route !== undefined) return route;
  const down = downOwner(view, name, naming);
  if (down !== undefined) throw down;
  throw unknownPrompt({ server: onlyOwner(view, name, naming), name, known: promptRoutes.keys() });
}

/** The tool, prompt or resource that a request names, as its own server names it. */
export interface Hidden {
  readonly member: Member;
  readonly own: string;
}

/** Finds what a request names among all servers, also those that the view hides. Only for records: the caller must not learn it. */
export function findHidden(
  members: readonly Member[],
  { method, params }: Pick<Call, "method" | "params">,
  naming: Naming,
): Hidden | undefined {
  for (const member of members) {
    const { config, inventory } = member;
    const owns: readonly string[] = config.enabled ? namesIn(inventory, method) : [];
    const nameOf = method === "prompts/get" ? promptName : method === "tools/call" ? hubName : undefined;
    const wanted = nameOf === undefined ? params?.uri : params?.name;
    const own = owns.find((one) => (nameOf?.(naming, config, one) ?? one) === wanted);
    if (own !== undefined) return { member, own };
  }
  return undefined;
}

function namesIn({ tools, prompts, resources }: Member["inventory"], method: string): string[] {
  if (method === "tools/call") return tools.map(({ name }) => name);
  if (method === "prompts/get") return prompts.map(({ name }) => name);
  return method === "resources/read" ? resources.map(({ uri }) => uri) : [];
}

/** The only server of the view, if the name can belong to it. */
function onlyOwner({ members }: Routed, name: string, naming: Naming): string | undefined {
  return members.length === 1 ? possibleOwners(members, name, naming)[0]?.alias : undefined;
}

/** The server of a resource: by the lists, by the narrowest template, or because no other server has resources. */
export function ownerOf(view: Routed, uri: string): Member {
  const { resourceRoutes, templateRoutes, onlyListed } = view.table;
  const listed =
    resourceRoutes.get(uri) ?? membersOf(templateRoutes.filter(({ uris }) => uris.template === uri));
  if (listed.length > 0) return onlyOne(listed, uri);
  const shown = templateRoutes.filter(({ hides }) => hides?.(uri) !== true);
  const covering = shown.filter(({ uris }) => uris.covers(uri));
  const routes = covering.length > 0 ? covering : shown.filter(({ uris }) => uris.mayCover(uri));
  if (routes.length > 0) return onlyOne(membersOf(narrowest(routes)), uri);
  const apps = view.members.filter(
    ({ config, inventory }) => config.enabled && inventory.tools.some((tool) => appUriOf(tool) === uri),
  );
  // A server may leave the resources of its apps out of the list.
  if (apps.length > 0) return onlyOne(apps, uri);
  const having = view.members.filter(
    ({ config, inventory }) =>
      config.enabled && (inventory.capabilities.resources !== undefined || inventory === EMPTY),
  );
  // A server whose lists are unknown may have the resource too.
  if (!onlyListed && having.length === 1 && having[0]?.inventory !== EMPTY) return having[0] as Member;
  throw new PortolanError("RESOURCE_NOT_FOUND", `no server lists the resource ${uri.slice(0, 200)}`, {
    data: { uri },
  });
}

function membersOf(routes: readonly TemplateRoute[]): Member[] {
  return [...new Set(routes.map(({ member }) => member))];
}

function onlyOne(members: readonly Member[], uri: string): Member {
  const [member, other] = members;
  if (member !== undefined && other === undefined) return member;
  const aliases = members.map(({ alias }) => alias);
  throw new PortolanError(
    "NAME_AMBIGUOUS",
    `more than one server has ${uri.slice(0, 200)}: ${aliases.join(" and ")}`,
    {
      hint: `Choose one server. On a workspace in a program: readResource(uri, { server: ${JSON.stringify(member?.alias)} }). In a terminal: portolan read ${member?.alias} <uri>. A client of the gateway connects to /servers/${member?.alias}/mcp over HTTP instead of /mcp; at this address, it can also subscribe and complete.`,
      data: { uri, servers: aliases },
    },
  );
}

/** The error of the server that is down or disabled to which the name must belong; its tools and prompts may be unknown. */
export function downOwner(
  { members }: Pick<Routed, "members">,
  name: string,
  naming: Naming,
): PortolanError | undefined {
  const owners = possibleOwners(members, name, naming);
  // Commands and rules write alias.tool, so that a caller may do so too.
  const dotted = members.filter(({ alias }) => dottedName(alias, name) !== undefined);
  return [...owners, ...dotted].find(({ unavailable }) => unavailable !== undefined)?.unavailable;
}

/** The own name of a tool that is given as `alias.tool`. */
export function dottedName(alias: string, name: string): string | undefined {
  return name.startsWith(`${alias}.`) ? name.slice(alias.length + 1) : undefined;
}

/**
 * A server to which the name can belong because it has yet to start. While it starts, the list of its last run may lack a new tool.
 */
export function startingOwner(
  { members }: Pick<Routed, "members">,
  name: string,
  naming: Naming,
): Member | undefined {
  return possibleOwners(members, name, naming).find(
    (member) => member.state === "starting" || isStarting(member),
  );
}

/** True for a server that has yet to start, and whose tools and prompts are not known. */
export function isStarting({ state, inventory }: Member): boolean {
  return (state === "starting" || state === "idle") && inventory === EMPTY;
}

/** The servers whose prefix the name has. In the view of a single server, every name belongs to that server. */
function possibleOwners(members: readonly Member[], name: string, naming: Naming): readonly Member[] {
  if (naming === undefined) return members.length === 1 ? members : [];
  return members.filter(({ alias }) => ownNameAt(alias, name, naming) !== undefined);
}

/** The server's own name of a tool that no server lists, by its name in the view; undefined if it cannot belong to this server. */
export function ownNameAt(alias: string, name: string, naming: Naming): string | undefined {
  if (naming === undefined) return name;
  const [start = "", end = ""] = naming.split("{tool}", 2);
  const prefix = exposedPart(start.replaceAll("{alias}", alias));
  if (!start.includes("{alias}") || !name.startsWith(prefix)) return undefined;
  const suffix = exposedPart(end.replaceAll("{alias}", alias));
  return name.slice(prefix.length, name.endsWith(suffix) ? name.length - suffix.length : undefined);
}
