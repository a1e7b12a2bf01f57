// Conversion of a package to server.json (2025-12-11), the form of the official MCP registry.

import { parseUrl } from "../../base/net/urls.ts";
import { parseIntegrity } from "../../base/text/integrity.ts";
import { type PackageMetadata, variableOf } from "../../formats/package/index.ts";
import { isObject, type JsonObject } from "../../model/index.ts";
import { type IndexVersion, updatedAt } from "../catalog/types.ts";

const SCHEMA = "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json";
const OFFICIAL = "io.modelcontextprotocol.registry/official";
const PUBLISHER = "io.modelcontextprotocol.registry/publisher-provided";
const MAX_DESCRIPTION = 100;

/** Names of the official form have no @: `alice/github-mcp`. */
export function toServerName(name: string): string {
  return name.replace(/^@/, "");
}

export function fromServerName(name: string): string {
  return name.startsWith("@") ? name : `@${name}`;
}

/** An entry of the official API. Clients fail on an entry without the outer `_meta`. */
export function toServerEntry(metadata: PackageMetadata, entry: IndexVersion, isLatest: boolean): JsonObject {
  return {
    server: toServerJson(metadata, entry),
    _meta: {
      [OFFICIAL]: {
        status: entry.status,
        ...(entry.message === undefined ? {} : { statusMessage: entry.message }),
        statusChangedAt: updatedAt(entry),
        publishedAt: entry.publishedAt,
        updatedAt: updatedAt(entry),
        isLatest,
      },
    },
  };
}

function toServerJson(metadata: PackageMetadata, { integrity }: IndexVersion): JsonObject {
  const { name, description, version } = metadata;
  const { homepage, repository } = metadata.metadata;
  const url = repository === undefined ? undefined : parseUrl(repository);
  const packages = toPackages(metadata);
  return {
    $schema: SCHEMA,
    name: toServerName(name),
    description: shorten(description),
    version,
    ...(url === undefined ? {} : { repository: { url: url.href, source: sourceOf(url) } }),
    ...(homepage === undefined ? {} : { websiteUrl: homepage }),
    ...(packages.length === 0 ? {} : { packages }),
    _meta: { [PUBLISHER]: { package: name, integrity } },
  };
}

function shorten(text: string): string {
  const characters = Array.from(text);
  return characters.length <= MAX_DESCRIPTION
    ? text
    : `${characters
        .slice(0, MAX_DESCRIPTION - 1)
        .join("")
        .trimEnd()}…`;
}

function sourceOf({ hostname }: URL): string {
  return hostname === "github.com" ? "github" : hostname === "gitlab.com" ? "gitlab" : hostname;
}

/** Only npm packages and MCPB bundles on stdio have a form here; other packages are listed without a way to install them. */
function toPackages({ mcp, source }: PackageMetadata): JsonObject[] {
  const { url = "" } = source;
  if (mcp.transport?.includes("stdio") !== true) return [];
  const environmentVariables = toVariables(mcp.configuration ?? {});
  const packageArguments = (mcp.args ?? []).map((value) => ({ type: "positional", value }));
  const rest = {
    transport: { type: "stdio" },
    ...(packageArguments.length === 0 ? {} : { packageArguments }),
    ...(environmentVariables.length === 0 ? {} : { environmentVariables }),
  };
  const hash = source.hash === undefined ? undefined : parseIntegrity(source.hash);
  const fileSha256 = hash?.algorithm === "sha256" ? { fileSha256: hash.digest.toString("hex") } : {};
  if (source.type === "npm" && url.startsWith("npm:")) {
    const at = url.lastIndexOf("@");
    const [identifier, version] = [url.slice("npm:".length, at), url.slice(at + 1)];
    return [{ registryType: "npm", identifier, version, runtimeHint: "npx", ...rest }];
  }
  if (parseUrl(url)?.pathname.endsWith(".mcpb") === true && "fileSha256" in fileSha256)
    return [{ registryType: "mcpb", identifier: url, ...fileSha256, ...rest }];
  return [];
}

type Configuration = NonNullable<PackageMetadata["mcp"]["configuration"]>;

function toVariables({ schema, env }: Configuration): JsonObject[] {
  if (!isObject(schema) || !isObject(schema["properties"])) return [];
  const required = Array.isArray(schema["required"]) ? schema["required"] : [];
  return Object.entries(schema["properties"]).flatMap(([name, property]) => {
    if (!isObject(property)) return [];
    const { description, type, secret, default: preset, enum: choices } = property;
    const format =
      type === "boolean" ? "boolean" : type === "number" || type === "integer" ? "number" : "string";
    return [
      {
        name: variableOf(name, env),
        ...(typeof description === "string" ? { description } : {}),
        isRequired: required.includes(name),
        isSecret: secret === true,
        format,
        ...(["string", "number", "boolean"].includes(typeof preset) && secret !== true
          ? { default: String(preset) }
          : {}),
        ...(Array.isArray(choices) ? { choices: choices.map(String) } : {}),
      },
    ];
  });
}
