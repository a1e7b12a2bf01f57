// The bridge manifest: text in, servers out, with every problem of the file.

import { type Diagnostic, didYouMean } from "../../errors/index.ts";
import { type DeclaredServer, isObject } from "../../model/index.ts";
import {
  aliasProblem,
  checkShape,
  nodeAt,
  type ObjectNode,
  type Place,
  Problems,
  quoted,
  readText,
  type TextNode,
  toPointer,
} from "../text/index.ts";
import { toDeclaredServer, toDefaults, withDefaults } from "./declared-server.ts";
import { checkNaming } from "./naming.ts";
import type { CheckedServer } from "./server-fields.ts";
import { type CheckedConfig, type CheckedManifest, MANIFEST_SHAPE } from "./shape.ts";

/** What a manifest says beside its servers. */
export interface ManifestSettings {
  readonly id?: string | undefined;
  readonly name?: string | undefined;
  readonly version?: string | undefined;
  readonly description?: string | undefined;
  readonly entrypoint?: string | undefined;
  readonly dependsOn: readonly string[];
  readonly setupInstructions?: string | undefined;
  readonly enabled: boolean;
  readonly naming?: string | undefined;
}

export interface ManifestResult {
  /** Those servers that are right in themselves, with the defaults of `config` filled in. */
  readonly servers: readonly DeclaredServer[];
  readonly settings: ManifestSettings;
  readonly diagnostics: readonly Diagnostic[];
}

export function parseManifest(text: string, file: string): ManifestResult {
  const { root, diagnostics } = readText(text, file);
  if (root === undefined) return { servers: [], settings: toSettings({}), diagnostics };
  const problems = new Problems(file, diagnostics);
  const manifest = (checkShape(MANIFEST_SHAPE, root, problems) ?? {}) as CheckedManifest;
  const config = manifest.config ?? {};
  const list = nodeAt(root, "config", "servers");
  checkNaming(config.naming, nodeAt(root, "config", "naming"), problems);
  const named = checkAliases(config, list, problems);
  checkEnabledServers(config, root, named, problems);
  const servers = named.flatMap(({ alias, server, node }) => {
    const declared = toDeclaredServer(server, {
      alias,
      node,
      problems,
      origin: { file, line: node.line, column: node.column, format: "manifest" },
      enabled: manifest.enabled !== false && config.enabled_servers?.includes(alias) !== false,
    });
    return declared === undefined ? [] : [withDefaults(declared, toDefaults(config))];
  });
  return { servers, settings: toSettings(manifest), diagnostics: withServer(problems.done(), named) };
}

/** True for a value that can only be meant as a bridge manifest. */
export function looksLikeManifest(value: unknown): boolean {
  if (!isObject(value) || !isObject(value.config)) return false;
  return Object.hasOwn(value.config, "servers") || Object.hasOwn(value.config, "enabled_servers");
}

interface NamedServer {
  readonly alias: string;
  readonly server: CheckedServer;
  readonly node: ObjectNode;
}

function checkAliases(config: CheckedConfig, list: TextNode | undefined, problems: Problems): NamedServer[] {
  const named: NamedServer[] = [];
  const seen = new Map<string, Place>();
  for (const [index, server] of (config.servers ?? []).entries()) {
    const node = nodeAt(list, index);
    const place = nodeAt(node, "alias");
    const alias = server?.alias;
    if (node?.kind !== "object" || place === undefined || alias === undefined) continue;
    named.push({ alias, server, node });
    const problem = aliasProblem(alias);
    const first = seen.get(alias);
    if (problem !== undefined) problems.add(place, problem.message, problem.hint);
    else if (first !== undefined)
      problems.add(
        place,
        `alias ${quoted(alias)} stands here and at line ${first.line}, column ${first.column}; an alias is unique`,
        "Give one of the two servers another alias.",
      );
    else seen.set(alias, place);
  }
  return named;
}

function checkEnabledServers(
  config: CheckedConfig,
  root: TextNode,
  named: readonly NamedServer[],
  problems: Problems,
): void {
  const aliases = named.map(({ alias }) => alias);
  for (const [index, alias] of (config.enabled_servers ?? []).entries()) {
    const place = nodeAt(root, "config", "enabled_servers", index);
    if (alias === undefined || place === undefined || aliases.includes(alias)) continue;
    problems.add(place, `there is no server ${quoted(alias)}`, unknownAliasHint(alias, aliases));
  }
}

export function unknownAliasHint(alias: string, aliases: readonly string[]): string {
  if (aliases.length === 0) return "No servers are declared.";
  return didYouMean(alias, aliases) ?? `The servers are ${aliases.slice(0, 20).join(", ")}.`;
}

/** Findings inside of a server's lines name the server. */
export function withServer(
  diagnostics: readonly Diagnostic[],
  servers: readonly { readonly alias: string; readonly node: Place }[],
): Diagnostic[] {
  const places = servers.map(({ alias, node }) => ({ alias, pointer: toPointer(node.path) }));
  return diagnostics.map((diagnostic) => {
    const path = `${diagnostic.path ?? ""}/`;
    const server = places.find(({ pointer }) => path.startsWith(`${pointer}/`))?.alias;
    return server === undefined ? diagnostic : { ...diagnostic, server };
  });
}

function toSettings(manifest: CheckedManifest): ManifestSettings {
  const { id, name, version, description, entrypoint } = manifest;
  return {
    id,
    name,
    version,
    description,
    entrypoint,
    dependsOn: manifest.depends_on ?? [],
    setupInstructions: manifest.setup_instructions,
    enabled: manifest.enabled !== false,
    naming: manifest.config?.naming,
  };
}
