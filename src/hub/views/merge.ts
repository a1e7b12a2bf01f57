// Merges the inventories of the members of a view: renames, filters, sorts, and builds the routing tables.

import type { Diagnostic } from "../../errors/index.ts";
import {
  isVisibleTo,
  type JsonObject,
  type PromptDefinition,
  type ResourceDefinition,
  type ResourceTemplateDefinition,
  type ServerConfig,
  type ToolAnnotations,
  type ToolDefinition,
} from "../../model/index.ts";
import { shownSurfaces } from "./driver-surfaces.ts";
import type { Inventory } from "../member/inventory.ts";
import type { Member } from "../member/member.ts";
import { hubName, isAllowedTool, type Naming, promptName } from "./naming.ts";
import { extraTools, loginTool, type ToolAction } from "./extra-tools.ts";
import { parseUriTemplate, type UriTemplate } from "./uri-templates.ts";

export interface ToolRoute {
  readonly member: Member;
  /** The server's own name for the tool. */
  readonly own: string;
  readonly action: ToolAction;
  readonly annotations: ToolAnnotations | undefined;
}

export interface PromptRoute {
  readonly member: Member;
  readonly name: string;
}

export interface TemplateRoute {
  readonly member: Member;
  readonly uris: UriTemplate;
  /** True for URIs that the view hides although the template covers them. */
  readonly hides: ((uri: string) => boolean) | undefined;
}

export interface Merged {
  readonly tools: readonly ToolDefinition[];
  readonly toolRoutes: ReadonlyMap<string, ToolRoute>;
  /** Tools that are not offered, because nobody approved their definition. */
  readonly withheld: ReadonlyMap<string, Pick<ToolRoute, "member" | "own">>;
  readonly prompts: readonly PromptDefinition[];
  readonly promptRoutes: ReadonlyMap<string, PromptRoute>;
  readonly resources: readonly ResourceDefinition[];
  /** All servers that list a URI. With more than one, it is not among the resources. */
  readonly resourceRoutes: ReadonlyMap<string, readonly Member[]>;
  readonly templates: readonly ResourceTemplateDefinition[];
  readonly templateRoutes: readonly TemplateRoute[];
  /** True when only listed resources can be read, because a server hides some and a caller could guess their URIs. */
  readonly onlyListed: boolean;
  readonly diagnostics: readonly Diagnostic[];
}

/** A tool, as the access rules of a view see it. */
export interface ViewTool {
  readonly name: string;
  /** The server's own name for it. */
  readonly own: string;
  readonly alias: string;
  readonly tags: readonly string[];
  /** Further tags that it has with some of the drivers that may serve it. */
  readonly possibleTags?: readonly string[];
  readonly annotations: ToolAnnotations | undefined;
}

/** The rules of one view. */
export interface MergeView {
  readonly admits?: (tool: ViewTool) => boolean;
  /** Results of servers with a size limit may be cut, so that they do not match the output schema. */
  readonly cutsResults?: boolean;
  /** A server whose tools are unknown without a login is shown with a tool that logs in. */
  readonly offersLogins?: boolean;
  /** Includes the tools that only apps may call. */
  readonly appTools?: boolean;
  /** Tools of earlier merges of the same view with the same settings, which are used again for unchanged members. */
  readonly kept?: WeakMap<Member, KeptTools>;
}

/** The tools of a member as a view shows them, and everything that they depend on beside the view and the settings. */
export interface KeptTools {
  readonly config: ServerConfig;
  readonly inventory: Inventory;
  readonly offersLogin: boolean;
  readonly tools: readonly NamedTool[];
}

export interface MergeSettings {
  readonly naming: Naming;
  readonly descriptionPrefix: boolean | string;
}

export function merge(members: Iterable<Member>, settings: MergeSettings, view: MergeView = {}): Merged {
  const enabled = [...members]
    .filter((member) => member.config.enabled)
    .toSorted((a, b) => compare(a.alias, b.alias));
  const shown = enabled.map((member) => ({ member, ...shownSurfaces(member, settings.naming, view.admits) }));
  const diagnostics: Diagnostic[] = [];
  const all = enabled.flatMap((member) => toolsOf(member, settings, view));
  const isWithheld = ({ route: { member, own } }: NamedTool): boolean => member.pins.isWithheld(own);
  const tools = unambiguous(
    "tool",
    all.filter((one) => !isWithheld(one)),
    diagnostics,
  );
  const prompts = unambiguous(
    "prompt",
    shown.flatMap(({ member, prompts: own }) => promptsOf(member, own, settings)),
    diagnostics,
  );
  const resources = unshared(
    "resources",
    shown.flatMap(({ member, resources: own }) =>
      own.map((definition) => ({ member, uri: definition.uri, definition })),
    ),
    diagnostics,
  );
  const templates = unshared(
    "resource templates",
    shown.flatMap(({ member, templates: own }) =>
      own.map((definition) => ({ member, uri: definition.uriTemplate, definition })),
    ),
    diagnostics,
  );
  return {
    tools: tools.map(({ definition }) => definition),
    toolRoutes: new Map(tools.map(({ definition, route }) => [definition.name, route])),
    withheld: new Map(all.filter(isWithheld).map(({ definition, route }) => [definition.name, route])),
    prompts: prompts.map(({ definition }) => definition),
    promptRoutes: new Map(prompts.map(({ definition, route }) => [definition.name, route])),
    resources: resources.listed,
    resourceRoutes: resources.owners,
    templates: templates.listed,
    templateRoutes: shown.flatMap(({ member, hides, templates: own }) =>
      own.map(({ uriTemplate }) => ({ member, hides, uris: parseUriTemplate(uriTemplate) })),
    ),
    onlyListed: shown.some(({ hides }) => hides !== undefined),
    diagnostics,
  };
}

interface Named<D, R> {
  readonly definition: D;
  readonly route: R;
  readonly from: string;
}

type NamedTool = Named<ToolDefinition, ToolRoute>;

function toolsOf(member: Member, settings: MergeSettings, view: MergeView): readonly NamedTool[] {
  const { config, inventory } = member;
  const offersLogin = view.offersLogins === true && member.isPerCaller && member.needsLogin;
  const kept = view.kept?.get(member);
  if (kept?.inventory === inventory && kept.config === config && kept.offersLogin === offersLogin)
    return kept.tools;
  const tools = nameTools(member, settings, view, offersLogin);
  view.kept?.set(member, { config, inventory, offersLogin, tools });
  return tools;
}

function nameTools(
  member: Member,
  settings: MergeSettings,
  { admits, cutsResults, appTools }: MergeView,
  offersLogin: boolean,
): readonly NamedTool[] {
  const { alias, config, inventory } = member;
  const isCut = cutsResults === true && (config.maxResultBytes ?? 0) > 0;
  const allowed = inventory.tools
    .filter((tool) => isAllowedTool(config, tool.name) && (appTools === true || isVisibleTo("model", tool)))
    .map((tool) => (isCut ? withoutOutputSchema(tool) : tool));
  const own = allowed.map((tool) => ({ tool, action: { kind: "call", name: tool.name } as const }));
  const prefix = descriptionPrefix(config.descriptionPrefix ?? settings.descriptionPrefix, alias);
  const logins = offersLogin ? [loginTool(alias)] : [];
  const named = [...own, ...extraTools(member), ...logins].map(({ tool, action }) => ({
    tool,
    action,
    name: hubName(settings.naming, config, tool.name),
  }));
  const admitted =
    admits === undefined
      ? named
      : named.filter(
          ({ tool, name, action }) =>
            // A caller that may use any tool of the server may log in there.
            action.kind === "login" ||
            admits({
              name,
              own: tool.name,
              alias,
              ...member.tagsOf(tool.name),
              annotations: tool.annotations,
            }),
        );
  return admitted.map(({ tool, action, name }) => ({
    definition: {
      ...tool,
      name,
      ...(prefix === "" ? {} : { description: `${prefix}${tool.description ?? ""}`.trimEnd() }),
    },
    route: { member, own: tool.name, action, annotations: tool.annotations },
    from: `${alias}.${tool.name}`,
  }));
}

function promptsOf(
  member: Member,
  prompts: readonly PromptDefinition[],
  { naming }: MergeSettings,
): Named<PromptDefinition, PromptRoute>[] {
  return prompts.map((prompt) => ({
    definition: { ...prompt, name: promptName(naming, member.config, prompt.name) },
    route: { member, name: prompt.name },
    from: `${member.alias}.${prompt.name}`,
  }));
}

function withoutOutputSchema({ outputSchema: _dropped, ...tool }: ToolDefinition): ToolDefinition {
  return tool;
}

function descriptionPrefix(wanted: boolean | string, alias: string): string {
  if (wanted === false || wanted === "") return "";
  return wanted === true ? `[MCP: ${alias}] ` : `${wanted.replaceAll("{alias}", alias)} `;
}

/** Sorted by name. A name of two tools is left out, so that a caller never reaches the wrong server. */
function unambiguous<D extends JsonObject & { name: string }, R>(
  kind: string,
  named: readonly Named<D, R>[],
  diagnostics: Diagnostic[],
): Named<D, R>[] {
  const groups = new Map<string, Named<D, R>[]>();
  for (const one of named) {
    const group = groups.get(one.definition.name);
    if (group === undefined) groups.set(one.definition.name, [one]);
    else group.push(one);
  }
  const kept: Named<D, R>[] = [];
  for (const [name, group] of groups) {
    if (group.length === 1) {
      kept.push(group[0] as Named<D, R>);
      continue;
    }
    const message = `${kind} "${name}" is left out: ${listOf(group.map(({ from }) => from))} would ${allOf(group)} have this name`;
    diagnostics.push({ code: "NAME_AMBIGUOUS", severity: "error", message });
  }
  return kept.toSorted((a, b) => compare(a.definition.name, b.definition.name));
}

const SHARED_HINT =
  "To read one of them, choose one server. On a workspace in a program: readResource(uri, { server }). In a terminal: portolan read <server> <uri>. A client of the gateway connects to /servers/<server>/mcp over HTTP instead of /mcp.";

interface Addressed<D> {
  readonly member: Member;
  readonly uri: string;
  readonly definition: D;
}

/**
 * Sorted by URI, with the servers that list each. A URI of several servers is left out: it is unclear which one is meant,
 * and one server must not answer for another.
 */
function unshared<D>(
  kind: string,
  all: readonly Addressed<D>[],
  diagnostics: Diagnostic[],
): { listed: D[]; owners: Map<string, readonly Member[]> } {
  const owners = new Map<string, Member[]>();
  for (const { uri, member } of all) {
    const known = owners.get(uri);
    if (known === undefined) owners.set(uri, [member]);
    else if (!known.includes(member)) known.push(member);
  }
  const shared = new Map<string, string[]>();
  for (const [uri, members] of owners) {
    if (members.length === 1) continue;
    const who = `${listOf(members.map(({ alias }) => alias))} ${allOf(members)}`;
    const uris = shared.get(who);
    if (uris === undefined) shared.set(who, [uri]);
    else uris.push(uri);
  }
  for (const [who, uris] of shared) {
    const some = uris.slice(0, 3).map((uri) => uri.slice(0, 200));
    const more = uris.length > some.length ? ` and ${uris.length - some.length} more` : "";
    diagnostics.push({
      code: "NAME_AMBIGUOUS",
      severity: "warning",
      message: `these ${kind} are left out of the list because ${who} have them: ${some.join(", ")}${more}`,
      // Once for resources and templates of all servers.
      ...(diagnostics.some(({ hint }) => hint === SHARED_HINT) ? {} : { hint: SHARED_HINT }),
    });
  }
  const seen = new Set<string>();
  const listed = all.filter(({ uri }) => {
    const isFirst = owners.get(uri)?.length === 1 && !seen.has(uri);
    seen.add(uri);
    return isFirst;
  });
  return {
    listed: listed.toSorted((a, b) => compare(a.uri, b.uri)).map(({ definition }) => definition),
    owners,
  };
}

/** `a, b and c` */
function listOf(names: readonly string[]): string {
  return new Intl.ListFormat("en-GB").format(names);
}

function allOf({ length }: readonly unknown[]): "both" | "all" {
  return length === 2 ? "both" : "all";
}

/** Compares code units, so that the order does not depend on the locale. */
function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
