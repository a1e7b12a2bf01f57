// Pins of one server in the output of other commands: which tools are withheld, and why.

import type { PinHealth } from "../../hub/index.ts";
import type { LintFinding } from "../../packages/index.ts";
import type { Colors } from "../terminal/colors.ts";
import { wrap } from "../terminal/layout.ts";
import { plainLine } from "../terminal/safe-text.ts";

const SHOWN = 5;

/** Empty if all tools are the approved ones, or nothing is compared. */
export function describePins(server: string, pins: PinHealth | undefined): string[] {
  if (pins === undefined) return [];
  const { mode, problem, differences, removed } = pins;
  const word = mode === "enforce" ? "withheld" : "not approved";
  if (problem !== undefined) {
    if (problem.kind === "unlisted") return [];
    const all = mode === "enforce" ? "all tools withheld" : "tools not compared";
    return [`${all}: ${plainLine(problem.message, 500)}. ${plainLine(problem.hint, 300)}`];
  }
  const lines: string[] = [];
  if (differences.length > 0) {
    const names = differences.slice(0, SHOWN).map(({ tool, verdict }) => {
      const why = verdict === "unpinnable" ? "not comparable" : verdict;
      return `${plainLine(tool, 60)} (${why})`;
    });
    const more = differences.length > SHOWN ? `, and ${differences.length - SHOWN} more` : "";
    lines.push(`${word}: ${names.join(", ")}${more}. See the differences: portolan pins diff ${server}`);
  }
  if (removed.length > 0) {
    const names = removed.slice(0, SHOWN).map((tool) => plainLine(tool, 60));
    const more = removed.length > SHOWN ? `, and ${removed.length - SHOWN} more` : "";
    lines.push(`pinned, but no longer offered by the server: ${names.join(", ")}${more}`);
  }
  return lines;
}

/** One paragraph for each tool: the reason, and the lint findings. */
export function describeDifferences(
  { differences }: PinHealth,
  findings: Readonly<Record<string, readonly LintFinding[]>>,
  { colors, width }: { readonly colors: Colors; readonly width: number | undefined },
): string {
  const lines = differences.flatMap(({ tool, reason }) => [
    wrap(`  ${colors.cyan(plainLine(tool, 100))} ${plainLine(reason, 300)}`, width, 2),
    ...(Object.hasOwn(findings, tool) ? (findings[tool] ?? []) : [])
      .slice(0, SHOWN)
      .map(({ severity, path, message }) =>
        wrap(`    ${colors.yellow(severity)} ${plainLine(path, 80)} ${plainLine(message, 300)}`, width, 2),
      ),
  ]);
  return lines.join("\n");
}
