// Several registries in order. A scope that is assigned to registries comes only from them.

import { didYouMean, PortolanError } from "../../errors/index.ts";
import type { SearchOptions, SearchResult } from "../catalog/search.ts";
import { type IndexPackage, scopeOf } from "../catalog/types.ts";
import {
  type FoundPackage,
  openRegistry,
  type RegistryClient,
  type RegistryOptions,
  type RegistrySettings,
} from "./client.ts";

export interface Registries {
  readonly all: readonly RegistryClient[];
  /** The registries that may serve a name, in order. */
  registriesFor(name: string): readonly RegistryClient[];
  /**
   * The package in the first registry that has it. A registry that cannot be reached is an error: a later one might have
   * a foreign package of the same name.
   */
  find(name: string, wanted?: string): Promise<FoundPackage>;
  /** The package with all its versions, also deleted ones. */
  findPackage(name: string): Promise<IndexPackage>;
  /** Results of all registries. A name is shown only for the registry that it would be installed from. */
  search(
    query: string,
    options?: SearchOptions,
  ): Promise<readonly (SearchResult & { readonly registry: string })[]>;
}

/** The error for a package whose scope no registry of portolan.yaml serves. */
export function noRegistryFor(name: string): PortolanError {
  const found = scopeOf(name);
  const scope = found === undefined ? "its scope" : `"@${found}"`;
  return new PortolanError("USAGE", `No registry in portolan.yaml is configured for the scope of ${name}.`, {
    hint: `If a registry in portolan.yaml has this package, add ${scope} to its scopes (not to one with api: official). Or give the URL or folder of the registry that has it: --registry <url or folder>.`,
  });
}

export function openRegistries(settings: readonly RegistrySettings[], options: RegistryOptions): Registries {
  const all = settings.map((one) => openRegistry(one, options));
  const registriesFor = (name: string): readonly RegistryClient[] => {
    const scope = scopeOf(name);
    if (scope === undefined)
      throw new PortolanError(
        "USAGE",
        `${JSON.stringify(name.slice(0, 100))} is not the name of a package.`,
        {
          hint: "Write @user/name in lower case, such as @alice/github-mcp.",
        },
      );
    const own = all.filter(({ settings: { scopes } }) =>
      scopes?.some((one) => one.replace(/^@/, "") === scope),
    );
    return own.length > 0 ? own : all.filter(({ settings: { scopes } }) => scopes === undefined);
  };
  const registryOf = async (name: string): Promise<RegistryClient> => {
    const candidates = registriesFor(name);
    if (candidates.length === 0) throw noRegistryFor(name);
    for (const registry of candidates) if (await registry.has(name)) return registry;
    const names = await Promise.all(candidates.map(async (one) => Object.keys((await one.index()).packages)));
    const [first] = candidates;
    throw new PortolanError(
      "PACKAGE_NOT_FOUND",
      candidates.length === 1
        ? `The registry ${first?.label} has no package ${name}.`
        : `No registry has the package ${name}.`,
      {
        hint: didYouMean(name, names.flat()) ?? "To find the name of a package: portolan search <words>",
        data: { registries: candidates.map(({ label }) => label) },
      },
    );
  };
  return {
    all,
    registriesFor,
    find: async (name, wanted) => (await registryOf(name)).find(name, wanted),
    findPackage: async (name) => {
      const { packages } = await (await registryOf(name)).index();
      return packages[name] as IndexPackage;
    },
    search: async (query, search = {}) => {
      const taken = new Set<string>();
      const results: (SearchResult & { readonly registry: string })[] = [];
      for (const registry of all) {
        const { packages } = await registry.index();
        for (const result of (await registry.search(query, search)).results) {
          const isOwn = registriesFor(result.name).includes(registry);
          if (isOwn && !taken.has(result.name)) results.push({ ...result, registry: registry.label });
        }
        for (const name of Object.keys(packages)) if (registriesFor(name).includes(registry)) taken.add(name);
      }
      return results.sort((a, b) => b.score - a.score).slice(0, search.limit ?? 20);
    },
  };
}
