// Facts about a package for the person who decides about it, the same for every format of metadata.

import { mcpbConfiguration, type McpbManifest } from "../../formats/mcpb/index.ts";
import { type PackageMetadata, variableOf } from "../../formats/package/index.ts";
import { type Contract, isObject, type JsonObject } from "../../model/index.ts";
import { readDriverFiles } from "../../packages/index.ts";
import type { FoundPackage } from "../../registry/index.ts";

export interface PackageFacts {
  readonly name: string;
  readonly version: string;
  readonly description: string;
  readonly author: { readonly name: string; readonly email?: string; readonly url?: string };
  readonly license?: string;
  readonly homepage?: string;
  readonly repository?: string;
  readonly registry?: string;
  readonly publishedAt?: string;
  /** Why the version is deprecated. */
  readonly deprecated?: string;
  readonly source: { readonly kind: string; readonly url: string; readonly size?: number };
  /** Undefined for a format that declares no permissions: the server gets none. */
  readonly permissions?: readonly string[];
  readonly sandbox?: { readonly required?: boolean; readonly type?: string };
  readonly audit?: { readonly reviewer?: string; readonly lastReviewed?: string; readonly report?: string };
  /** Undefined for a format that does not list them. */
  readonly tools?: readonly { readonly name: string; readonly description?: string }[];
  /** The contracts that its driver serves; undefined for a package without a driver. */
  readonly contracts?: readonly Contract[];
  readonly settings: readonly Setting[];
  /** Where it runs, if not as a program of this machine. */
  readonly place?: "container" | "remote";
  /** The program that fetches and starts it. */
  readonly launcher?: "uvx";
}

/** One setting that the server gets as an environment variable. */
export interface Setting {
  readonly key: string;
  readonly variable: string;
  readonly schema: JsonObject;
  readonly secret: boolean;
  readonly required: boolean;
  readonly description?: string;
  /** A list is a JSON array in the variable, and not a text with commas. */
  readonly isJsonList?: boolean;
}

export function factsOf({
  name,
  version,
  registry,
  entry,
  metadata,
}: Pick<FoundPackage, "name" | "version" | "registry" | "entry" | "metadata">): PackageFacts {
  return {
    ...factsOfMetadata(metadata),
    ...{ name, version, registry, publishedAt: entry.publishedAt },
    deprecated: entry.status === "deprecated" ? (entry.message ?? "") : undefined,
  };
}

/** A bundle declares no permissions, so it gets none but those that a person grants. */
export function factsOfManifest(manifest: McpbManifest, location: string, size?: number): PackageFacts {
  const { name, version, description, author, license, homepage, repository, tools, toolsGenerated } =
    manifest;
  const configuration = mcpbConfiguration(manifest);
  return {
    ...{ name, version, description, license, homepage },
    author: { name: author.name, email: author.email, url: author.url },
    repository: repository?.url,
    source: { kind: "mcpb", url: location, size },
    tools: toolsGenerated === true ? undefined : tools,
    settings: settingsOf(configuration?.schema, configuration?.env).map((setting) => ({
      ...setting,
      isJsonList: true,
    })),
  };
}

export function factsOfMetadata(metadata: PackageMetadata): PackageFacts {
  const { author, source, security, mcp, metadata: more } = metadata;
  return {
    name: metadata.name,
    version: metadata.version,
    description: metadata.description,
    author: {
      name: author.name,
      email: author.email,
      url: author.url ?? (author.github === undefined ? undefined : `https://github.com/${author.github}`),
    },
    license: more.license,
    homepage: more.homepage,
    repository: more.repository,
    publishedAt: more.publishedAt,
    source: { kind: source.type ?? "", url: source.url ?? "", size: source.size },
    permissions: security.permissions ?? [],
    sandbox: security.sandbox,
    audit: security.audit,
    tools: mcp.capabilities?.tools?.map((tool) => ({ name: tool.name, description: tool.description })),
    contracts: readDriverFiles(metadata)?.contracts,
    settings: settingsOf(mcp.configuration?.schema, mcp.configuration?.env),
  };
}

/** The settings of a JSON Schema, in its order. */
export function settingsOf(schema: unknown, env: Readonly<Record<string, string>> = {}): Setting[] {
  if (!isObject(schema) || !isObject(schema.properties)) return [];
  const required = new Set(Array.isArray(schema.required) ? schema.required : []);
  return Object.entries(schema.properties).map(([key, property]) => {
    const own = isObject(property) ? property : {};
    return {
      key,
      variable: variableOf(key, env),
      schema: own,
      secret: own.secret === true,
      required: required.has(key),
      description: typeof own.description === "string" ? own.description : undefined,
    };
  });
}
