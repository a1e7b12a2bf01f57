// Plan of a script: the servers, tools, resources and secrets that it would use, found without starting anything.

import type { Script } from "../script.ts";
import type { ScriptServers } from "../servers/script-servers.ts";
import type { Call } from "../syntax/ast.ts";
import { settingVariable } from "./settings.ts";

export interface PlannedServer {
  /** The name in the script; undefined when only tools are imported by name. */
  readonly name?: string;
  /** The package, or the command or URL. */
  readonly from: string;
  /** The alias in the workspace, or the command. */
  readonly server: string;
  readonly origin?: { readonly file: string; readonly line: number };
  readonly calls: readonly PlannedCall[];
  /** Environment variables that the script sets, with the secrets in them. */
  readonly settings: readonly { readonly variable: string; readonly secrets: readonly string[] }[];
}

export interface PlannedCall {
  readonly line: number;
  /** `resource` or the name of the tool, as the script writes it. */
  readonly tool?: string;
  /** The URI of a resource, if it is known before the run. */
  readonly resource?: string;
}

export interface ScriptPlan {
  readonly servers: readonly PlannedServer[];
}

export function planScript({ source, names }: Script, servers: ScriptServers): ScriptPlan {
  const toCall = (call: Call): PlannedCall => {
    const { line } = source.positionOf(call.at);
    const uri = resourceOf(call);
    const tool = names.calls.get(call)?.tool ?? call.tool;
    return uri === undefined ? { line, tool } : { line, resource: uri };
  };
  return {
    servers: names.servers.map((use) => {
      const { import: from, config, calls } = use;
      const target = from.kind === "import-package" ? from.package : from.target;
      const { label, origin, variables } =
        from.kind === "import-package" ? servers.find(target) : servers.findTarget(target);
      const settings = (config?.settings ?? []).map(({ name }) => {
        const usual = settingVariable(name).name;
        const used = names.secrets.filter((secret) => secret.server === use && secret.variable === usual);
        return {
          variable: settingVariable(name, variables).name,
          secrets: [...new Set(used.map((secret) => secret.name))],
        };
      });
      return {
        ...(from.name === undefined ? {} : { name: from.name }),
        ...{ from: target, server: label, ...(origin === undefined ? {} : { origin }) },
        ...{ calls: calls.map(toCall), settings },
      };
    }),
  };
}

/** The URI of a call that reads a resource; references in it are shown as they are written. */
function resourceOf({ server, tool, args }: Call): string | undefined {
  const [uri] = args;
  if (server === undefined || tool !== "resource" || args.length !== 1 || uri?.kind !== "template")
    return undefined;
  return uri.parts.map((part) => (typeof part === "string" ? part : `{{${part.name}…}}`)).join("");
}
