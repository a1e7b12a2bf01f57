// Facts about a server of the official MCP registry, for the person who decides about it.

import {
  fillOption,
  type InstallableOption,
  type ServerJsonDocument,
  toServerOptions,
} from "../../../formats/server-json/index.ts";
import type { McpbManifest } from "../../../formats/mcpb/index.ts";
import { optionOf, parseServerDocument } from "../../../packages/index.ts";
import type { OfficialServer } from "../../../registry/index.ts";
import { factsOfManifest, type PackageFacts, type Setting, settingsOf } from "../facts.ts";

export interface ServerFacts {
  readonly document: ServerJsonDocument;
  readonly option: InstallableOption;
  readonly found?: Omit<OfficialServer, "document">;
  readonly size?: number;
  /** The manifest of a bundle: it has further settings, and may list the tools. */
  readonly manifest?: McpbManifest;
}

/** A server.json declares neither permissions nor tools, and names no author but the owner of its name. */
export function factsOfServer({ document, option, found, size, manifest }: ServerFacts): PackageFacts {
  const { name, version, description, websiteUrl, repository } = document;
  const [owner = name] = name.split("/");
  const account = /^io\.github\.([A-Za-z0-9-]+)$/.exec(owner)?.[1];
  const bundle = manifest && factsOfManifest(manifest, "", size);
  const others = toServerOptions(document).flatMap(({ kind }) =>
    kind === "unsupported" || kind === option.kind ? [] : [kind],
  );
  const more = others.length === 0 ? "" : ` (also: ${[...new Set(others)].join(", ")}; choose with --from)`;
  return {
    ...{ name, version, description, license: bundle?.license },
    author: {
      name: `the owner of ${owner}`,
      url: account === undefined ? undefined : `https://github.com/${account}`,
    },
    homepage: textOf(websiteUrl),
    repository: textOf(repository?.url),
    registry: found?.registry,
    publishedAt: found?.publishedAt,
    deprecated: found?.status === "deprecated" ? (found.message ?? "") : undefined,
    source: { kind: option.kind, url: `${describeOption(option)}${more}`, size },
    place: option.kind === "remote" ? "remote" : option.kind === "oci" ? "container" : undefined,
    launcher: option.kind === "pypi" ? "uvx" : undefined,
    tools: bundle?.tools,
    settings: mergeSettings(settingsOfOption(option), bundle?.settings ?? []),
  };
}

/** Of an accepted version, from its document in the store. */
export function lockedServerFacts(
  bytes: Uint8Array,
  label: string,
  source: string,
): PackageFacts | undefined {
  const document = parseServerDocument(bytes, label);
  const option = optionOf(document, source);
  return option && factsOfServer({ document, option });
}

function settingsOfOption({ configuration }: InstallableOption): Setting[] {
  return settingsOf(configuration?.schema, configuration?.env).map((setting) => ({
    ...setting,
    isJsonList: true,
  }));
}

/** A setting that both name is asked for once. */
function mergeSettings(own: readonly Setting[], others: readonly Setting[]): Setting[] {
  const taken = new Set(own.flatMap(({ key, variable }) => [`key ${key}`, `variable ${variable}`]));
  return [
    ...own,
    ...others.filter(({ key, variable }) => !taken.has(`key ${key}`) && !taken.has(`variable ${variable}`)),
  ];
}

/** The command or URL of the server, as the document writes it: placeholders show the names of settings. */
function describeOption(option: InstallableOption): string {
  const { runtimeArgs, args, url } = fillOption(option, shownValues(option));
  const tail = (words: readonly string[]): string => (words.length === 0 ? "" : ` ${words.join(" ")}`);
  const other =
    "registryBaseUrl" in option && option.registryBaseUrl !== undefined
      ? `, published at ${option.registryBaseUrl}`
      : "";
  switch (option.kind) {
    case "npm":
      return `${option.name}@${option.version}${tail(args)}${other}`;
    case "mcpb":
      return `${option.source}${tail(args)}`;
    case "pypi":
      return `uvx${tail(runtimeArgs)} ${option.name}@${option.version}${tail(args)}${other}`;
    case "oci":
      return `${option.image}${tail(args)}`;
    case "remote":
      return url ?? "";
  }
}

function shownValues({ configuration }: InstallableOption): Record<string, string> {
  return Object.fromEntries(
    Object.entries(configuration?.env ?? {}).map(([setting, variable]) => [variable, `<${setting}>`]),
  );
}

function textOf(text: string | undefined): string | undefined {
  return text === "" ? undefined : text;
}
