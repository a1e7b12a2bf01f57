// `portolan events`: what happens to the servers of the workspace, as it happens.

import type { HubEvent } from "../../hub/index.ts";
import type { Cli } from "../connect.ts";
import type { Colors } from "../colors.ts";
import { wrap } from "../layout.ts";
import { plainLine, toJsonText } from "../plain-text.ts";
import { withWorkspace } from "../with-workspace.ts";
import { loadSource } from "../workspace-source.ts";

export async function events(
  cli: Cli,
  aliases: readonly string[],
  options: { follow?: boolean },
): Promise<number> {
  const { output, interrupt, options: server } = cli;
  const source = await loadSource(cli);
  const follow = options.follow === true;
  const only = aliases.length === 0 ? undefined : [...new Set(aliases)];
  let closing = false;
  const onEvent = (event: HubEvent): void => {
    // That everything stops at the end is no news.
    if (closing) return;
    output.print(
      output.form === "json" ? toJsonText(event) : wrap(describeEvent(event, output.colors), output.width, 2),
    );
  };
  const waitMs = follow ? 1 : (server.waitMs ?? server.limits.requestTimeoutMs);
  return withWorkspace(cli, source, { only, onEvent, watch: follow, waitMs }, async () => {
    if (follow && !interrupt.signal.aborted)
      await new Promise<void>((resolve) => {
        interrupt.signal.addEventListener("abort", () => resolve(), { once: true });
      });
    closing = true;
    return 0;
  });
}

function describeEvent(event: HubEvent, colors: Colors): string {
  const { type, time, server } = event;
  const at = new Date(time).toTimeString().slice(0, 8);
  const what = type.replace(/^mcp\.(?:server_)?/, "").replaceAll("_", " ");
  const failed = type.endsWith("failed");
  const paint = failed
    ? colors.red
    : type.endsWith("ready") || type.endsWith("restarted")
      ? colors.green
      : colors.cyan;
  return `${colors.dim(at)} ${colors.bold(plainLine(server, 40))} ${paint(what)}${detailOf(event)}`;
}

function detailOf(event: HubEvent): string {
  if (event.type === "mcp.tools_changed") {
    const parts = [
      ["+", event.added],
      ["~", event.changed],
      ["-", event.removed],
    ] as const;
    const shown = parts.flatMap(([sign, names]) => names.map((name) => `${sign}${plainLine(name, 80)}`));
    return ` ${shown.slice(0, 8).join(" ")}${shown.length > 8 ? ` and ${shown.length - 8} more` : ""}`;
  }
  const reason = event.reason === undefined ? "" : ` ${plainLine(event.reason, 500)}`;
  const code = event.code === undefined ? "" : ` [${event.code}]`;
  if ("tool" in event)
    return ` ${plainLine(event.tool, 80)} ${Math.round(event.durationMs)} ms${reason}${code}`;
  return `${reason}${code}`;
}
