// Secrets that a workspace needs, for its servers, callers and registries: where, and whether each has a value. Values are never shown.

import { access, constants } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { isPortolanError } from "../../errors/index.ts";
import {
  type ConfiguredEndpoint,
  type GatewaySettings,
  type ServerConfig,
  type InvokedServer,
  parseReferences,
  type Reference,
  type RegistrySetting,
} from "../../model/index.ts";
import { type SecretStore, type SourceName, textsOf } from "../../secrets/index.ts";
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
  /** `server` is `gateway` for callers and telemetry, and the address of a registry for its token. */
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

/** The parts of a workspace that may refer to secrets. */
export interface NeedingConfig {
  readonly servers: readonly ServerConfig[];
  readonly gateway?: GatewaySettings;
  readonly registries?: readonly RegistrySetting[];
  readonly folder?: string;
}

/** Sorted by name. Disabled servers need nothing. */
export async function findNeeds(
  config: NeedingConfig,
  store: Pick<SecretStore, "get">,
): Promise<SecretNeed[]> {
  const groups = new Map<string, Found[]>();
  const used = config.servers.filter(({ enabled }) => enabled);
  const texts = await Promise.all(used.map(({ endpoint }) => textsOfServer(endpoint)));
  const ofServers = used.flatMap(({ alias, origin }, index) =>
    referencesOf(alias, origin.file, texts[index] ?? []),
  );
  for (const found of [...ofServers, ...ofWorkspace(config), ...(await ofDrivers(used))]) {
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

function referencesOf(owner: string, file: string, texts: readonly PlacedText[]): Found[] {
  return texts.flatMap(({ where, text }) =>
    parseReferences(text).parts.flatMap((part) =>
      part.kind === "text" ? [] : [{ reference: part, owner, file, where }],
    ),
  );
}

/** Tokens of callers and registries, and what the gateway sends to others. */
function ofWorkspace({ gateway = {}, registries = [], folder = "." }: NeedingConfig): Found[] {
  const file = join(folder, "portolan.yaml");
  const { callers = [], oauth, telemetry } = gateway;
  const placed = (where: string, text: string | undefined): PlacedText[] =>
    text === undefined ? [] : [{ where, text }];
  const ofGateway = [
    ...callers.flatMap(({ name, token }) =>
      [token ?? []].flat().flatMap((text) => placed(`token of caller ${name}`, text)),
    ),
    ...placed("oauth.client_secret", oauth?.clientSecret),
    ...Object.entries(telemetry?.headers ?? {}).flatMap(([name, text]) =>
      placed(`telemetry.headers.${name}`, text),
    ),
  ];
  return [
    ...referencesOf("gateway", file, ofGateway),
    ...registries.flatMap(({ url, token }) => referencesOf(url, file, placed("token", token))),
  ];
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

async function textsOfServer(endpoint: ConfiguredEndpoint): Promise<readonly PlacedText[]> {
  if (endpoint.transport === "invoke") return invokedTexts(endpoint.server);
  // `ofDrivers` finds the secrets of drivers, with their grants.
  return endpoint.transport === "contracts" ? [] : textsOf(endpoint);
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
