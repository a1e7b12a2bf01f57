// A package that may be added: found in a registry or a file, with everything that a decision about it needs.

import { relative, resolve } from "node:path";
import { isHttpUrl } from "../../base/net/urls.ts";
import { shellWord } from "../../base/text/command-line.ts";
import { integrityOf, parseIntegrity, toSri } from "../../base/text/integrity.ts";
import { PortolanError } from "../../errors/index.ts";
import type { PackageReference } from "../../model/index.ts";
import {
  checkNpmOrigin,
  checkOrigin,
  contractsOf,
  loadTrust,
  type LockedPackage,
  type OriginCheck,
  readBundle,
  toNpmProgram,
  toPackageSource,
} from "../../packages/index.ts";
import {
  type Advisory,
  findLookAlikes,
  openRegistries,
  type RegistryClient,
  scopeOf,
} from "../../registry/index.ts";
import type { Cli } from "../context.ts";
import { clientOptions, type RawRegistryOptions, registriesOf } from "../registry/options.ts";
import type { PackageSettings } from "../registry/settings.ts";
import { factsOf, factsOfManifest, type PackageFacts } from "./facts.ts";
import { findOfficialPackage } from "./official/candidate.ts";

export interface Candidate {
  readonly reference: PackageReference;
  readonly facts: PackageFacts;
  /** Undefined if the source of the package has no advisories: a bundle, or the official registry. */
  readonly advisories?: readonly Advisory[];
  readonly origin: OriginCheck;
  /** An older scope that the scope of the package looks like. */
  readonly looksLike?: string;
  /** The metadata document, which the store keeps under its hash. */
  readonly document: Uint8Array;
  /** The entry for the lock file, without the permissions and the date, which the approval adds. */
  readonly locked: Pick<
    LockedPackage,
    "name" | "version" | "source" | "integrity" | "metadata" | "registry" | "contracts"
  >;
  readonly registry?: RegistryClient;
  /** The version with the tag latest, which the reference may exclude. */
  readonly newest?: string;
}

export interface FindContext {
  readonly cli: Cli;
  readonly settings: PackageSettings;
  readonly raw: RawRegistryOptions;
  /** The kind of package of a server with several. */
  readonly from?: string;
  /** The name of a new server. */
  readonly alias?: string;
}

export async function findCandidate(reference: PackageReference, context: FindContext): Promise<Candidate> {
  switch (reference.kind) {
    case "package":
      return findInRegistries(reference, context);
    case "mcpb":
      return readFile(reference, context);
    case "official":
      return findOfficialPackage(reference, context);
  }
}

async function findInRegistries(
  reference: PackageReference & { readonly kind: "package" },
  { cli, settings, raw, alias }: FindContext,
): Promise<Candidate> {
  const { name, range } = reference;
  const all = registriesOf(cli, raw, settings);
  const named = all.filter(({ api }) => api !== "official");
  if (named.length === 0)
    throw new PortolanError("USAGE", all.length === 0 ? "No registry was given." : onlyOfficial(name), {
      hint: `Name a Portolan registry: with --registry https://registry.example.com, in the environment variable PORTOLAN_REGISTRY, or under registries in portolan.yaml.${alias === undefined ? "" : ` For a package of npm: portolan add ${alias} ${shellWord(`npm:${name}${range === undefined ? "" : `@${range}`}`)}`}`,
    });
  const registries = openRegistries(named, await clientOptions(cli, settings));
  const registry = await firstWith(name, registries.registriesFor(name));
  // Without any, this throws an error with the nearest name.
  const found = await (registry ?? registries).find(name, range);
  const index = await registry?.index();
  const source = toPackageSource(found.metadata);
  const first = parseIntegrity(found.metadata.source.hash ?? source.integrity);
  const trust = await loadTrust(settings.policy.trust ?? {}, settings.folder);
  const { env } = cli.io;
  const facts = factsOf(found);
  const { repository } = facts;
  return {
    ...{ reference, facts },
    advisories: found.advisories,
    origin:
      source.type === "npm"
        ? await checkNpmOrigin(toNpmProgram(source), { trust, repository, env, signal: cli.interrupt.signal })
        : await checkOrigin({ kind: "plain" }, { trust }),
    looksLike: index && findLookAlikes(index).get(scopeOf(name) ?? ""),
    document: found.document,
    locked: {
      ...{ name, version: found.version },
      // The same on every platform: the file that the metadata names first.
      source: found.metadata.source.url ?? source.url,
      integrity: first === undefined ? source.integrity : toSri(first),
      metadata: toSri(integrityOf(found.document)),
      registry: found.registry,
      contracts: contractsOf(found.metadata),
    },
    registry,
    newest: found.package.tags["latest"],
  };
}

function onlyOfficial(name: string): string {
  return `All registries in portolan.yaml have api: official, and ${name} is a package of a Portolan registry.`;
}

/** The hash of the file is what the person approves; only its signed part is read. */
async function readFile(
  { location }: PackageReference & { readonly kind: "mcpb" },
  { cli, settings: { folder, policy }, alias }: FindContext,
): Promise<Candidate> {
  // portolan.yaml has the path relative to its own folder; the command line, relative to the folder of the terminal.
  const base = alias === undefined ? folder : cli.io.cwd;
  const path = isHttpUrl(location) ? location : relative(folder, resolve(base, location));
  const written = isHttpUrl(location) || /^\.{0,2}[/\\]/.test(path) ? path : `./${path}`;
  const trust = await loadTrust(policy.trust ?? {}, folder);
  const { manifest, document, integrity, size, signature } = await readBundle(written, {
    ...{ folder, trusted: trust.certificates, signal: cli.interrupt.signal },
  });
  return {
    reference: { kind: "mcpb", location: written },
    facts: factsOfManifest(manifest, written, size),
    origin: await checkOrigin({ kind: "mcpb", signature }, { trust }),
    document,
    locked: {
      ...{ name: manifest.name, version: manifest.version, source: `mcpb:${written}`, integrity },
      metadata: toSri(integrityOf(document)),
    },
  };
}

async function firstWith(
  name: string,
  candidates: readonly RegistryClient[],
): Promise<RegistryClient | undefined> {
  for (const registry of candidates) if (await registry.has(name)) return registry;
  return undefined;
}
