// The last touch on merged servers: the workspace's defaults, and which of them are enabled.

import { type Diagnostic, didYouMean } from "../errors/index.ts";
import type { DeclaredServer } from "../model/index.ts";
import type { WorkspaceSettings } from "./formats.ts";

export function finishServers(
  servers: readonly DeclaredServer[],
  settings: WorkspaceSettings,
  own: string | undefined,
  diagnostics: Diagnostic[],
): DeclaredServer[] {
  const aliases = servers.map(({ alias }) => alias);
  const { enabledServers, gatewayServers } = settings;
  // A name that is misspelt in the gateway's rules would let in, or keep out, what nobody meant.
  for (const { text, line, column } of [...(enabledServers ?? []), ...(gatewayServers ?? [])])
    if (!aliases.includes(text))
      diagnostics.push({
        code: "DECLARATION_INVALID",
        severity: "error",
        message: `there is no server ${JSON.stringify(text)}`,
        file: own,
        line,
        column,
        hint: hintFor(text, aliases),
      });
  const enabled = enabledServers && new Set(enabledServers.map(({ text }) => text));
  return servers.map((server) => {
    const limits = { ...settings.defaults.limits, ...server.limits };
    const idleStopMs = server.idleStopMs ?? settings.defaults.idleStopMs;
    const prefix = server.descriptionPrefix ?? settings.descriptionPrefix;
    const { idleStopMs: _, ...rest } = { ...settings.defaults, ...server };
    return {
      ...rest,
      enabled: server.enabled && enabled?.has(server.alias) !== false,
      ...(Object.keys(limits).length === 0 ? {} : { limits }),
      ...(prefix === undefined ? {} : { descriptionPrefix: prefix }),
      // 0 is how a file says "never", against a default.
      ...(idleStopMs === undefined || idleStopMs === 0 ? {} : { idleStopMs }),
    };
  });
}

function hintFor(alias: string, aliases: readonly string[]): string {
  if (aliases.length === 0) return "No servers are declared.";
  return didYouMean(alias, aliases) ?? `The servers are ${aliases.slice(0, 20).join(", ")}.`;
}
