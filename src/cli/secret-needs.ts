// Which names the servers of a workspace need, where, and whether each has a value. Values are looked up, never shown.

import { access, constants } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { isPortolanError } from "../errors/index.ts";
import type { DeclaredEndpoint, DeclaredServer, InvokedServer, StdioEndpoint } from "../model/index.ts";
import { parseReferences, type Reference, type SecretStore, type SourceName } from "../secrets/index.ts";

export interface SecretNeed {
  readonly name: string;
  /** `env`: only the environment counts; `file`: the name is a path. */
  readonly kind: "name" | "env" | "file";
  readonly state: "set" | "default" | "missing" | "unknown";
  /** Which source has it. */
  readonly source?: SourceName | undefined;
  /** Why the state is unknown. */
  readonly reason?: string | undefined;
  readonly neededBy: readonly { readonly server: string; readonly where: string }[];
}

interface Found {
  readonly reference: Reference;
  readonly server: DeclaredServer;
  readonly where: string;
}

/** Sorted by name. Servers that are switched off need nothing. */
export async function findNeeds(
  servers: readonly DeclaredServer[],
  store: Pick<SecretStore, "get">,
): Promise<SecretNeed[]> {
  const groups = new Map<string, Found[]>();
  const used = servers.filter(({ enabled }) => enabled);
  const texts = await Promise.all(used.map(({ endpoint }) => textsOf(endpoint)));
  for (const found of used.flatMap((server, index) => referencesOf(server, texts[index] ?? []))) {
    const { kind, name } = found.reference;
    const path = kind === "file" ? resolve(dirname(found.server.origin.file), name) : name;
    const key = `${kind === "secret" ? "any" : kind} ${path}`;
    groups.set(key, [...(groups.get(key) ?? []), found]);
  }
  const needs = await Promise.all([...groups.values()].map((group) => toNeed(group, store)));
  return needs.sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0));
}

async function toNeed(group: readonly Found[], store: Pick<SecretStore, "get">): Promise<SecretNeed> {
  const [{ reference, server }] = group as readonly [Found];
  const { kind, name } = reference;
  const need = {
    name,
    kind: kind === "env" || kind === "file" ? kind : ("name" as const),
    neededBy: group.map((found) => ({ server: found.server.alias, where: found.where })),
  };
  const without = group.every((found) => found.reference.fallback !== undefined) ? "default" : "missing";
  if (kind === "file") {
    const path = resolve(dirname(server.origin.file), name);
    const readable = await access(path, constants.R_OK).then(
      () => true,
      () => false,
    );
    return { ...need, state: readable ? "set" : "missing" };
  }
  try {
    const found = await store.get(name, kind === "env" ? { from: "environment" } : {});
    return found === undefined
      ? { ...need, state: without }
      : { ...need, state: "set", source: found.source };
  } catch (thrown) {
    if (!isPortolanError(thrown)) throw thrown;
    return { ...need, state: "unknown", reason: thrown.message };
  }
}

interface PlacedText {
  readonly where: string;
  readonly text: string;
}

function referencesOf(server: DeclaredServer, texts: readonly PlacedText[]): Found[] {
  return texts.flatMap(({ where, text }) =>
    parseReferences(text).parts.flatMap((part) =>
      part.kind === "text" ? [] : [{ reference: part, server, where }],
    ),
  );
}

/** Where references count: a command and its folder are taken as they stand. */
async function textsOf(endpoint: DeclaredEndpoint): Promise<PlacedText[]> {
  const named = (field: string, map: Readonly<Record<string, string>> = {}): PlacedText[] =>
    Object.entries(map).map(([name, text]) => ({ where: `${field}.${name}`, text }));
  if (endpoint.transport === "invoke") return invokedTexts(endpoint.server);
  // Those of drivers are in their own inventory, with who may have them.
  if (endpoint.transport === "contracts") return [];
  const ofProgram = ({ args = [], env }: Omit<StdioEndpoint, "transport">): PlacedText[] => [
    ...args.map((text, index) => ({ where: `args[${index}]`, text })),
    ...named("env", env),
  ];
  if (endpoint.transport === "stdio") return ofProgram(endpoint);
  return [
    { where: "url", text: endpoint.url },
    ...named("headers", endpoint.headers),
    ...(endpoint.program === undefined ? [] : ofProgram(endpoint.program)),
  ];
}

/** Each name once for a server, with the first thing that needs it: a whole API may need one token. */
async function invokedTexts(server: InvokedServer): Promise<PlacedText[]> {
  const { envNames } = await import("../invoke/index.ts");
  const users = new Map<string, string[]>();
  const none = { tools: [], prompts: [], resources: [], resourceTemplates: [] };
  for (const kind of ["tools", "prompts", "resources", "resourceTemplates"] as const)
    for (const thing of server[kind])
      for (const name of envNames({ ...server, ...none, [kind]: [thing] }))
        users.set(name, [...(users.get(name) ?? []), thing.definition.name]);
  return [...users].map(([name, [first = "", ...more]]) => ({
    where: more.length === 0 ? first : `${first} and ${more.length} more`,
    text: `\${${name}}`,
  }));
}
