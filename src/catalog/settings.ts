// Settings of a catalog: from the workspace's own file and from manifests, and applied to the merged servers.

import { resolve } from "node:path";
import { type Diagnostic, didYouMean } from "../errors/index.ts";
import type { GatewaySettings, RegistrySetting, ServerConfig } from "../model/index.ts";
import type { PlacedWord, WorkspaceSettings } from "./formats.ts";
import type { ReadSource } from "./read-source.ts";
import type { CatalogSettings } from "./types.ts";

/** Returns the naming template of the workspace, or else of the first manifest that has one. */
export function chooseNaming(
  settings: WorkspaceSettings,
  read: readonly ReadSource[],
  diagnostics: Diagnostic[],
): string | undefined {
  if (settings.naming !== undefined) return settings.naming;
  const naming = read.flatMap(({ file, parsed }) => {
    const template = parsed?.manifest?.naming;
    return template === undefined ? [] : [{ file, template }];
  });
  const [first] = naming;
  const other = naming.find(({ template }) => template !== first?.template);
  if (first !== undefined && other !== undefined)
    diagnostics.push({
      code: "NAME_AMBIGUOUS",
      severity: "warning",
      message: `naming is ${first.template} in ${first.file}, but ${other.template} in ${other.file}; Portolan uses ${first.template}`,
      file: other.file,
      hint: "Set naming once, in portolan.yaml.",
    });
  return first?.template;
}

export function toSettings(
  settings: WorkspaceSettings,
  naming: string | undefined,
  folder: string,
): CatalogSettings {
  return {
    naming,
    descriptionPrefix: settings.descriptionPrefix,
    pins: settings.pins,
    envFile: settings.envFile === undefined ? undefined : resolve(folder, settings.envFile),
    defaults: settings.defaults,
    gateway: withAbsoluteFiles(settings.gateway, folder),
    registries: settings.registries && withAbsoluteFolders(settings.registries, folder),
    packages: settings.packages,
  };
}

/** A registry without a scheme is a folder, relative to the workspace. */
export function withAbsoluteFolders(
  registries: readonly RegistrySetting[],
  folder: string,
): readonly RegistrySetting[] {
  return registries.map((registry) =>
    /^[a-z][a-z0-9+.-]+:/i.test(registry.url)
      ? registry
      : { ...registry, url: resolve(folder, registry.url) },
  );
}

function withAbsoluteFiles(
  gateway: GatewaySettings | undefined,
  folder: string,
): GatewaySettings | undefined {
  if (gateway === undefined) return gateway;
  const { tls, audit } = gateway;
  const inFolder = (path: string | undefined): string | undefined => path && resolve(folder, path);
  return {
    ...gateway,
    ...(tls === undefined ? {} : { tls: { cert: resolve(folder, tls.cert), key: resolve(folder, tls.key) } }),
    ...(audit === undefined
      ? {}
      : { audit: { ...audit, folder: inFolder(audit.folder), anchors: inFolder(audit.anchors) } }),
  };
}

/** The servers that have errors of their own. A setting that names one of them is no further error. */
export function namesOfInvalid(diagnostics: readonly Diagnostic[]): string[] {
  return diagnostics.flatMap(({ severity, server }) =>
    severity === "error" && server !== undefined ? [server] : [],
  );
}

/** Applies the defaults of the workspace to merged servers, and decides which of them are enabled. */
export function finishServers(
  servers: readonly ServerConfig[],
  settings: WorkspaceSettings,
  own: string | undefined,
  diagnostics: Diagnostic[],
  /** The names of servers that are left out because of their errors. */
  invalid: readonly string[] = [],
): ServerConfig[] {
  const aliases = [...new Set([...servers.map(({ alias }) => alias), ...invalid])];
  const { enabledServers, gatewayServers } = settings;
  // A misspelt name in the gateway's rules would allow or block the wrong server.
  for (const { text, line, column } of [...(enabledServers ?? []), ...(gatewayServers ?? [])])
    if (!aliases.includes(text))
      diagnostics.push({
        code: "FILE_INVALID",
        severity: "error",
        message: `there is no server ${JSON.stringify(text)}`,
        file: own,
        line,
        column,
        hint: hintFor(text, aliases),
      });
  if (areToolsNamedByServer({ servers, naming: settings.naming }))
    warnOfUnknownTools(settings, aliases, own, diagnostics);
  const enabled = enabledServers && new Set(enabledServers.map(({ text }) => text));
  return servers.map((server) => {
    const limits = { ...settings.defaults.limits, ...server.limits };
    const idleStopMs = server.idleStopMs ?? settings.defaults.idleStopMs;
    const prefix = server.descriptionPrefix ?? settings.descriptionPrefix;
    const pins = server.pins ?? settings.pins;
    const { idleStopMs: _, ...rest } = { ...settings.defaults, ...server };
    return {
      ...rest,
      enabled: server.enabled && enabled?.has(server.alias) !== false,
      ...(Object.keys(limits).length === 0 ? {} : { limits }),
      ...(prefix === undefined ? {} : { descriptionPrefix: prefix }),
      ...(pins === undefined ? {} : { pins }),
      // A config file writes 0 for "never", which overrides a default.
      ...(idleStopMs === undefined || idleStopMs === 0 ? {} : { idleStopMs }),
    };
  });
}

/** Tools of contracts have other names, and so have tools with a naming template, which a manifest can have. */
export function areToolsNamedByServer({
  servers,
  naming,
}: {
  readonly servers: readonly ServerConfig[];
  readonly naming?: string | undefined;
}): boolean {
  return (
    naming === undefined &&
    servers.every(
      ({ endpoint, origin }) => endpoint.transport !== "contracts" && origin.format !== "manifest",
    )
  );
}

/** A rule for `fles.write_file` protects nothing. Without a naming template, full names are `mcp_<alias>_<tool>`. */
function warnOfUnknownTools(
  { gatewayTools = [] }: WorkspaceSettings,
  aliases: readonly string[],
  own: string | undefined,
  diagnostics: Diagnostic[],
): void {
  for (const { text, line, column, path } of gatewayTools) {
    const found = unmatchedPattern(text, aliases);
    if (found === undefined) continue;
    const message = `${found.message}${effectOf(path)}`;
    // No error: after the removal of a server, a gateway must still start and apply changes while a rule names the server.
    const diagnostic = { code: "FILE_INVALID", severity: "warning", ...found, message } as const;
    diagnostics.push({ ...diagnostic, file: own, line, column });
  }
}

/** What a safeguard that matches no tool does not do. */
function effectOf(path: PlacedWord["path"]): string {
  if (path[1] === "approval") return ". No call waits for approval because of this pattern";
  return path[3] === "deny" ? ". The pattern denies no tool" : "";
}

/** The message about a tool pattern that begins with the name of no server; undefined if it may match a tool. */
export function unmatchedPattern(
  pattern: string,
  aliases: readonly string[],
): Pick<Diagnostic, "message" | "hint"> | undefined {
  const [server = ""] = pattern.split(".");
  // A pattern without a dot, such as `*_file`, and `fi*.read` may match the tools of any server.
  if (server.includes("*")) return undefined;
  const isFull = (alias: string): boolean => pattern.startsWith(`mcp_${alias}_`);
  if (aliases.some((alias) => pattern.startsWith(`${alias}.`) || isFull(alias))) return undefined;
  return {
    message: `the pattern ${JSON.stringify(pattern)} matches no tool: it does not begin with the name of a server`,
    hint: pattern.includes(".")
      ? hintFor(server, aliases)
      : `Add the name of the server, such as ${aliases[0] ?? "server"}.${pattern}, or *${pattern}.`,
  };
}

function hintFor(alias: string, aliases: readonly string[]): string {
  if (aliases.length === 0) return "No servers are declared.";
  return didYouMean(alias, aliases) ?? `The servers are ${aliases.slice(0, 20).join(", ")}.`;
}
