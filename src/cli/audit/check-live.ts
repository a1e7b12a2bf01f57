// Check of an audit against running servers: their tools compared with the pins of the lock file.

import type { ServerPins } from "../../hub/index.ts";
import type { ServerConfig } from "../../model/index.ts";
import type { Cli } from "../context.ts";
import { healthError, withWorkspace } from "../workspace/open.ts";
import type { Source } from "../workspace/source.ts";
import type { AuditContext } from "./check-lock.ts";
import { type Finding, findingAt } from "./findings.ts";

/** The servers whose tools are compared with pins. */
export function pinnedServers({ servers, lock }: AuditContext): ServerConfig[] {
  return servers.filter(({ alias, enabled }) => enabled && lock.servers[alias]?.tools !== undefined);
}

/** Starts the servers that have pins, and compares their tools even if their config turns pins off. */
export async function auditLive(
  cli: Cli,
  source: Source,
  pinned: readonly ServerConfig[],
): Promise<Finding[]> {
  if (pinned.length === 0) return [];
  const compared = pinned.map((server) => ({ ...server, pins: "warn" as const }));
  const config = { ...source.config, servers: compared };
  const only = pinned.map(({ alias }) => alias);
  return withWorkspace(
    cli,
    { ...source, config },
    { only, start: "eager", showsSource: true, hashesTools: true, asGateway: true },
    async ({ workspace }) => {
      const pins = new Map((await workspace.pins()).map((one) => [one.server, one]));
      return workspace.health().flatMap((health) => {
        const server = pinned.find(({ alias }) => alias === health.alias);
        const live = pins.get(health.alias);
        if (server === undefined || live === undefined) return [];
        const problem = healthError(health, { waits: false });
        if (problem === undefined) return differences(server, live);
        return [
          findingAt(server, "not-checked", "warning", {
            message: `The tools of the server could not be compared with the pins: ${problem.message}`,
            hint: problem.hint,
          }),
        ];
      });
    },
  );
}

function differences(server: ServerConfig, { tools, removed }: ServerPins): Finding[] {
  const hint = `To see the differences: portolan pins diff ${server.alias}`;
  // A tool that the server lists twice is one finding.
  const verdicts = new Map(tools.map(({ name, verdict }) => [name, verdict]));
  return [
    ...Array.from(verdicts).flatMap(([name, verdict]) => {
      switch (verdict) {
        case "same":
          return [];
        case "new":
          return findingAt(server, "tool-new", "warning", {
            message: `The tool ${name} is new: portolan.lock has no approved definition (pin) of it.`,
            hint,
          });
        case "changed":
          return findingAt(server, "tool-changed", "error", {
            message: `The definition of the tool ${name} differs from the approved definition in portolan.lock.`,
            hint,
          });
        case "unpinnable":
          return findingAt(server, "tool-changed", "error", {
            message: `The tool ${name} cannot be compared with portolan.lock: its definition is malformed, or the server lists two tools of this name.`,
            hint: "Report this to the author of the server.",
          });
      }
    }),
    ...removed.map((name) =>
      findingAt(server, "tool-removed", "note", {
        message: `The server no longer has the approved tool ${name}.`,
        hint,
      }),
    ),
  ];
}
