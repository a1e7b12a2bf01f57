// Secrets that the servers of a workspace need: where, and whether each has a value. Values are never shown.

import { access, constants } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { isPortolanError } from "../../errors/index.ts";
import {
  type ConfiguredEndpoint,
  type ServerConfig,
  type InvokedServer,
  parseReferences,
  type Reference,
  type StdioEndpoint,
} from "../../model/index.ts";
import type { SecretStore, SourceName } from "../../secrets/index.ts";
import type { SecretGrantState } from "./driver-secrets.ts";

export interface SecretNeed {
  readonly name: string;
  /** `env`: only the environment is searched; `file`: the name is a path. */
  readonly kind: "name" | "env" | "file";
  readonly state: "set" | "default" | "missing" | "unknown";
  /** The source that has the value. */
  readonly source?: SourceName;
  /** Why the state is unknown. */
  readonly reason?: string;
  readonly neededBy: readonly { readonly server: string; readonly where: string }[];
  /** For drivers: the contracts for which they may use the secret. */
  readonly grants?: readonly SecretGrantState[];
}

/** True when a driver needs the secret and no grant allows it. */
export function isWithheld({ grants = [] }: SecretNeed): boolean {
  const drivers = new Set(grants.map(({ driver }) => driver));
  return [...drivers].some((id) => !grants.some(({ driver, granted }) => driver === id && granted));
}

interface Found {
  readonly reference: Reference;
  /** The server or driver that needs the secret. */
  readonly owner: string;
  readonly file: string;
  readonly where: string;
  /** Other names of the same secret. */
  readonly names?: readonly string[];
  readonly grants?: readonly SecretGrantState[];
}

/** Sorted by name. Disabled servers need nothing. */
export async function findNeeds(
  servers: readonly ServerConfig[],
  store: Pick<SecretStore, "get">,
): Promise<SecretNeed[]> {
  const groups = new Map<string, Found[]>();
  const used = servers.filter(({ enabled }) => enabled);
  const texts = await Promise.all(used.map(({ endpoint }) => textsOf(endpoint)));
  const ofServers = used.flatMap((server, index) => referencesOf(server, texts[index] ?? []));
  for (const found of [...ofServers, ...(await ofDrivers(used))]) {
    const { kind, name } = found.reference;
    const path = kind === "file" ? resolve(dirname(found.file), name) : name;
    const key = `${kind === "secret" ? "any" : kind} ${path}`;
    groups.set(key, [...(groups.get(key) ?? []), found]);
  }
  const needs = await Promise.all([...groups.values()].map((group) => toNeed(group, store)));
  return needs.sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0));
}

async function toNeed(group: readonly Found[], store: Pick<SecretStore, "get">): Promise<SecretNeed> {
  const [{ reference, file }] = group as readonly [Found];
  const { kind, name } = reference;
  const grants = group.flatMap((found) => found.grants ?? []);
  const need = {
    name,
    kind: kind === "env" || kind === "file" ? kind : ("name" as const),
    neededBy: group.map(({ owner, where }) => ({ server: owner, where })),
    ...(grants.length === 0 ? {} : { grants }),
  };
  const without = group.every((found) => found.reference.fallback !== undefined) ? "default" : "missing";
  if (kind === "file") {
    const path = resolve(dirname(file), name);
    const readable = await access(path, constants.R_OK).then(
      () => true,
      () => false,
    );
    return { ...need, state: readable ? "set" : "missing" };
  }
  try {
    for (const one of new Set([name, ...group.flatMap(({ names = [] }) => names)])) {
      const found = await store.get(one, kind === "env" ? { from: "environment" } : {});
      if (found !== undefined) return { ...need, state: "set", source: found.source };
    }
    return { ...need, state: without };
  } catch (thrown) {
    if (!isPortolanError(thrown)) throw thrown;
    return { ...need, state: "unknown", reason: thrown.message };
  }
}

interface PlacedText {
  readonly where: string;
  readonly text: string;
}

function referencesOf({ alias, origin }: ServerConfig, texts: readonly PlacedText[]): Found[] {
  return texts.flatMap(({ where, text }) =>
    parseReferences(text).parts.flatMap((part) =>
      part.kind === "text" ? [] : [{ reference: part, owner: alias, file: origin.file, where }],
    ),
  );
}

async function ofDrivers(servers: readonly ServerConfig[]): Promise<Found[]> {
  const endpoints = servers.flatMap(({ endpoint }) => (endpoint.transport === "contracts" ? [endpoint] : []));
  if (endpoints.length === 0) return [];
  const { driverSecrets } = await import("./driver-secrets.ts");
  return endpoints.flatMap(driverSecrets).map(({ driver, name, where, names, grants }) => ({
    reference: { kind: "secret", name },
    owner: driver.id,
    file: driver.origin.file,
    where,
    names,
    grants,
  }));
}

/** The texts in which references are replaced; a command and its folder are literal. */
async function textsOf(endpoint: ConfiguredEndpoint): Promise<PlacedText[]> {
  const named = (field: string, map: Readonly<Record<string, string>> = {}): PlacedText[] =>
    Object.entries(map).map(([name, text]) => ({ where: `${field}.${name}`, text }));
  if (endpoint.transport === "invoke") return invokedTexts(endpoint.server);
  // `ofDrivers` finds the secrets of drivers, with their grants.
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

/** Each name once per server, with the first operation that needs it: a whole API may need one token. */
async function invokedTexts(server: InvokedServer): Promise<PlacedText[]> {
  const { envNames } = await import("../../invoke/index.ts");
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
