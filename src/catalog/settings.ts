// The settings of a catalog, from the workspace's own file and from manifests.

import { resolve } from "node:path";
import type { Diagnostic } from "../errors/index.ts";
import type { GatewaySettings } from "../model/index.ts";
import type { WorkspaceSettings } from "./formats.ts";
import type { ReadSource } from "./read-source.ts";
import type { CatalogSettings } from "./types.ts";

/** The workspace's own, else that of the first manifest that says one. */
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
      message: `naming is ${first.template} in ${first.file}, and ${other.template} in ${other.file}; the first is used`,
      file: other.file,
      hint: "Say naming once, in portolan.yaml.",
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
    envFile: settings.envFile === undefined ? undefined : resolve(folder, settings.envFile),
    defaults: settings.defaults,
    gateway: withAbsoluteFiles(settings.gateway, folder),
  };
}

function withAbsoluteFiles(
  gateway: GatewaySettings | undefined,
  folder: string,
): GatewaySettings | undefined {
  if (gateway?.tls === undefined) return gateway;
  const { cert, key } = gateway.tls;
  return { ...gateway, tls: { cert: resolve(folder, cert), key: resolve(folder, key) } };
}
