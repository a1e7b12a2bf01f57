// The plan of a script as text, for `portolan run --dry-run`.

import type { PlannedServer, ScriptPlan } from "../../script/index.ts";
import type { Colors } from "../terminal/colors.ts";
import { plainLine } from "../terminal/safe-text.ts";

export function describePlan(
  { servers }: ScriptPlan,
  colors: Colors,
  label: (file: string) => string,
): string {
  if (servers.length === 0) return "The script uses no servers.";
  return servers.map((server) => describeServer(server, colors, label)).join("\n\n");
}

function describeServer(
  { name, from, server, origin, calls, settings }: PlannedServer,
  colors: Colors,
  label: (file: string) => string,
): string {
  const title = colors.bold(plainLine(name ?? from, 100));
  const place = origin === undefined ? "" : colors.dim(` (${label(origin.file)}:${origin.line})`);
  const source =
    origin === undefined
      ? `${/^(?:https?|wss?):\/\//.test(server) ? "connects to" : "runs"} ${plainLine(server, 300)}`
      : `${plainLine(from, 200)}, server ${plainLine(server, 80)}`;
  const lines = [`${title} ${source}${place}`];
  for (const { variable, secrets } of settings) {
    const value = secrets.length === 0 ? "a value of the script" : `secret ${secrets.join(", ")}`;
    lines.push(`  sets ${variable} ${colors.dim(`(${value})`)}`);
  }
  for (const { line, tool, resource } of calls) {
    const what =
      resource === undefined ? `calls ${plainLine(tool, 100)}` : `reads ${plainLine(resource, 300)}`;
    lines.push(`  ${what} ${colors.dim(`(line ${line})`)}`);
  }
  if (calls.length === 0) lines.push(colors.dim("  not used, so it is not started"));
  return lines.join("\n");
}
