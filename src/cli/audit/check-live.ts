// Check of an audit against running servers: their tools compared with the pins of the lock file.

import { comparePins, removedTools } from "../../packages/index.ts";
import type { Cli } from "../context.ts";
import { healthError, withWorkspace } from "../workspace/open.ts";
import type { Source } from "../workspace/source.ts";
import type { AuditContext } from "./check-lock.ts";
import { type Finding, findingAt } from "./findings.ts";

/** Starts the servers that have pins, with the pins off, so that withheld tools are seen too. */
export async function auditLive(
  cli: Cli,
  source: Source,
  { servers, lock }: AuditContext,
): Promise<Finding[]> {
  const pinned = servers.filter(({ alias, enabled }) => enabled && lock.servers[alias]?.tools !== undefined);
  if (pinned.length === 0) return [];
  // All tools with their own texts, as the pins have them.
  const plain = pinned.map((server) => ({
    ...server,
    ...{ descriptionPrefix: undefined, allowTools: undefined, blockTools: undefined, pins: "off" as const },
  }));
  const config = { ...source.config, naming: undefined, descriptionPrefix: undefined, servers: plain };
  const only = pinned.map(({ alias }) => alias);
  return withWorkspace(
    cli,
    { ...source, config },
    { only, start: "eager", showsSource: true, asGateway: true },
    async ({ workspace }) => {
      const tools = await workspace.toolDefinitions();
      const names = workspace.toolNames();
      return workspace.health().flatMap((health) => {
        const server = pinned.find(({ alias }) => alias === health.alias);
        if (server === undefined) return [];
        const problem = healthError(health);
        if (problem !== undefined)
          return [
            findingAt(server, "not-checked", "warning", {
              message: `Its tools could not be compared: ${problem.message}`,
              hint: problem.hint,
            }),
          ];
        const own = tools.flatMap((definition) => {
          const name = names.get(definition.name);
          return name?.server === server.alias ? [{ ...definition, name: name.name }] : [];
        });
        const approved = lock.servers[server.alias]?.tools ?? {};
        const hint = `See the difference: portolan pins ${server.alias}`;
        return [
          ...comparePins(own, approved).flatMap(({ name, verdict }) =>
            verdict === "same"
              ? []
              : [
                  verdict === "changed"
                    ? findingAt(server, "tool-changed", "error", {
                        message: `The definition of ${name} is not the approved one.`,
                        hint,
                      })
                    : findingAt(server, "tool-new", "warning", {
                        message: `Nobody approved the tool ${name}.`,
                        hint,
                      }),
                ],
          ),
          ...removedTools(own, approved).map((name) =>
            findingAt(server, "tool-removed", "note", { message: `The tool ${name} is gone.`, hint }),
          ),
        ];
      });
    },
  );
}
