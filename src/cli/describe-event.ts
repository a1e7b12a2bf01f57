// One line for something that happened to a server.

import type { HubEvent } from "../hub/index.ts";
import type { Colors } from "./colors.ts";
import { plainLine } from "./plain-text.ts";

export function describeEvent(event: HubEvent, colors: Colors): string {
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
    return ` ${plainLine(event.tool, 80)}${event.caller === undefined ? "" : ` for ${plainLine(event.caller, 80)}`} ${Math.round(event.durationMs)} ms${reason}${code}`;
  return `${reason}${code}`;
}
